"""The limit of iterations: a loop counts down and reports where the limit was exceeded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.context import OVER_LIMIT, CodegenContext
from treadle.jit.codegen.failure import is_in_parallel_part, leave
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.kernel.ir import Loop, Node, op_of
from treadle.jit.kernel.memory_limit import DEPTH, FIRST, LOOP, loops


def consume_iterations(
    context: CodegenContext, loop: Node, count: Index, index: Any = None
) -> None:
    """Subtract iterations of a loop from the number left to the run.

    `i` is the current iteration; without it all iterations are subtracted in advance.
    """
    op, b = op_of(loop, Loop), context.builder.builder
    if not (context.kernel.limits_iterations and op.path):
        return
    address = context.access.slots.left()
    before = b.load(address, typ=I64)
    left = b.sub(before, context.builder.index(count))
    b.store(left, address)
    with context.builder.rarely(b.icmp_signed("<", left, llvm.Constant(I64, 0))):
        is_last = _is_alone(loop, op) if index is None else not _is_in_loop(loop)
        own = [before if index is None else index] if is_last else []
        fail_over_limit(context, loop, own, OVER_LIMIT)


def fail_over_limit(
    context: CodegenContext,
    loop: Node,
    iterations: Sequence[Any],
    status: int,
    more: Mapping[int, Any] = {},
) -> None:
    """End the kernel; its slots report the loop and the iterations, none if they are not known."""
    assert not is_in_parallel_part(context), "a loop in a parallel nest cannot fail"
    op = op_of(loop, Loop)
    number = loops(context.kernel.main).index(op)
    told = {LOOP: number, DEPTH: len(iterations), **more}
    told |= dict(enumerate(iterations, start=FIRST))
    for slot, value in told.items():
        context.builder.builder.store(
            context.builder.index(value), context.access.slots.out("over", slot)
        )
    leave(context, status)


def _is_alone(loop: Node, op: Loop) -> bool:
    """Whether no other loop of the program encloses it or is inside it."""
    return not _is_in_loop(loop) and not any(inner.path for inner in loops(op.body))


def _is_in_loop(loop: Node) -> bool:
    return any(block.is_loop for block in loop.home.outward())
