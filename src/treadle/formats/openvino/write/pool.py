"""The pool of constants for the .bin: all constants of the net and its bodies, deduplicated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from treadle.formats.openvino.write.encoding import encode, word_of
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import Literal

_ALIGNMENT = 64


class Pool:
    """Assigns every constant its location; the bytes are written once all locations are known."""

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._parts: list[tuple[int, np.ndarray]] = []
        self._known: dict[int, tuple[Literal, dict[str, str]]] = {}
        self.size = 0

    def add(self, literal: Literal) -> dict[str, str]:
        """The data of a Const layer: element type, shape, and the location of its bytes.

        Raises Refusal for an element type that OpenVINO lacks.
        """
        seen = self._known.get(id(literal))
        if seen is not None:
            return seen[1]
        word = word_of(literal.dtype)
        if word is None:
            raise Refusal(f"OpenVINO has no constants of {literal.dtype}")
        data = encode(word, literal.array)
        attributes = {
            "element_type": word,
            "shape": ", ".join(map(str, literal.array.shape)),
            "offset": str(self._place(data)),
            "size": str(data.size),
        }
        self._known[id(literal)] = literal, attributes
        return attributes

    def _place(self, data: np.ndarray) -> int:
        digest = hashlib.blake2b(data.data, digest_size=20).digest() + data.size.to_bytes(
            8, "little"
        )
        if digest not in self._places:
            start = -(-self.size // _ALIGNMENT) * _ALIGNMENT if data.size >= _ALIGNMENT else None
            offset = self._aligned(data.size) if start is None else start
            self._places[digest] = offset
            self._parts.append((offset, data))
            self.size = offset + data.size
        return self._places[digest]

    def _aligned(self, size: int) -> int:
        step = min(_ALIGNMENT, 1 << (max(size, 1) - 1).bit_length())
        return -(-self.size // step) * step

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The bytes of the .bin from its start, with gaps filled by zeros."""
        end = 0
        for offset, data in self._parts:
            yield bytes(offset - end)
            yield data.data
            end = offset + data.size

    def write(self, file: BinaryIO) -> None:
        """Write the .bin."""
        for chunk in self.chunks():
            file.write(chunk)
