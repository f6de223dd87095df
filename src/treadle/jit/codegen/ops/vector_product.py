"""What every way to emit a matrix product shares: its operands, and steps of it in vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I8, every, memory_type
from treadle.jit.codegen.scalar.exp_log import fma
from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import MatMul, Node
from treadle.jit.schedule.layouts.product_tiles import NO_VECTOR_ROWS
from treadle.jit.schedule.steps.products import Panels


@dataclass(frozen=True, eq=False, slots=True)
class Product:
    """result[row, column] = sum of left(row)(k) * right[k, column] over `inner`.

    `left` returns a reader of a row's elements, `right` and `result` return the address of a row
    from a column on; `scopes` are their alias scopes. `panel`: the columns of the panels in which
    the right operand is packed; if 0, the elements of a whole row are neighbours; `found`: what
    threads share. If `is_backward`
    holds at run time, the order is reversed. `has_many_rows`: their number is not known, and more
    than those of a tile in most runs.
    """

    op: MatMul
    dtype: DType
    rows: Index
    inner: Index
    columns: int
    left: Callable[[Index], Callable[[Index], Any]]
    right: Callable[[Index, Index], Any]
    result: Callable[[Index, Index], Any]
    scopes: tuple[str, str]
    panel: int
    found: Panels
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


def row_reader(
    context: CodegenContext, node: Node, index: Sequence[Index]
) -> Callable[[Index], Any]:
    """Reads the elements of a row of a node; where the row is in memory is computed only once."""
    access, w = context.access, context.builder
    if node.dtype in NO_VECTOR_ROWS or not access.is_located(node):
        return lambda k: access.read(node, (*index, k))
    start, type_ = access.located(node, (*index, 0)), memory_type(node.dtype)
    scope = access.scope_of(node)

    def element(position: Index) -> Any:
        address = w.builder.gep(start, [w.index(position)], inbounds=True, source_etype=type_)
        value = w.builder.load(address, typ=type_)
        access.aliases.mark(value, scope)
        return value

    return element


def multiply_add(
    context: CodegenContext, op: MatMul, dtype: DType, left: Any, right: Any, before: Any
) -> Any:
    """Left * right + before, in one instruction if the processor has it."""
    if is_float(dtype):
        return fma(context.builder, left, right, before)
    if op.of_bytes:
        return _byte_products(context.builder, left, right, before)
    return context.builder.builder.add(context.builder.builder.mul(left, right), before)


def _byte_products(builder: FunctionBuilder, left: Any, right: Any, before: Any) -> Any:
    """The products of four bytes each, added to a number of 32 bits."""
    b, type_ = builder.builder, before.type
    count = type_.count if isinstance(type_, llvm.VectorType) else 1
    if builder.target.has_byte_products and count in (4, 8, 16):
        bytes_ = llvm.VectorType(I8, 4 * count)
        name = f"llvm.x86.avx512.vpdpbusd.{32 * count}"
        function = builder.external(name, type_, type_, bytes_, bytes_)
        given = [b.bitcast(each, bytes_) for each in (left, right)]
        return b.call(function, [before, *given])
    for shift in (24, 16, 8, 0):
        unsigned = b.and_(b.lshr(left, every(type_, 24 - shift)), every(type_, 255))
        signed = b.ashr(b.shl(right, every(type_, shift)), every(type_, 24))
        before = b.add(before, b.mul(unsigned, signed))
    return before


def added(
    context: CodegenContext, dtype: DType, left: Any, right: Any, flags: Sequence[str] = ()
) -> Any:
    """Left + right; `flags` are those of LLVM's addition of floats."""
    b = context.builder.builder
    return b.fadd(left, right, flags=flags) if is_float(dtype) else b.add(left, right)
