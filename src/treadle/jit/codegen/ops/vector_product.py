"""What every way to emit a matrix product shares: its operands, and steps of it in vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.scalar.exp_log import fma
from treadle.jit.kernel.element_types import is_float


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """result[row, column] = sum of left(row, k) * right[k, column] over `inner`.

    `left` reads an element, `right` and `result` return the address of a row from a column on;
    `scopes` are their alias scopes. `panel`: the columns of the panels in which the right operand
    is packed; if 0, the elements of a whole row are neighbours. If `is_backward` holds at run
    time, the order is reversed. `has_many_rows`: their number is not known, and more than those
    of a tile in most runs.
    """

    dtype: DType
    rows: Index
    inner: Index
    columns: int
    left: Callable[[Index, Index], Any]
    right: Callable[[Index, Index], Any]
    result: Callable[[Index, Index], Any]
    scopes: tuple[str, str]
    panel: int
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
