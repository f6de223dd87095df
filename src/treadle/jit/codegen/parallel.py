"""Loop nests shared by several threads: each runs a part of the items along one axis.

    void part(data, t, threads):            a separate function
        each = ceil(count / threads)
        the nest, for items t * each ... min(count, (t + 1) * each)

    data = the kernel's values that the nest reads
    share(pool, part, data, cost, nest)     without a pool: part(data, 0, 1)

Only nests that cannot fail, do not allocate, and compute each item independently are parallel; the
code is the same for any number of threads, and so are the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.callback import SHARE, call_back
from treadle.jit.codegen.chunks import long_axis_in_chunks
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I64, POINTER, VOID, internal_function
from treadle.jit.codegen.parallel_call import ParallelCall
from treadle.jit.schedule.index_set_splitting import SplitPoints
from treadle.jit.schedule.parallelism import (
    CACHE_LINE_ELEMENTS,
    Parallelism,
)
from treadle.jit.schedule.steps.chunks import divided_axis
from treadle.jit.threads.words import NEST_WORDS
from treadle.jit.threads.words import SHARE as SHARE_FUNCTION

_NEST = llvm.ArrayType(I64, NEST_WORDS)
_COST_SCALE = 1024
"""Costs are integers in units of 1/1024 ns."""


@contextmanager
def parallel_nest(
    context: CodegenContext,
    count: Index,
    found: Parallelism,
    least: int = 1,
    size: Sequence[Index] = (),
) -> Iterator[tuple[Index, Index]]:
    """The (first, count) of the items for the current function: all, or one thread's part.

    A thread takes multiples of `least` items. The number of elements is the product of `size`, or
    the number of items.
    """
    is_shared = found.shares(count, least)
    if not (is_shared or context.functions.is_outlined) or is_in_parallel_part(context):
        yield 0, count
        return
    outer, name = context.builder, f"part.{len(context.functions.calls)}"
    function = internal_function(outer.module, name, VOID, [POINTER, I64, I64], "noinline")
    function.args[0].add_attribute("noalias")
    own = FunctionBuilder(outer.module, function, outer.target)
    context.builder = context.access.builder = own
    with context.access.scope():
        yield _part(own, function.args, count, least)
    own.builder.ret_void()
    context.builder = context.access.builder = outer
    data = handed(outer, own)
    if not is_shared:
        context.functions.calls.append(
            ParallelCall(function, None, _alone(context, function, data))
        )
        return
    context.counts.update({"shared": 1})
    cost_of_all = outer.index(outer.product((*(size or (count,)), _fine(found.nanoseconds))))
    total = outer.builder.udiv(cost_of_all, outer.index(_COST_SCALE))
    context.functions.calls.append(run_parts(context, function, data, total))


@contextmanager
def parallel_range(
    context: CodegenContext,
    count: Index,
    found: Parallelism,
    size: Sequence[Index] = (),
    turned: Callable[[CodegenContext, Index, Index], Index] | None = None,
) -> Iterator[Index]:
    """A parallel loop over items that are no elements, such as blocks of a product.

    The number of elements is the product of `size`, or the number of items. `turned` determines the
    order within a thread: it maps a number, given their count, to a number.
    """
    with (
        parallel_nest(context, count, found, 1, size) as (first, own),
        context.builder.range(own, hints=_hints(found.interleaved, 0)) as number,
    ):
        yield context.builder.add(first, number if turned is None else turned(context, number, own))


@contextmanager
def parallel_positions(context: CodegenContext, size: Index, found: Parallelism) -> Iterator[Index]:
    """A parallel loop over the row-major positions of all elements."""
    with (
        parallel_nest(context, size, found, CACHE_LINE_ELEMENTS) as (first, own),
        positions(context, own, found) as position,
    ):
        yield context.builder.add(first, position)


def positions(
    context: CodegenContext, size: Index, found: Parallelism
) -> AbstractContextManager[Index]:
    """A loop over positions in this thread."""
    return context.builder.range(size, hints=_hints(found.interleaved, found.lanes))


def indices(
    context: CodegenContext, shape: Sequence[Index], found: Parallelism
) -> AbstractContextManager[tuple[Index, ...]]:
    """A loop over every index of the shape in this thread."""
    hints = _hints(found.interleaved, found.lanes)
    return context.builder.nest(shape, hints or row_hints(found, shape[-1] if shape else 1))


@contextmanager
def parallel_indices(
    context: CodegenContext, shape: Sequence[Index], found: Parallelism
) -> Iterator[tuple[Index, ...]]:
    """A parallel loop over every index of the shape: of a whole nest, or of a chunk of it."""
    axis = divided_axis(shape) if found.is_shared else 0
    extent = shape[axis] if shape else 1
    with parallel_nest(context, extent, found, size=shape) as (first, count):
        own = [*shape[:axis], count, *shape[axis + 1 :]] if shape else []
        with indices(context, own, found) as index:
            moved = [context.builder.add(first, each) for each in index[axis : axis + 1]]
            yield (*index[:axis], *moved, *index[axis + 1 :])


_MASKED = ("unroll.disable", "vectorize.predicate.enable=1")
"""Loop hints to compute the elements after the last whole vector as a vector under a mask."""


def row_hints(loops: Parallelism, length: Index) -> Sequence[str]:
    """Loop hints for a row of this length: the rest of it under a mask, if that pays."""
    return _MASKED if isinstance(length, int) and loops.masks(length) else ()


def span_hints(loops: Parallelism, length: int, count: int) -> Sequence[str]:
    """Loop hints for elements of a row of this length: they may be one smaller vector."""
    is_vector = count < loops.parted and count.bit_count() == 1
    return ("unroll.disable",) if is_vector else row_hints(loops, length)


def _hints(interleaved: int, lanes: int) -> Sequence[str]:
    """Loop hints to compute several vectors side by side, and in vectors of a number of lanes."""
    hints = (f"interleave.count={interleaved}",) if interleaved > 1 else ()
    if lanes:
        hints = (*hints, f"vectorize.width={lanes}")
    return ("unroll.disable", *hints) if hints else ()


def split_nest(
    context: CodegenContext,
    found: SplitPoints,
    loops: Parallelism,
    write: Callable[[tuple[Index, ...]], None],
) -> None:
    """Run a function for every index of each piece, as in `parallel_indices`."""
    shape = [context.access.point(places[-1]) for places in found]
    axis = loops.chunk.axis if loops.chunk else loops.shared_axis or 0
    with (
        long_axis_in_chunks(context, shape, loops.chunk) as (_, start_of_chunk, extents),
        parallel_nest(context, extents[axis], loops, size=extents) as part,
    ):
        first_of_part, count = part
        first = context.builder.add(start_of_chunk, first_of_part)
        last = context.builder.add(first, count)

        def inner(index: tuple[Index, ...]) -> None:
            if len(index) == len(found):
                write(index)
                return
            places = found[len(index)]
            for bounds in pairwise(places):
                start, end = map(context.access.point, bounds)
                if len(index) == axis:
                    start = first if start == 0 else context.builder.most(first, start)
                    end = context.builder.least(last, end)
                length = context.builder.add(end, context.builder.multiply(-1, start))
                is_row = len(index) == len(found) - 1 and isinstance(length, int)
                for skipped, count in loops.spans(length) if is_row else ((0, length),):
                    hints = span_hints(loops, length, count) if is_row else ()
                    with (
                        context.builder.range(count, hints=hints) as number,
                        context.access.scope(),
                    ):
                        own = context.builder.add(number, context.builder.add(start, skipped))
                        if not isinstance(own, int):
                            context.access.bounds[own] = bounds
                        inner((*index, own))

        inner(())


def _fine(cost: float) -> int:
    return max(round(cost * _COST_SCALE), 1)


def _part(builder: FunctionBuilder, arguments: Any, count: Index, least: int) -> tuple[Any, Any]:
    """The first item of a part, and its number of items."""
    b, (_, number, parts) = builder.builder, arguments
    whole, unit = builder.index(count), builder.index(least)
    each = b.udiv(b.add(whole, b.sub(parts, builder.index(1))), parts)
    each = b.mul(b.udiv(b.add(each, b.sub(unit, builder.index(1))), unit), unit)
    first = b.mul(each, number)
    left = b.sub(whole, first)
    return first, b.select(b.icmp_signed("<", left, each), left, each)


def handed(outer: FunctionBuilder, own: FunctionBuilder) -> Any:
    """Memory with the kernel's values that the part reads, which loads them there.

    Called once the part is complete: it also closes the part's entry block.
    """
    found: dict[Any, Any] = {}
    for block in own.function.basic_blocks:
        for instruction in block.instructions:
            _replace(instruction, own, found)
    b, data = outer.builder, outer.variable(POINTER, count=max(len(found), 2))
    for number, value in enumerate(found):
        assert not isinstance(value.type, llvm.VectorType), "a vector is passed to a parallel part"
        address = b.gep(data, [outer.index(number)], source_etype=I64, inbounds=True)
        b.store(value, address)
    own.close_entry()
    return data


def _replace(instruction: Any, own: FunctionBuilder, found: dict[Any, Any]) -> None:
    """Replace uses of the kernel's values by those loaded in the part."""
    if isinstance(instruction, llvm.PhiInstr):
        instruction.incomings = [
            (_own(value, own, found), block) for value, block in instruction.incomings
        ]
        return
    instruction.operands = [_own(value, own, found) for value in instruction.operands]
    if isinstance(instruction, llvm.GEPInstr):
        instruction.pointer, *instruction.indices = instruction.operands


