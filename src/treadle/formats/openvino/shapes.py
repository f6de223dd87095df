"""The shape attribute of a Parameter: extents, ranges, and unknown dims.

`2,5,3`, `?,1..16,4`, `..16`, `1..`, `-1`, with or without brackets; `...` is an unknown rank and ""
a scalar.
"""

from __future__ import annotations

from treadle.formats.openvino.diagnostics import IrError
from treadle.ir import Dim, Range, Shape


def read_shape(text: str) -> Shape | None:
    """Parse a shape; None for an unknown rank; raises IrError for a malformed one."""
    inner = text.strip().removeprefix("[").removesuffix("]").strip()
    if inner == "...":
        return None
    return tuple(_dim(word.strip(), text) for word in inner.split(",")) if inner else ()


def _dim(word: str, text: str) -> Dim:
    if word in ("?", "-1"):
        return None
    if word.isdecimal() and len(word) < 19:
        return int(word)
    low, dots, high = word.partition("..")
    if dots and all(w == "" or (w.isdecimal() and len(w) < 19) for w in (low, high)):
        return Range(int(low or 0), int(high) if high else None)
    hint = "write numbers, ranges like 1..16, or ? for an unknown one"
    raise IrError("CF905", f'"{word[:40]}" is not a dim in the shape "{text[:40]}"', hint)
