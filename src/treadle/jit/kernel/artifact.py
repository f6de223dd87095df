"""The compiled form of a kernel, and its serialization for the disk cache."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from treadle.jit.kernel.fingerprint import Names, Unwritable
from treadle.jit.kernel.ir import Kernel, Node, SymbolicDim


@dataclass(frozen=True, slots=True)
class Slot:
    """The content of a slot: its kind, and which object it refers to."""

    kind: str
    which: Any = None


CLOCK_WORDS = ("ticks", "entries", "iterations", "first", "last", "timed")
"""The words of a clock: ticks of the processor in all, how often its code ran, iterations of a
loop, ticks of first iterations and of last ones, and how many runs were timed, 0 for all."""


VECTORIZERS = ("loop", "slp")
INLINED_LATE = "late."
"""How the names of functions begin that are inlined after LLVM's vectorizers have run."""


class Clock(NamedTuple):
    """A timed part of a profiled kernel: a "loop", a "nest" or a "call", in the loop at a path."""

    kind: str
    path: str
    words: str


class CodePlace(NamedTuple):
    """What a line of a profiled kernel's line table stands for: steps, in the loop at a path."""

    path: str
    words: str
    has_clock: bool


@dataclass(frozen=True, eq=False, slots=True)
class KernelArtifact:
    """The text of an LLVM module, the slots of its kernel, and the size of its workspace.

    `grown` are the results that the kernel allocates itself. `vectorizers`
    are those of LLVM that it needs: "loop" for its nests, "slp" for small tensors in registers; for
    scalars that one makes chains slower. `counts`
    are numbers for reports: loop "nests", nodes "fused" in them, carried arrays updated "in place",
    "copied" or "taking turns" (double-buffered), and others listed in jit/runtime/report.py. An
    artifact from disk has no text. `constants` is the data that a free kernel finds by name.
    `clocks` are what a profiled kernel measures, by number; `places` what its machine code belongs
    to, by the lines of its line table, from 1.
    """

    text: str
    slots: tuple[Slot, ...]
    workspace: int
    grown: tuple[int, ...]
    vectorizers: tuple[str, ...] = VECTORIZERS
    counts: tuple[tuple[str, int], ...] = ()
    constants: tuple[tuple[str, bytes], ...] = ()
    clocks: tuple[tuple[str, str, str], ...] = ()
    places: tuple[tuple[str, str, bool], ...] = ()


def serialize(kernel: Kernel, code: KernelArtifact, machine_code: bytes) -> bytes:
    """Serialize the artifact; raises Unwritable."""
    names = Names(kernel)
    kept = {
        field.name: _written(getattr(code, field.name), names)
        for field in fields(code)
        if field.name != "text"
    }
    head = json.dumps(kept).encode()
    return len(head).to_bytes(8, "little") + head + machine_code


def deserialize(kernel: Kernel, data: bytes) -> tuple[KernelArtifact, bytes]:
    """Restore the artifact of an equal kernel, and its machine code."""
    names = Names(kernel)
    end = 8 + int.from_bytes(data[:8], "little")
    kept = {name: _read(form, names) for name, form in json.loads(data[8:end]).items()}
    return KernelArtifact(text="", **kept), data[end:]


def _written(value: Any, names: Names) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case tuple():
            return [_written(item, names) for item in value]
        case Slot(kind, which):
            return {"slot": kind, "which": _written(which, names)}
        case Node() | SymbolicDim() | np.ndarray():
            return {"number": names.number(value)}
    raise Unwritable(f"a {type(value).__name__}")


def _read(form: Any, names: Names) -> Any:
    match form:
        case list():
            return tuple(_read(item, names) for item in form)
        case {"slot": kind, "which": which}:
            return Slot(kind, _read(which, names))
        case {"number": number}:
            return names.thing(number)
    return form
