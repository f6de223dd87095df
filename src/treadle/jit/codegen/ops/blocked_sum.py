"""Long sums of floats in blocks: no less accurate than numpy's pairwise sums.

    total, lost = 0, 0
    for first in range(0, last, BLOCK):
        part = sum(elements[first : first + BLOCK])     # vectorized, in any order
        y = part - lost                                 # Kahan's compensated sum of the blocks
        t = total + y
        lost, total = (t - total) - y, t

A block is short enough for the lanes of its vectors to keep their precision, and long enough to
make the work per block negligible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir as llvm

from treadle.ir import DType
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import register_type
from treadle.jit.codegen.safepoint import poll_after
from treadle.jit.schedule.steps.forms import SUM_BLOCK


@contextmanager
def _blocks(context: CodegenContext, last: Index) -> Iterator[tuple[Index, Index]]:
    """The start and the length of each block."""
    builder = context.builder
    with builder.range(last, step=SUM_BLOCK, hints=("unroll.disable",)) as first:
        b = builder.builder
        left = b.sub(builder.index(last), builder.index(first))
        block = builder.index(SUM_BLOCK)
        yield first, b.select(b.icmp_unsigned("<", left, block), left, block)


def summed_in_blocks(
    context: CodegenContext,
    dtype: DType,
    over: Sequence[Index],
    sum_of: Callable[[Sequence[Index], Index, Index], Any],
    *,
    polls: bool,
) -> Any:
    """The sum over the extents; `sum_of(outer indices, first, count)` sums one block.

    `polls`: it has a safepoint before each block.
    """
    builder, type_ = context.builder, register_type(dtype)
    zero = llvm.Constant(type_, 0.0)
    total, lost = builder.variable(type_, zero), builder.variable(type_, zero)
    *outer, last = over
    with builder.nest(outer) as around, _blocks(context, last) as (first, count):
        if polls and not is_in_parallel_part(context):
            poll_after(context, SUM_BLOCK)
        part = sum_of(around, first, count)
        b = builder.builder
        before = b.load(total, typ=type_)
        corrected = b.fsub(part, b.load(lost, typ=type_))
        after = b.fadd(before, corrected)
        error = b.fsub(b.fsub(after, before), corrected)
        # infinities have no error: the NaN of inf - inf must not reach the next block
        b.store(b.select(b.fcmp_ordered("ord", error, error), error, zero), lost)
        b.store(after, total)
    return builder.builder.load(total, typ=type_)
