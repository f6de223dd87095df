"""The structures of the C interface, as docs/building.md and the header tell them.

treadle_tensor = data, shape, rank, dtype
treadle_run    = size, workspace, grow, poll, share, user, iterations, bytes
"""

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
GROWTH = llvm.FunctionType(POINTER, [POINTER, POINTER, I64])
"""The type of `grow` where a size has 64 bits."""

NUMBERS = {
    DType.FLOAT32: 1, DType.UINT8: 2, DType.INT8: 3, DType.UINT16: 4, DType.INT16: 5,
    DType.INT32: 6, DType.INT64: 7, DType.BOOL: 9, DType.FLOAT16: 10, DType.FLOAT64: 11,
    DType.UINT32: 12, DType.UINT64: 13, DType.BFLOAT16: 16,
}  # fmt: skip
"""ONNX's numbers of the element types that native code has."""

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
    """The writer of a function; one whose name begins with a point is nobody else's."""
    function = llvm.Function(module, llvm.FunctionType(result, types), name)
    if name.startswith("."):
        function.linkage = "internal"
    return FunctionBuilder(module, function, target)


@dataclass(frozen=True, slots=True)
class Tensors:
    """An array of tensors that a function is given."""

    builder: FunctionBuilder
    first: Any

    def part_pointer(self, number: int, part: int) -> Any:
        """Where a part of a tensor is."""
        indices = [llvm.Constant(I32, number), llvm.Constant(I32, part)]
        return self.builder.builder.gep(self.first, indices, source_etype=TENSOR, inbounds=True)

    def load(self, number: int, part: int) -> Any:
        """A part of a tensor."""
        kind = POINTER if part in (DATA, SHAPE) else I32
        return self.builder.builder.load(self.part_pointer(number, part), typ=kind)

    def store(self, number: int, part: int, value: Any) -> None:
        """Set a part of a tensor."""
        self.builder.builder.store(value, self.part_pointer(number, part))

    def extent_pointer(self, number: int, axis: int) -> Any:
        """Where the extent of an axis is."""
        shape = self.load(number, SHAPE)
        return self.builder.builder.gep(shape, [llvm.Constant(I64, axis)], source_etype=I64)

    def extent(self, number: int, axis: int) -> Any:
        """The extent of an axis."""
        return self.builder.builder.load(self.extent_pointer(number, axis), typ=I64)
