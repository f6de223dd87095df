"""OpenVINO's element types: their spelling, their dtype here, and their byte layout.

Types that ONNX, or its opset 21, lacks are widened when they are read: u1, u2, u3 and u6 to uint8;
nf4, f4e2m1 and f8e8m0 to float32. Layouts: i4, u4, nf4 and f4e2m1 the low nibble first; u2 the low
bits first; u1 the high bit first; u3 and u6 groups of three bytes of split bit planes, high bits
first; string an int32 count, count + 1 int32 offsets, then UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from treadle.ir import DType

Decoder = Callable[[np.ndarray, int], np.ndarray]


class ElementType(NamedTuple):
    """An element type of OpenVINO: its bits in a file, and the dtype that holds it here."""

    bits: int
    dtype: DType


ELEMENT_TYPES: Mapping[str, ElementType] = {
    "boolean": ElementType(8, DType.BOOL),
    "i8": ElementType(8, DType.INT8),
    "u8": ElementType(8, DType.UINT8),
    "i16": ElementType(16, DType.INT16),
    "u16": ElementType(16, DType.UINT16),
    "i32": ElementType(32, DType.INT32),
    "u32": ElementType(32, DType.UINT32),
    "i64": ElementType(64, DType.INT64),
    "u64": ElementType(64, DType.UINT64),
    "f16": ElementType(16, DType.FLOAT16),
    "bf16": ElementType(16, DType.BFLOAT16),
    "f32": ElementType(32, DType.FLOAT32),
    "f64": ElementType(64, DType.FLOAT64),
    "i4": ElementType(4, DType.INT4),
    "u4": ElementType(4, DType.UINT4),
    "u1": ElementType(1, DType.UINT8),
    "u2": ElementType(2, DType.UINT8),
    "u3": ElementType(3, DType.UINT8),
    "u6": ElementType(6, DType.UINT8),
    "nf4": ElementType(4, DType.FLOAT32),
    "f4e2m1": ElementType(4, DType.FLOAT32),
    "f8e4m3": ElementType(8, DType.FLOAT8E4M3FN),
    "f8e5m2": ElementType(8, DType.FLOAT8E5M2),
    "f8e8m0": ElementType(8, DType.FLOAT32),
    "string": ElementType(0, DType.STRING),
}
_PRECISIONS = {
    "fp32": "f32", "fp16": "f16", "fp64": "f64", "bool": "boolean", "bin": "u1",
}  # fmt: skip
_NF4 = np.array(
    [
        -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
        -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
        0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
        0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
    ],
    np.float32,
)  # fmt: skip
_GROUP = 24
WIDENED = frozenset(("u1", "u2", "u3", "u6", "nf4", "f4e2m1", "f8e8m0"))
"""The types that are widened to another one."""


def element_type(word: str) -> ElementType | None:
    """The element type of a word: `f32`, or a port's precision `FP32`; None if unknown."""
    lower = word.lower()
    return ELEMENT_TYPES.get(_PRECISIONS.get(lower, lower))


def byte_count(word: str, count: int) -> int | None:
    """The number of bytes of `count` elements; None for strings."""
    kind = ELEMENT_TYPES[word]
    if not kind.bits:
        return None
    if word in ("u3", "u6"):
        return -(-count * kind.bits // _GROUP) * 3
    return -(-count * kind.bits // 8)


def decode(word: str, data: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Decode the bytes of an array of this shape; a view of them if possible."""
    count = int(np.prod(shape, dtype=np.int64))
    special = _DECODERS.get(word)
    if special is not None:
        return special(data, count).reshape(shape)
    numpy = ELEMENT_TYPES[word].dtype.numpy
    if word == "boolean":
        truths: np.ndarray = data != 0
        return truths.reshape(shape)
    if data.size and data.ctypes.data % numpy.itemsize:
        data = data.copy()
    return data.view(numpy).reshape(shape)


def _nibbles(data: np.ndarray, count: int) -> np.ndarray:
    return np.stack([data & 15, data >> 4], axis=1).reshape(-1)[:count]


def _unsigned_fours(data: np.ndarray, count: int) -> np.ndarray:
    return _nibbles(data, count).view(DType.UINT4.numpy)


def _signed_fours(data: np.ndarray, count: int) -> np.ndarray:
    nibbles = _nibbles(data, count).astype(np.int8)
    signed: np.ndarray = np.where(nibbles > 7, nibbles - 16, nibbles)
    return signed.astype(DType.INT4.numpy)


def _normal_fours(data: np.ndarray, count: int) -> np.ndarray:
    found: np.ndarray = _NF4[_nibbles(data, count)]
    return found


def _small_fours(data: np.ndarray, count: int) -> np.ndarray:
    return _nibbles(data, count).view(DType.FLOAT4E2M1.numpy).astype(np.float32)


def _exponents(data: np.ndarray, count: int) -> np.ndarray:
    return data[:count].view(DType.FLOAT8E8M0.numpy).astype(np.float32)


def _twos(data: np.ndarray, count: int) -> np.ndarray:
    shifts = np.arange(0, 8, 2, dtype=np.uint8)
    twos = (data[:, np.newaxis] >> shifts) & np.uint8(3)
    return twos.reshape(-1)[:count]


def _ones(data: np.ndarray, count: int) -> np.ndarray:
    return np.unpackbits(data, count=count)


def _threes(data: np.ndarray, count: int) -> np.ndarray:
    # bytes 0 and 1: the low two bits of eight elements; byte 2: their high bits
    group = data.reshape(-1, 3)
    low = (group[:, :2, np.newaxis] >> np.array([6, 4, 2, 0], np.uint8)) & np.uint8(3)
    high = np.unpackbits(group[:, 2]).reshape(-1, 8)
    return (low.reshape(-1, 8) | (high << 2)).reshape(-1)[:count]


def _sixes(data: np.ndarray, count: int) -> np.ndarray:
    # bytes 0 and 1: the low four bits of four elements; byte 2: their high two bits
    group = data.reshape(-1, 3)
    low = (group[:, :2, np.newaxis] >> np.array([4, 0], np.uint8)) & np.uint8(15)
    high = (group[:, 2, np.newaxis] >> np.array([6, 4, 2, 0], np.uint8)) & np.uint8(3)
    return (low.reshape(-1, 4) | (high << 4)).reshape(-1)[:count]


def _strings(data: np.ndarray, count: int) -> np.ndarray:
    words = data[: 4 * (data.size // 4)].tobytes()
    found = int(np.frombuffer(words[:4], "<i4")[0]) if len(words) >= 4 else -1
    first = 4 * (count + 2)
    if found != count or data.size < first:
        raise ValueError(f"{count} strings are wanted, the data begin with {found}")
    offsets = np.frombuffer(words[4:first], "<i4").tolist()
    body = data[first:].tobytes()
    strings = np.empty(count, object)
    for k, (start, end) in enumerate(pairwise(offsets)):
        if not 0 <= start <= end <= len(body):
            raise ValueError(f"string {k} lies from {start} to {end} of {len(body)} bytes")
        strings[k] = body[start:end].decode("utf-8", "surrogateescape")
    return strings


_DECODERS: Mapping[str, Decoder] = {
    "i4": _signed_fours,
    "u4": _unsigned_fours,
    "nf4": _normal_fours,
    "f4e2m1": _small_fours,
    "f8e8m0": _exponents,
    "u1": _ones,
    "u2": _twos,
    "u3": _threes,
    "u6": _sixes,
    "string": _strings,
}