def _own(value: Any, own: FunctionBuilder, found: dict[Any, Any]) -> Any:
    """The value as loaded in the part."""
    if not isinstance(value, llvm.Instruction) or value.function is own.function:
        return value
    if value not in found:
        b, number = own.before, llvm.Constant(I64, len(found))
        address = b.gep(own.function.args[0], [number], source_etype=I64, inbounds=True)
        found[value] = b.load(address, typ=value.type)
    return found[value]


def run_parts(context: CodegenContext, function: Any, data: Any, nanoseconds: Any) -> ParallelCall:
    """Run all parts: in the pool, if there is one and they take long enough."""
    w, b = context.builder, context.builder.builder
    pool, null = context.access.slots.thread_pool(), llvm.Constant(POINTER, None)
    is_long = b.icmp_unsigned(">=", nanoseconds, w.index(context.kernel.parallel_threshold_ns))
    is_shared = b.and_(b.icmp_unsigned("!=", pool, null), is_long)
    if not context.surroundings.is_free:
        share = w.external(SHARE_FUNCTION, VOID, POINTER, POINTER, POINTER, I64, POINTER)
        nest = w.early(_NEST, llvm.Constant(_NEST, None))
    with b.if_else(is_shared) as (together, alone):
        with together:
            shares = (
                call_back(w, SHARE, pool, [function, data, nanoseconds])
                if context.surroundings.is_free
                else b.call(share, [pool, function, data, nanoseconds, nest])
            )
        with alone:
            writes = _alone(context, function, data)
    return ParallelCall(function, shares, writes)


def _alone(context: CodegenContext, function: Any, data: Any) -> Any:
    """The call that runs all parts in one thread."""
    return context.builder.builder.call(
        function, [data, context.builder.index(0), context.builder.index(1)]
    )
