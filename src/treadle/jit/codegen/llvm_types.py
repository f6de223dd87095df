"""Element types in LLVM.

A bool is one bit in a register and one byte in memory, a float of 16 bits a float32 in a register.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS, is_float

I1, I8, I32, I64 = (llvm.IntType(bits) for bits in (1, 8, 32, 64))
F32, F64 = llvm.FloatType(), llvm.DoubleType()
POINTER = llvm.PointerType()
VOID = llvm.VoidType()

_REGISTER = {
    DType.BOOL: I1, DType.INT8: I8, DType.UINT8: I8, DType.INT16: llvm.IntType(16),
    DType.UINT16: llvm.IntType(16), DType.INT32: I32, DType.UINT32: I32, DType.INT64: I64,
    DType.UINT64: I64, DType.FLOAT32: F32, DType.FLOAT64: F64, DType.FLOAT16: F32,
    DType.BFLOAT16: F32,
}  # fmt: skip


def register_type(dtype: DType) -> Any:
    """The LLVM type of an element in a register."""
    return _REGISTER[dtype]


def memory_type(dtype: DType) -> Any:
    """The LLVM type of an element in memory."""
    if dtype in SIXTEEN_BIT_FLOATS:
        return llvm.IntType(16)
    return I8 if dtype is DType.BOOL else _REGISTER[dtype]


def literal(dtype: DType, value: Any) -> Any:
    """An element as an LLVM constant."""
    if is_float(dtype):
        return llvm.Constant(register_type(dtype), float(value))
    return llvm.Constant(register_type(dtype), int(value))


class _Word(llvm.Constant):  # type: ignore[misc]
    """A vector constant that is printed as one word; llvmlite prints every element."""

    def __init__(self, vector: Any, word: str) -> None:
        self.type, self.constant, self._word = vector, (), word

    def _get_reference(self) -> str:
        return self._word


def zeros(vector: Any) -> Any:
    """A vector of zeros."""
    return _Word(vector, "zeroinitializer")


def undefined(vector: Any) -> Any:
    """A vector of any elements."""
    return _Word(vector, "undef")


def element_type(type_: Any) -> Any:
    """The type of a number, or of the elements of a vector."""
    return type_.element if isinstance(type_, llvm.VectorType) else type_


def like(type_: Any, element: Any) -> Any:
    """The type with the number of elements of another one, a vector if that is one."""
    return llvm.VectorType(element, type_.count) if isinstance(type_, llvm.VectorType) else element


def every(type_: Any, value: Any) -> Any:
    """A number as a constant, in every lane of a vector."""
    if not isinstance(type_, llvm.VectorType):
        return llvm.Constant(type_, value)
    return _Word(type_, f"splat ({llvm.Constant(type_.element, value)})")


def internal_function(
    module: llvm.Module, name: str, result: Any, types: Sequence[Any], *attributes: str
) -> llvm.Function:
    """A new function that only its module calls."""
    function = llvm.Function(module, llvm.FunctionType(result, types), name)
    function.linkage = "internal"
    for attribute in attributes:
        function.attributes.add(attribute)
    return function
