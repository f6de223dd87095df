"""The types of values.

Type = Tensor(dtype?, shape?) | Sparse(dtype?, shape?) | Sequence(Type) | Optional(Type)
     | Map(key, Type) | Unknown

A dtype or shape of None is one that nothing says; a Value without any type has type None.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from treadle.ir.dims import Dim, Shape, admits, dim_symbols, show_dim


class DType(enum.Enum):
    """The element types of the ONNX standard up to opset 28, by their ONNX name."""

    FLOAT32 = "float32"
    UINT8 = "uint8"
    INT8 = "int8"
    UINT16 = "uint16"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    STRING = "string"
    BOOL = "bool"
    FLOAT16 = "float16"
    FLOAT64 = "float64"
    UINT32 = "uint32"
    UINT64 = "uint64"
    COMPLEX64 = "complex64"
    COMPLEX128 = "complex128"
    BFLOAT16 = "bfloat16"
    FLOAT8E4M3FN = "float8e4m3fn"
    FLOAT8E4M3FNUZ = "float8e4m3fnuz"
    FLOAT8E5M2 = "float8e5m2"
    FLOAT8E5M2FNUZ = "float8e5m2fnuz"
    UINT4 = "uint4"
    INT4 = "int4"
    FLOAT4E2M1 = "float4e2m1"
    FLOAT8E8M0 = "float8e8m0"
    UINT2 = "uint2"
    INT2 = "int2"
    FLOAT6E2M3 = "float6e2m3"
    FLOAT6E3M2 = "float6e3m2"

    # members are compared by identity; Enum's own hash is Python code over the name
    __hash__ = object.__hash__

    def __str__(self) -> str:
        return str(self._value_)

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy dtype of an element; strings are objects."""
        return _NUMPY[self]

    @property
    def bits(self) -> int:
        """The bits of one element in a packed tensor file; 0 for strings."""
        return _BITS.get(self) or 8 * self.numpy.itemsize


_EXTENDED = {
    DType.STRING: object,
    DType.BFLOAT16: ml_dtypes.bfloat16,
    DType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    DType.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    DType.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DType.UINT4: ml_dtypes.uint4,
    DType.INT4: ml_dtypes.int4,
    DType.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    DType.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    DType.UINT2: ml_dtypes.uint2,
    DType.INT2: ml_dtypes.int2,
    DType.FLOAT6E2M3: ml_dtypes.float6_e2m3fn,
    DType.FLOAT6E3M2: ml_dtypes.float6_e3m2fn,
}
_NUMPY: dict[DType, np.dtype[np.generic]] = {
    dtype: np.dtype(_EXTENDED.get(dtype, dtype.value)) for dtype in DType
}
_BITS = {
    DType.UINT4: 4,
    DType.INT4: 4,
    DType.FLOAT4E2M1: 4,
    DType.UINT2: 2,
    DType.INT2: 2,
    DType.FLOAT6E2M3: 6,
    DType.FLOAT6E3M2: 6,
}
_FROM_NUMPY = {dtype.numpy: dtype for dtype in DType}
_STRING_KINDS = "OUST"


def dtype_of(dtype: np.dtype[np.generic]) -> DType | None:
    """The element type of a numpy dtype; None if ONNX has none for it."""
    is_bytes = dtype.type is np.void and dtype.names is None
    return DType.STRING if is_bytes or dtype.kind in _STRING_KINDS else _FROM_NUMPY.get(dtype)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A dense tensor; a shape of None has unknown rank."""

    dtype: DType | None = None
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"{self.dtype or '?'}{show_shape(self.shape)}"


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse tensor of the standard; a shape of None has unknown rank."""

    dtype: DType | None = None
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"sparse({self.dtype or '?'}{show_shape(self.shape)})"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list of values of one type."""

    element: Type | None = None

    def __str__(self) -> str:
        return f"seq({show_type(self.element)})"


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent at run time."""

    element: Type | None = None

    def __str__(self) -> str:
        return f"optional({show_type(self.element)})"


@dataclass(frozen=True, slots=True)
class Map:
    """A dictionary from whole numbers or strings to values."""

    key: DType | None = None
    element: Type | None = None

    def __str__(self) -> str:
        return f"map({self.key or '?'},{show_type(self.element)})"


Type = Tensor | Sparse | Sequence | Optional | Map


def show_shape(shape: Shape | None) -> str:
    """`[2,T,?]`; `[]` is a scalar, `[*]` an unknown rank."""
    return "[*]" if shape is None else f"[{','.join(map(show_dim, shape))}]"


def show_type(type_: Type | None) -> str:
    """The type as `float32[2,T]`, `seq(int64[])` ...; `?` where it is unknown."""
    return "?" if type_ is None else str(type_)


def show_array(array: np.ndarray) -> str:
    """Print the dtype and shape of an array as a type: `float32[2,3]`, `string[]`."""
    return f"{dtype_of(array.dtype) or array.dtype}{show_shape(array.shape)}"


def tensor(dtype: DType | str, *shape: Dim) -> Tensor:
    """A tensor type of known rank: `tensor("float32", 2, Symbol("T"))`."""
    return Tensor(DType(dtype), shape)


def shape_admits(shape: Shape | None, extents: tuple[int, ...]) -> bool:
    """Whether a tensor of these extents can have the shape; symbols match any extent."""
    if shape is None:
        return True
    return len(shape) == len(extents) and all(map(admits, shape, extents))


def type_symbols(type_: Type | None) -> frozenset[str]:
    """The names of every symbol in the type's shapes."""
    match type_:
        case Tensor() | Sparse():
            return frozenset().union(*map(dim_symbols, type_.shape or ()))
        case Sequence() | Optional() | Map():
            return type_symbols(type_.element)
    return frozenset()
