"""The text form of each operation of the kernel IR: one template for printing and parsing.

A template is words and fields, `{name:codec}`, and after a bar the word before the operands, if
there is one. A codec is a regular expression, a function that prints the field and one that parses
it; the first takes a function that prints a dim, the second one that parses a dim.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from treadle.jit.kernel.ir import (
    ArgTopK,
    Axis,
    CarriedArg,
    Concat,
    Cumulative,
    DimOf,
    Elementwise,
    Empty,
    FlatNonzero,
    Gather,
    Guard,
    IndexTuple,
    InductionVar,
    Input,
    InputDim,
    Iota,
    MatMul,
    Number,
    Op,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Scatter,
    Take,
    View,
)


class InvalidKernel(ValueError):
    """A kernel, or the text of one, breaks a rule of the kernel IR."""


WriteDim = Callable[[Number], str]
"""The name of a symbolic dim, or the digits of a constant one."""

ReadDim = Callable[[str], Number]
"""The dim of a name or of digits."""


class Codec(NamedTuple):
    """How a field is printed and parsed."""

    pattern: str
    write: Callable[[WriteDim, Any], str]
    read: Callable[[ReadDim, str], Any]


def _write_axis(write_dim: WriteDim, axis: Axis | int) -> str:
    if isinstance(axis, int):
        return f"at {axis}"
    terms = [f"{'' if step == 1 else f'{step}*'}i{number}" for number, step in axis.terms]
    if axis.offset != 0 or not terms:
        terms.append(write_dim(axis.offset))
    return "+".join(terms)


def _read_axis(read_dim: ReadDim, text: str) -> Axis | int:
    if text.startswith("at "):
        return int(text[3:])
    offset: Number = 0
    terms: list[tuple[int, int]] = []
    for term in text.split("+"):
        found = re.fullmatch(r"(?:(-?\d+)\*)?i(\d+)", term)
        if found:
            terms.append((int(found[2]), int(found[1] or 1)))
        else:
            offset = read_dim(term)
    return Axis(offset, tuple(terms))


def _write_axes(write_dim: WriteDim, axes: IndexTuple) -> str:
    return f"({', '.join(_write_axis(write_dim, axis) for axis in axes)})"


def _read_axes(read_dim: ReadDim, text: str) -> IndexTuple:
    inside = text[1:-1]
    return tuple(_read_axis(read_dim, axis) for axis in inside.split(", ")) if inside else ()


def _flag(words: str) -> Codec:
    return Codec(
        f"(?: {words})?", lambda _, on: f" {words}" if on else "", lambda _, text: text != ""
    )


CODECS: Mapping[str, Codec] = {
    "int": Codec(r"-?\d+", lambda _, value: str(value), lambda _, text: int(text)),
    "ints": Codec(
        r"\(.*?\)",
        lambda _, value: f"({', '.join(map(str, value))})",
        lambda _, text: tuple(int(each) for each in text[1:-1].split(", ") if each),
    ),
    "function": Codec(r"[a-z]\w*", lambda _, value: value, lambda _, text: text),
    "combined": Codec(
        r"(?: by \w+)?",
        lambda _, value: f" by {value}" if value else "",
        lambda _, text: text.removeprefix(" by "),
    ),
    "dim": Codec(
        r"[\w']+",
        lambda write_dim, dim: write_dim(dim),
        lambda read_dim, text: read_dim(text),
    ),
    "axes": Codec(r"\(.*?\)", _write_axes, _read_axes),
    "reversed": _flag("from the last"),
    "of_shapes": _flag("of shapes"),
    "of_bytes": _flag("of bytes"),
    "exclusive": _flag("exclusive"),
    "in_range": _flag("in range"),
}  # fmt: skip

TEMPLATES: tuple[tuple[type, str], ...] = (
    (Input, "input {position:int}"),
    (Empty, "empty"),
    (InputDim, "input dim {extent:dim}"),
    (DimOf, "dim {axis:int} of value {number:int}|of"),
    (Guard, "guard{is_of_shapes:of_shapes}"),
    (Iota, "iota"),
    (InductionVar, "induction variable"),
    (CarriedArg, "carried {number:int}"),
    (ScanSlice, "scan slice along {axis:int}{reverse:reversed}|of"),
    (View, "view {axes:axes}|of"),
    (Reshape, "reshape"),
    (Concat, "concat along {axis:int}"),
    (Reduce, "reduce {function:function} over {axes:ints}|of"),
    (MatMul, "matmul{of_bytes:of_bytes}"),
    (FlatNonzero, "flat nonzero"),
    (ArgTopK, "argtopk along {axis:int}|of"),
    (Take, "take along {axis:int}{is_in_range:in_range}|of"),
    (Cumulative, "cumulative {function:function} along {axis:int}{exclusive:exclusive}|of"),
    (Gather, "gather {axes:axes}{is_in_range:in_range}|of"),
    (Scatter, "scatter{function:combined} {axes:axes}{is_in_range:in_range}|into"),
    (Result, "result {number:int}|of"),
    (Elementwise, "{function:function}"),
)
"""In the order in which they are tried; no Elementwise function is a word of another operation."""


@dataclass(frozen=True, slots=True)
class OpText:
    """The text of one class of operations."""

    op: type
    pieces: tuple[str | tuple[str, Codec], ...]
    link: str
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, op: type, template: str) -> OpText:
        """The text of a template."""
        pieces: list[str | tuple[str, Codec]] = []
        head, _, link = template.partition("|")
        for words, name, codec in re.findall(r"([^{]*)(?:\{(\w+):(\w+)\})?", head):
            pieces += [words] if words else []
            pieces += [(name, CODECS[codec])] if name else []
        pattern = "".join(
            re.escape(piece) if isinstance(piece, str) else f"(?P<{piece[0]}>{piece[1].pattern})"
            for piece in pieces
        )
        link = f" {link} " if link else " "
        return cls(op, tuple(pieces), link, re.compile(f"{pattern}(?:{link}(?P<operands>%.*))?"))

    def write(self, write_dim: WriteDim, op: Op, operands: str) -> str:
        """Print the operation and its operands."""
        words = "".join(
            piece if isinstance(piece, str) else piece[1].write(write_dim, getattr(op, piece[0]))
            for piece in self.pieces
        )
        return f"{words}{self.link}{operands}" if operands else words

    def read(self, read_dim: ReadDim, text: str) -> tuple[Op, str] | None:
        """The operation and the text of its operands; None for text of another operation."""
        found = self.pattern.fullmatch(text)
        if found is None:
            return None
        fields = {
            name: codec.read(read_dim, found[name])
            for name, codec in (piece for piece in self.pieces if not isinstance(piece, str))
        }
        return self.op(**fields), found["operands"] or ""


@cache
def op_texts() -> Mapping[type, OpText]:
    """The text of every operation without blocks or arrays, by class."""
    return {op: OpText.of(op, template) for op, template in TEMPLATES}


def write_op(write_dim: WriteDim, op: Op, operands: str) -> str:
    """Print an operation without blocks or arrays, with the names of its operands."""
    return op_texts()[type(op)].write(write_dim, op, operands)


def read_op(read_dim: ReadDim, text: str) -> tuple[Op, str]:
    """Parse an operation without blocks or arrays, and return the text of its operands."""
    for each in op_texts().values():
        found = each.read(read_dim, text)
        if found is not None:
            return found
    raise InvalidKernel(f"{text!r} is not an operation")
