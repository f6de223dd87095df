"""Strip mining: a loop whose iterations are short has its safepoint once in a strip of them.

    while safepoint, i < limit:
        end = min(i + strip, limit)
        do:
            body
        while ++i != end

A safepoint in every iteration is a branch to a call of Python: LLVM would not vectorize the loop,
and short iterations in order would take longer.
Numbers from before the loop are handed to each strip through a barrier: vectors of them, made once
before the loop, would be saved in memory because of that call, and read from there in every
iteration. Arrays that are in memory too are read there: a vector of one element is one instruction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import NOT_VECTORIZED
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.safepoint import count_down, poll_when_due
from treadle.jit.kernel.ir import Loop, Node, op_of, static_shape
from treadle.jit.schedule.loops.strategies import Strategy, strip_of
from treadle.jit.schedule.loops.vectorization import Vectorization


def poll_before_strip(context: CodegenContext, node: Node) -> None:
    """Poll when due, if a loop is in strips, before it asks whether iterations are left."""
    if strip_of(context.schedule.loops[node].strategy):
        poll_when_due(context)


@contextmanager
def strip_mined(
    context: CodegenContext, node: Node, counter: Any, stop: Any, again: Any
) -> Iterator[tuple[Any, Any]]:
    """(index, block) of an iteration, and where it goes on to: `again`, or the rest of a strip.

    Emitted where `counter` is below `stop`; what is enclosed ends with a branch to the block.
    """
    w, b = context.builder, context.builder.builder
    first = b.load(counter, typ=I64)
    strategy = context.schedule.loops[node].strategy
    strip = strip_of(strategy)
    if not strip:
        yield first, again
        return
    end = b.add(first, w.index(strip), flags=("nsw", "nuw"))
    end = w.least(end, stop)
    handed = _handed(context, op_of(node, Loop))
    body, is_left, done = w.blocks("iteration", "is_left", "strip_done")
    w.enter(body)
    index = b.load(counter, typ=I64)
    outer, context.safepoint = context.safepoint, replace(context.safepoint, is_elsewhere=True)
    registers = context.access.registers
    context.access.registers = {**registers, **handed}
    yield index, is_left
    b.position_at_end(is_left)
    branch = b.cbranch(b.icmp_signed("!=", b.load(counter, typ=I64), end), body, done)
    w.hint(branch, _hints(strategy))
    context.safepoint, context.access.registers = outer, registers
    b.position_at_end(done)
    b.store(end, counter)
    if not context.safepoint.is_elsewhere:
        ran = b.sub(end, first, flags=("nsw",))
        count_down(context, w.multiply(ran, context.schedule.iterations[node].group))
    b.branch(again)
    context.counts["vectorized"] += isinstance(strategy, Vectorization)


def _hints(strategy: Strategy) -> Sequence[str]:
    """The hints for LLVM, which may unroll a loop with updates that it cannot vectorize."""
    if not isinstance(strategy, Vectorization) or strategy.of_elements:
        return NOT_VECTORIZED
    return () if strategy.updates else ("unroll.disable",)


def _handed(context: CodegenContext, op: Loop) -> dict[Node, list[Any]]:
    """The numbers from outside that the body reads, each behind a barrier.

    Equal ones have one barrier: LLVM then knows that addresses computed from them are equal.
    """
    registers, made, w = context.access.registers, dict[int, Any](), context.builder

    def behind_barrier(value: Any) -> Any:
        if id(value) not in made:
            made[id(value)] = w.barrier(value)
        return made[id(value)]

    def from_memory(node: Node) -> list[Any]:
        buffer = context.access.buffers[node]
        behind = replace(buffer, pointer=w.barrier(buffer.pointer))
        shape = static_shape(node)
        indices = (context.access.unflat(place, shape) for place in range(node.size))
        return [context.access.load(behind, index) for index in indices]

    outside = dict.fromkeys(
        operand
        for node in op.body.nodes
        for operand in node.operands
        if operand.home is not op.body and operand in registers
    )
    return {
        node: from_memory(node)
        if node.size > 1 and node in context.access.buffers
        else [behind_barrier(value) for value in registers[node]]
        for node in outside
    }
