"""The structures of the C interface, as in docs/building.md and the header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32, I64, POINTER
from treadle.jit.kernel.target import Target

TENSOR = llvm.LiteralStructType([POINTER, POINTER, I32, I32])
DATA, SHAPE, RANK, DTYPE = range(4)
WORKSPACE, GROW, POLL, SHARE, USER, ITERATIONS, BYTES = range(1, 8)

NUMBERS = {
    DType.FLOAT32: 1, DType.UINT8: 2, DType.INT8: 3, DType.UINT16: 4, DType.INT16: 5,
    DType.INT32: 6, DType.INT64: 7, DType.BOOL: 9, DType.FLOAT16: 10, DType.FLOAT64: 11,
    DType.UINT32: 12, DType.UINT64: 13, DType.BFLOAT16: 16,
}  # fmt: skip
"""ONNX's numbers of the native element types."""

UNMATCHED, ARGUMENT, OUT_OF_MEMORY = 5, 9, 2


def size_type(target: Target) -> Any:
    """The type of a size in bytes: C's size_t."""
    return llvm.IntType(8 * target.pointer_bytes)


def run_type(target: Target) -> Any:
    """The structure of a run."""
    return llvm.LiteralStructType([size_type(target), *(POINTER,) * 5, I64, I64])


def begin(
    module: llvm.Module, name: str, result: Any, types: list[Any], target: Target
) -> FunctionBuilder:
    """A builder for a function; a name that begins with a point is private."""
    function = llvm.Function(module, llvm.FunctionType(result, types), name)
    if name.startswith("."):
        function.linkage = "internal"
    return FunctionBuilder(module, function, target)


@dataclass(frozen=True, slots=True)
class Tensors:
    """An array of tensors that is an argument of a function."""

    builder: FunctionBuilder
    first: Any

    def part_pointer(self, number: int, part: int) -> Any:
        """The address of a field of a tensor."""
        indices = [llvm.Constant(I32, number), llvm.Constant(I32, part)]
        return self.builder.builder.gep(self.first, indices, source_etype=TENSOR, inbounds=True)

    def load(self, number: int, part: int) -> Any:
        """Load a field of a tensor."""
        kind = POINTER if part in (DATA, SHAPE) else I32
        return self.builder.builder.load(self.part_pointer(number, part), typ=kind)

    def store(self, number: int, part: int, value: Any) -> None:
        """Store a field of a tensor."""
        self.builder.builder.store(value, self.part_pointer(number, part))

    def extent_pointer(self, number: int, axis: int) -> Any:
        """The address of the extent of an axis."""
        shape = self.load(number, SHAPE)
        return self.builder.builder.gep(shape, [llvm.Constant(I64, axis)], source_etype=I64)

    def extent(self, number: int, axis: int) -> Any:
        """The extent of an axis."""
        return self.builder.builder.load(self.extent_pointer(number, axis), typ=I64)
