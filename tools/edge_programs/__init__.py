"""Random small loops at the edges of the native engine's loop strategies.

    stencil     a state that reads itself at shifts of 0, 1 and 2, past borders of three kinds
    rows        states over sliced rows, either direction, linear in some; stacked results
    grid        a loop in a loop, whose elements read the row above at shifts and the one before
    stacked     loops that each slice the stacked output of the loop before them
    updates     arrays changed by rows, and in branches, also read before and after
    reduced     arrays from which a value and its reduction lead to the next one
    fed         sliced values, made of other values, numbers and rows by functions and views
    products    matrix products of rows and states by weights: constants, inputs, carried, in panels
    panels      weights that products read whole, transposed, in part, and in several loops
    apart       products that no later iteration waits for, before and behind what is carried
    clusters    rows of a matrix, compared with a few that are carried and gathered by these
    pairs       rows of a narrow array compared with each other, weighted and summed
    positions   arrays that are changed behind a place, before it, or at it
    arrays      several arrays, changed in part, in branches and loops, exchanged and stacked
    candidates  rows that are the best of stacked ones, cut at places, and counts of them
    turned      carried matrices that products read transposed, and outer products change
    layers      long bodies of equal steps, but for one that differs in a number, an axis or a name
    windows     states that hold the last rows, read at several places and summed
    registers   states that hold the last rows, multiplied and reduced as soon as one enters
    sliding     delay lines with feedback: rows leave at one end, computed ones enter at the other
    maps        iterations that need nothing of each other, and counts, sums and maxima of them
    ended       conditions that the loop computes, and iterations before they are met
    chosen      the place and value of maxima and minima, and walks back over the places
    resized     arrays that change their extents from iteration to iteration
    counted     counters and flags that are carried, choices by them, and rows that are collected
    indexed     elements read and written at numbers that the iterations compute
    picked      a loop in a loop whose cells read a table at numbers made of both counters
    unrolled    several steps an iteration, all alike, or one unlike the others
    shifts      rows that move by numbers that the iterations compute
    masked      states that a number of iterations masks, and rows that are stacked and joined
    narrow      whole numbers of few and of many bits, at the borders of 8, 16, 32 and 64
    expected    inputs of 64 bits below, at and above the bounds that code of 32 bits expects
    whole       floats that are whole numbers, counted, beside -0, NaN and large ones

Numbers of float32 are whole and small, so that every order of sums gives the same bits; a quarter
of the programs has double, int32 or int64 in place of float32. A quarter stacks what the loop
computes on the way. Extents are declared or open; loops run 0, 1, 2 or more times.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from tools.edge_programs.apart import apart
from tools.edge_programs.arrays import arrays
from tools.edge_programs.candidates import candidates
from tools.edge_programs.clusters import clusters
from tools.edge_programs.counters import counted, indexed, picked
from tools.edge_programs.expected import expected
from tools.edge_programs.exposing import exposed
from tools.edge_programs.iterations import ended, maps, resized, windows
from tools.edge_programs.lines import CONSTANTS, HEAD, Lines
from tools.edge_programs.masks import masked
from tools.edge_programs.matrices import chosen, layers, products
from tools.edge_programs.narrow import narrow
from tools.edge_programs.pairs import pairs
from tools.edge_programs.panels import panels
from tools.edge_programs.positions import positions
from tools.edge_programs.recurrences import fed, grid, reduced, rows, stacked, stencil, updates
from tools.edge_programs.registers import registers
from tools.edge_programs.shifts import shifts
from tools.edge_programs.sliding import sliding
from tools.edge_programs.turned import turned
from tools.edge_programs.unrolled import unrolled
from tools.edge_programs.whole_floats import whole_floats

Results = Mapping[str, int | tuple[str, int]]
"""The rank of each result, which is of float32, or its element type and rank."""
Family = Callable[[Lines], tuple[Mapping[str, np.ndarray], Results]]
FAMILIES: Mapping[str, Family] = {
    "stencil": stencil, "rows": rows, "grid": grid, "stacked": stacked, "updates": updates,
    "reduced": reduced, "fed": fed, "products": products, "layers": layers, "windows": windows,
    "maps": maps, "ended": ended, "chosen": chosen, "resized": resized,
    "registers": registers, "panels": panels, "narrow": narrow, "whole": whole_floats,
    "counted": counted, "indexed": indexed, "picked": picked, "unrolled": unrolled,
    "shifts": shifts, "masked": masked, "apart": apart, "turned": turned,
    "clusters": clusters, "positions": positions, "arrays": arrays,
    "candidates": candidates, "sliding": sliding, "pairs": pairs,
    "expected": expected,
}  # fmt: skip
_WORDS = {"int64": "int64", "bool": "bool", "float32": "float"}
_OTHER_TYPES = {"double": np.float64, "int32": np.int32, "int64": np.int64}
_OF_FLOATS = ("candidates", "registers", "whole")
"""Families with operators that whole numbers do not have."""


@dataclass(frozen=True)
class EdgeProgram:
    """A model as text and its feeds."""

    family: str
    text: str
    feeds: Mapping[str, np.ndarray]


def edge_program(seed: int) -> EdgeProgram:
    """The program of a seed."""
    chance = random.Random(seed)
    family = chance.choice(tuple(FAMILIES))
    lines = Lines(chance)
    feeds, made_by = FAMILIES[family](lines)
    results = dict(made_by)
    if chance.random() < 0.25 and (extra := exposed(lines.written, chance)):
        results[extra] = 1
    given = ", ".join(_declared(name, value, chance) for name, value in feeds.items())
    made = ", ".join(_open(name, kind) for name, kind in results.items())
    body = f"g ({given}) => ({made}) {{{CONSTANTS}\n  {lines}\n}}"
    program = EdgeProgram(family, HEAD + body, feeds)
    if chance.random() < 0.75:
        return program
    return _of_type(program, "double" if family in _OF_FLOATS else chance.choice([*_OTHER_TYPES]))


def _of_type(program: EdgeProgram, word: str) -> EdgeProgram:
    """The program with another element type in place of float32."""
    element = np.dtype(_OTHER_TYPES[word])
    code = onnx.helper.np_dtype_to_tensor_dtype(element)
    text = re.sub(r"\bfloat\b", word, program.text).replace("to = 1>", f"to = {code}>")
    text = text if element.kind == "f" else text.replace("{0.5}", "{1}")
    feeds = {
        name: value.astype(element) if value.dtype == np.float32 else value
        for name, value in program.feeds.items()
    }
    return EdgeProgram(program.family, text, feeds)


def _open(name: str, kind: int | tuple[str, int]) -> str:
    word, rank = ("float", kind) if isinstance(kind, int) else kind
    extents = ",".join(f"{name}_{axis}" for axis in range(rank))
    return f"{word}[{extents}] {name}" if rank else f"{word} {name}"


def _declared(name: str, value: np.ndarray, chance: random.Random) -> str:
    word = _WORDS[value.dtype.name]
    if not value.shape:
        return f"{word} {name}"
    is_open = chance.random() < 0.4
    extents = [
        f"{name}{axis}" if is_open and chance.random() < 0.6 else str(extent)
        for axis, extent in enumerate(value.shape)
    ]
    return f"{word}[{','.join(extents)}] {name}"
