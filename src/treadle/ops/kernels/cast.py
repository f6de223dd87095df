"""Cast, CastLike, BitCast.

Between numbers numpy and ml_dtypes round and wrap as the standard requires: to nearest even, and
integers lose their high bits. A float outside the integer's range gives the processor's result.
8-bit floats saturate unless `saturate` is 0.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from onnx import numpy_helper

from treadle.ir import DType
from treadle.ops.elements import element_from_proto
from treadle.ops.kernels.common import NARROW
from treadle.ops.kernels.registry import Attributes, Body, Operands, Results, evaluates, maker

_finfo: Any = ml_dtypes.finfo
_SATURATING = {
    dtype.numpy: float(_finfo(dtype.numpy).max)
    for dtype in (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
}
_E8M0 = DType.FLOAT8E8M0.numpy
_SPECIAL = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}
_OLD_NAMES = {"FLOAT": DType.FLOAT32, "DOUBLE": DType.FLOAT64}
_SINCE_19 = (19, 21, 23, 24, 25, 28)


def cast(
    x: np.ndarray, dtype: np.dtype[Any], saturate: bool = True, round_mode: str = "up"
) -> np.ndarray:
    """The elements of x in another dtype."""
    if x.dtype == dtype:
        return x
    if dtype.kind == "O":
        return to_strings(x)
    if x.dtype.kind == "O":
        return from_strings(x, dtype, saturate)
    if dtype == _E8M0:
        return _to_e8m0(x, saturate, round_mode)
    if dtype.kind in "iu" and x.dtype in NARROW:
        return x.astype(np.float32).astype(dtype)
    if saturate and dtype in _SATURATING:
        most = _SATURATING[dtype]
        return np.clip(_comparable(x), -most, most).astype(dtype)
    return x.astype(dtype)


def to_strings(x: np.ndarray) -> np.ndarray:
    """Numbers as onnxruntime prints them: 8 digits of a float, the shortest form of a double."""
    if x.dtype.kind == "b" or x.dtype.kind in "iu":
        words = [str(int(each)) for each in x.reshape(-1).tolist()]
    elif x.dtype == np.float64:
        words = [repr(each).removesuffix(".0") for each in x.reshape(-1).tolist()]
    else:
        words = [f"{each:.8g}" for each in x.reshape(-1).astype(np.float64).tolist()]
    result = np.empty(x.shape, object)
    result.reshape(-1)[:] = [_SPECIAL.get(word, word) for word in words]
    return result


def from_strings(x: np.ndarray, dtype: np.dtype[Any], saturate: bool = True) -> np.ndarray:
    """Parse text as numbers; "INF" and "NaN" in any case. Integers keep their low bits."""
    words = x.reshape(-1).tolist()
    if dtype.kind in "iu":
        widest = np.uint64 if dtype == np.uint64 else np.int64
        numbers = np.array([_whole(word) for word in words], object).astype(widest)
        return numbers.astype(dtype).reshape(x.shape)
    floats = np.array([float(word) for word in words], np.float64).reshape(x.shape)
    return cast(floats, dtype, saturate)


def _whole(word: str) -> int:
    try:
        return int(word)
    except ValueError:
        return int(float(word))


def _comparable(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32) if x.dtype.kind not in "fiu" or x.dtype.itemsize < 2 else x


def _to_e8m0(x: np.ndarray, saturate: bool, round_mode: str) -> np.ndarray:
    exponents = np.asarray(numpy_helper.to_float8e8m0(np.atleast_1d(x), saturate, round_mode))
    return exponents.reshape(x.shape).astype(_E8M0)


def _cast_to(to: int | str) -> np.dtype[Any]:
    if isinstance(to, str):
        dtype: DType | None = _OLD_NAMES.get(to) or DType(to.lower())
    else:
        dtype = element_from_proto(to)
    if dtype is None:
        raise ValueError("`to` is UNDEFINED")
    return dtype.numpy


@maker("Cast", 1, 6, 9, 13, *_SINCE_19)
def bind_cast(attributes: Attributes, outputs: int) -> Body:
    """Cast-1: the attribute `to` names the type in words."""
    dtype = _cast_to(attributes["to"])
    saturate = bool(attributes.get("saturate", 1))
    round_mode = attributes.get("round_mode", "up")

    def body(inputs: Operands) -> Results:
        return (cast(inputs[0], dtype, saturate, round_mode),)

    return body


@evaluates("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(x: np.ndarray, like: np.ndarray, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """The elements of x in the dtype of the other operand."""
    return cast(x, like.dtype, bool(saturate), round_mode)


@evaluates("BitCast", 26)
def bit_cast(x: np.ndarray, *, to: int) -> Any:
    """Reinterpret the bits as another type of the same width."""
    dtype = _cast_to(to)
    if "O" in (dtype.kind, x.dtype.kind) or dtype.itemsize != x.dtype.itemsize:
        raise ValueError(f"{x.dtype} and {dtype} have different widths")
    return np.ascontiguousarray(x).reshape(x.shape).view(dtype)
