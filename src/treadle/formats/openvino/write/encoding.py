"""OpenVINO's spelling of element types and shapes, and the bytes of constants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treadle.formats.openvino.elements import ELEMENT_TYPES, WIDENED
from treadle.ir import Dim, DType, Range, Shape

_WORDS: Mapping[DType, str] = {
    kind.dtype: word for word, kind in ELEMENT_TYPES.items() if word not in WIDENED
} | {DType.FLOAT4E2M1: "f4e2m1", DType.FLOAT8E8M0: "f8e8m0", DType.UINT2: "u2"}
_PRECISIONS = {"f32": "FP32", "f16": "FP16", "f64": "FP64", "boolean": "BOOL"}
_PACKED = {4: 2, 2: 4}
"""The number of elements in a byte, by their bits."""


def word_of(dtype: DType | None) -> str | None:
    """The word for the element type, `f32`, `i64` ...; None if OpenVINO lacks it."""
    return None if dtype is DType.STRING or dtype is None else _WORDS.get(dtype)


def precision_of(dtype: DType | None) -> str:
    """The precision of a port for its element type: `FP32`, `I64` ..."""
    word = word_of(dtype)
    return "UNSPECIFIED" if word is None else _PRECISIONS.get(word, word.upper())


def show_shape(shape: Shape | None) -> str:
    """`2,?,1..16`: the shape attribute of a Parameter; `...` for an unknown rank."""
    return "..." if shape is None else ",".join(map(_dim, shape))


def extents(shape: Shape | None) -> tuple[int, ...]:
    """The dims of a port, -1 for an unknown one; none for an unknown rank."""
    return tuple(dim if isinstance(dim, int) else -1 for dim in shape or ())


def _dim(dim: Dim) -> str:
    if isinstance(dim, Range) and dim.high is not None:
        return f"{dim.low}..{dim.high}"
    return str(dim) if isinstance(dim, int) else "?"


def encode(word: str, array: np.ndarray) -> np.ndarray:
    """The bytes of a constant, as a flat uint8 array; a view of it if possible."""
    bits = ELEMENT_TYPES[word].bits
    flat = np.ascontiguousarray(array).reshape(-1)
    if bits in _PACKED:
        return _packed(flat.view(np.uint8), bits)
    return flat.view(np.uint8)


def _packed(units: np.ndarray, bits: int) -> np.ndarray:
    # the first element of a byte is in its low bits
    share = _PACKED[bits]
    filled = np.zeros(-(-units.size // share) * share, np.uint8)
    filled[: units.size] = units & ((1 << bits) - 1)
    shifted = filled.reshape(-1, share) << (np.arange(share, dtype=np.uint8) * bits)
    packed: np.ndarray = np.bitwise_or.reduce(shifted, axis=1).astype(np.uint8)
    return packed
