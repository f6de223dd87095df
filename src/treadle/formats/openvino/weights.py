"""The .bin beside an .xml, with every location checked before it is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treadle.formats.file_content import content_of
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.elements import ELEMENT_TYPES, WIDENED, byte_count, decode
from treadle.formats.openvino.records import Layer
from treadle.ir import DType, External, Literal, show_shape
from treadle.limits import spend

_MOST_AXES = 64
_LARGEST = 2**62
_KEPT_OUTSIDE = 1024


@dataclass(slots=True)
class Weights:
    """The bytes that hold all constants of a net; `missing` is the reason if there are none."""

    path: Path | None
    missing: str = ""
    data: np.ndarray | None = None

    @classmethod
    def beside_xml(cls, xml: Path) -> Weights:
        """The weights in the .bin of the same name."""
        path = xml.with_suffix(".bin")
        try:
            spend(path.stat().st_size, f'"{path}"')
            return cls(path, data=content_of(path))
        except OSError as error:
            return cls(path, f'"{path.name}" cannot be read: {error.strerror}')

    def literal(self, layer: Layer, fallback: tuple[str, tuple[int, ...]]) -> Literal:
        """The tensor of a Const layer; raises IrError if it cannot be read.

        `fallback` are the element type and dims of its output port: IR 10 may have them only there.
        """
        word, shape = _declared(layer, *fallback)
        offset, size = _place(layer, "offset"), _place(layer, "size")
        if self.data is None:
            raise IrError("CF002", self.missing, "put the .bin beside the .xml")
        if offset + size > self.data.size:
            there = f'"{self.path.name if self.path else ""}" has {self.data.size}'
            hint = "the .bin is truncated, or belongs to another model"
            raise IrError("CF002", f"bytes {offset} to {offset + size} are wanted, {there}", hint)
        wanted = byte_count(word, math.prod(shape))
        if wanted is not None and wanted != size:
            needed = f"{word}{show_shape(shape)} takes {wanted} bytes"
            raise IrError("CF002", f"{needed}, size says {size}")
        try:
            array = decode(word, self.data[offset : offset + size], shape)
        except ValueError as error:
            raise IrError("CF002", str(error)) from None
        dtype = ELEMENT_TYPES[word].dtype
        large = size >= _KEPT_OUTSIDE and word not in WIDENED and dtype is not DType.STRING
        outside = self._external(offset, size) if large else None
        return Literal(array, dtype, external=outside)

    def _external(self, offset: int, size: int) -> External | None:
        if self.path is None:
            return None
        entries = {"location": self.path.name, "offset": str(offset), "length": str(size)}
        return External(self.path.name, tuple(entries.items()), str(self.path.parent))


def _declared(layer: Layer, word: str, dims: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    word = layer.data.get("element_type", word).lower()
    if word not in ELEMENT_TYPES:
        raise IrError("CF002", f'"{word}" is not a supported element type')
    if "shape" not in layer.data:
        return word, dims
    return word, static_shape(layer.data["shape"])


def static_shape(text: str) -> tuple[int, ...]:
    """The extents in a constant's shape attribute: "" is a scalar."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    if len(words) > _MOST_AXES or not all(w.isdecimal() and len(w) < 20 for w in words):
        raise IrError("CF002", f'"{text[:40]}" is not the shape of a constant')
    shape = tuple(map(int, words))
    if math.prod(extent for extent in shape if extent) > _LARGEST:
        raise IrError("CF002", f"a constant of shape {show_shape(shape)} is too large")
    return shape


def _place(layer: Layer, name: str) -> int:
    text = layer.data.get(name, "")
    if not text.isdecimal() or len(text) > 19:
        raise IrError("CF002", f'{name} is "{text[:40]}", wanted a number of bytes')
    return int(text)
