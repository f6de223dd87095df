"""hypothesis strategies: random programs of nested Loops, Scans and Ifs over small operators.

A program is ONNX text with feeds. Every body's text is closed by capture at any depth; siblings use
the same names. Values have one of eight kinds, written as in the text: a scalar, a tensor of three,
a list whose length is found at run time. Whatever a loop carries is clipped, so that no engine's
rounding, overflow or NaN makes a difference, and every loop ends.

`programs(grows=True)` has more dynamic shapes: lists that loops make longer and
shorter, sequences, parts and shapes made of whole numbers.

`programs(wild=True)` has text, optionals, division, and numbers at the edges of their types.

`programs(onnxruntime_is_right=True)` leaves out what onnxruntime gets wrong: an iteration number as
a body's result, Scan results that are parameters or listed twice, If results listed twice, Scans
over nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from tests.strategies.block import KINDS, Block, Writer
from tests.strategies.control import fill
from tests.strategies.wild import EDGES


@dataclass(frozen=True)
class Program:
    """A model as text, and inputs for it."""

    text: str
    feeds: Mapping[str, np.ndarray]

    def __repr__(self) -> str:
        return f"{self.text}\n{dict(self.feeds)}"


INPUTS = (
    ("x", "F"),
    ("y", "F"),
    ("m", "I"),
    ("n", "I"),
    ("go", "B"),
    ("v", "V"),
    ("w", "W"),
    ("l", "L"),
)


@st.composite
def programs(
    draw: Callable,
    *,
    onnxruntime_is_right: bool = False,
    grows: bool = False,
    wild: bool = False,
) -> Program:
    """Closed programs with feeds."""
    block = Block(0, list(INPUTS))
    writer = Writer(draw, onnxruntime_is_right, grows, wild)
    fill(writer, block, 4)
    opset = draw(st.sampled_from([20, 21, 24, 26] if wild else [13, 18, 21, 24, 26]))
    types = {**KINDS, "L": "float[k]"}
    inputs = ", ".join(f"{types[kind]} {name}" for name, kind in INPUTS)
    declared = {"L": "float[p]", "E": "float[q]", "J": "int64[r]"}
    shown = [
        f"{declared.get(kind, KINDS[kind])}".replace("]", f"{k}]" if kind in declared else "]")
        + f" {name}"
        for k, (name, kind) in enumerate(block.own)
    ]
    body = "".join(f"\n  {line}" for line in block.lines)
    text = (
        f'<ir_version: 10, opset_import: ["" : {opset}]>\n'
        f"g ({inputs}) => ({', '.join(shown)}) {{{body}\n}}"
    )
    return Program(text, draw(feeds(wild=wild)))


@st.composite
def feeds(draw: Callable, *, wild: bool = False) -> Mapping[str, np.ndarray]:
    """Small numbers for every input; wild ones among them."""
    small = st.integers(-6, 6)
    halves = small.map(lambda n: n / 2)
    if wild:
        small = st.one_of(small, st.sampled_from(EDGES["I"]))
        halves = st.one_of(halves, st.sampled_from(EDGES["F"]))

    def several(numbers, length):
        return draw(st.lists(numbers, min_size=length, max_size=length))

    values = {
        "x": np.float32(draw(halves)),
        "y": np.float32(draw(halves)),
        "m": np.int64(draw(small)),
        "n": np.int64(draw(small)),
        "go": np.bool_(draw(st.booleans())),
        "v": np.float32(several(halves, 3)),
        "w": np.int64(several(small, 3)),
        "l": np.float32(several(halves, draw(st.integers(1, 4)))),
    }
    return {name: np.asarray(value) for name, value in values.items()}
