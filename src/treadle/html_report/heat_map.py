"""A matrix of numbers as a PNG: dark is small, light is large; NaN red, infinite orange."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

_STOPS = np.array(
    [(20, 28, 66), (34, 84, 138), (52, 150, 160), (146, 206, 168), (250, 245, 205)], np.float64
)
_NAN, _INFINITE = (208, 48, 52), (240, 148, 32)
_COLOURS = 254
"""The number of palette entries for finite numbers; the last two of 256 are NaN and infinite."""


def heat_map(matrix: np.ndarray) -> str:
    """The PNG of float64[rows, columns] as base64, a pixel for each number."""
    return base64.b64encode(_png(_indices(matrix))).decode("ascii")


def _indices(matrix: np.ndarray) -> np.ndarray:
    finite = np.isfinite(matrix)
    low = matrix.min(where=finite, initial=np.inf)
    high = matrix.max(where=finite, initial=-np.inf)
    with np.errstate(all="ignore"):
        scaled = matrix / 2 - low / 2  # halved: the difference of the extremes may be infinite
        scaled = scaled / (high / 2 - low / 2) if high > low else np.full_like(matrix, 0.5)
    indices = np.where(finite, np.clip(np.nan_to_num(scaled), 0, 1) * (_COLOURS - 1), 0)
    indices[np.isnan(matrix)] = _COLOURS
    indices[np.isinf(matrix)] = _COLOURS + 1
    return indices.astype(np.uint8)


def _palette() -> bytes:
    at = np.linspace(0, len(_STOPS) - 1, _COLOURS)
    knots = np.arange(len(_STOPS))
    channels = [np.interp(at, knots, _STOPS[:, k]) for k in range(3)]
    shades = np.stack(channels, axis=1).round().astype(np.uint8)
    return shades.tobytes() + bytes(_NAN) + bytes(_INFINITE)


def _png(indices: np.ndarray) -> bytes:
    height, width = indices.shape
    lines = np.hstack([np.zeros((height, 1), np.uint8), indices])  # 0: the line has no filter
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)  # 8 bits, a palette
    chunks = [
        (b"IHDR", header),
        (b"PLTE", _palette()),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
