"""Pickles of plans that leave out the weights which the model's file has.

A weight in the file, and its copies in exported models, are written as an offset and a length.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from typing import Any

from treadle.compact_pickle import CompactPickler

LEAST_BYTES = 2**14
"""The length from which bytes are looked for in the file."""

_MOST_SCANS = 64
"""How many times bytes are searched at most."""

Piece = bytes | tuple[int, int]
"""Bytes, or an offset and a length in the file."""


class SourcePickler(CompactPickler):
    """Writes such a pickle of a plan; `source` is the content of the model's file."""

    def __init__(self, buffer: io.BytesIO, source: bytes) -> None:
        super().__init__(buffer, protocol=5)
        self.source = _Searched(source)
        self.found: dict[bytes, tuple[int, int]] = {}

    def persistent_id(self, value: Any) -> tuple[Piece, ...] | None:
        """The pieces of bytes of which the file has some; None for other objects."""
        if type(value) is not bytes or len(value) < LEAST_BYTES:
            return None
        if value not in self.found:
            offset = self.source.find(value)
            if offset < 0:
                return self._pieces(value)
            self.found[value] = offset, len(value)
        return (self.found[value],)

    def _pieces(self, value: bytes) -> tuple[Piece, ...] | None:
        """Bytes as pieces, where weights found before are parts of them."""
        searched = _Searched(value)
        starts = sorted((searched.find(weight), place) for weight, place in self.found.items())
        pieces: list[Piece] = []
        end = 0
        for start, (offset, length) in starts:
            if start >= end:
                pieces += [value[end:start], (offset, length)]
                end = start + length
        return (*pieces, value[end:]) if pieces else None


@dataclass(slots=True)
class _Searched:
    """Bytes in which others are looked for, which mostly follow each other."""

    data: bytes
    position: int = 0
    scanned: int = 0

    def find(self, wanted: bytes) -> int:
        """Their offset; -1 if they are not there, or too much was searched before."""
        if len(wanted) > len(self.data) or self.scanned > _MOST_SCANS * len(self.data):
            return -1
        offset = self.data.find(wanted, self.position)
        if offset < 0:
            offset = self.data.find(wanted, 0, self.position + len(wanted))
            self.scanned += len(self.data)
        if offset >= 0:
            self.position = offset + len(wanted)
        return offset


class SourceUnpickler(pickle.Unpickler):
    """Reads such a pickle beside the content of the same file."""

    def __init__(self, data: bytes, source: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.source = source

    def persistent_load(self, pieces: tuple[Piece, ...]) -> bytes:
        """The bytes of these pieces."""
        return b"".join(
            each if isinstance(each, bytes) else self.source[each[0] : each[0] + each[1]]
            for each in pieces
        )
