"""What every way to emit a matrix product shares: its operands, and steps of it in vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I32
from treadle.jit.codegen.scalar.exp_log import fma
from treadle.jit.kernel.element_types import is_float


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """result[row, column] = sum of left(row, k) * right[k, column] over `inner`.

    `left` reads an element, `right` and `result` return the address of a row from a column on;
    `scopes` are their alias scopes. If `is_backward` holds at run time, the order is reversed.
    `has_many_rows`: their number is not known, and more than those of a tile in most runs.
    """

    dtype: DType
    rows: Index
    inner: Index
    columns: int
    left: Callable[[Index, Index], Any]
    right: Callable[[Index, Index], Any]
    result: Callable[[Index, Index], Any]
    scopes: tuple[str, str]
    is_backward: Any = None
    has_many_rows: bool = False

    def turned(self, context: CodegenContext, number: Index, count: Index) -> Index:
        """The number, or its mirror image in reversed order."""
        if self.is_backward is None or (isinstance(number, int) and count == 1):
            return number
        b, one = context.builder.builder, context.builder.index(1)
        last = b.sub(context.builder.index(count), one)
        first = b.select(self.is_backward, last, context.builder.index(0))
        step = b.select(self.is_backward, context.builder.index(-1), one)
        return b.add(first, b.mul(step, context.builder.index(number)))


def multiply_add(context: CodegenContext, dtype: DType, left: Any, right: Any, before: Any) -> Any:
    """Left * right + before, in one instruction if the processor has it."""
    if is_float(dtype):
        return fma(context.builder, left, right, before)
    return context.builder.builder.add(context.builder.builder.mul(left, right), before)


def splat(context: CodegenContext, value: Any, vector: Any) -> Any:
    """A vector with one element in all lanes."""
    b, nothing = context.builder.builder, llvm.Constant(vector, llvm.Undefined)
    first = b.insert_element(nothing, value, llvm.Constant(I32, 0))
    if vector.count == 1:
        return first
    mask = llvm.Constant(llvm.VectorType(I32, vector.count), None)
    return b.shuffle_vector(first, nothing, mask)
