"""The limit of bytes: loops count the size of their carried and stacked values.

    held = bytes of the enclosing loops + its carried values        before the first iteration
    held = ... + the elements of all iterations so far               after each

as in interp. If the maximum is known before a loop runs, the limit is checked there, before any
allocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from treadle.jit.codegen.context import OVER_BYTES, CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.heap_buffer import byte_size
from treadle.jit.codegen.iteration_limit import fail_over_limit
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.kernel.ir import Block, Loop, Node, op_of
from treadle.jit.kernel.memory_limit import SIZE, is_counted_late, is_stated_before
from treadle.jit.schedule.carried_storage import changing_axes

_SLACK_BYTES = 2**20
"""The excess in bytes from which a single value is rejected before its allocation."""


@dataclass(eq=False, slots=True)
class MemoryAccount:
    """The memory accounting of one loop while it is emitted.

    `around` are the bytes of the enclosing loops; `steady` adds the carried values of fixed size;
    `row` are the bytes of one iteration's stacked elements known before the loop, and `grown` is a
    variable for the others, summed over the iterations.
    """

    node: Node
    around: Any
    steady: Any
    row: Any
    grown: Any

    @property
    def op(self) -> Loop:
        """The loop."""
        return op_of(self.node, Loop)


def begin(context: CodegenContext, node: Node, limit: Index | None) -> MemoryAccount | None:
    """Count the initial values of a loop.

    Its maximum too, if it follows from `limit` iterations.
    """
    op, b = op_of(node, Loop), context.builder.builder
    if not (context.kernel.limits_memory and op.path):
        return None
    initials = node.operands[len(node.operands) - len(op.states) :]
    around = b.load(context.memory.held, typ=I64)
    kept = [k for k, state in enumerate(op.states) if not changing_axes(state, k)]
    steady = _sum(context, around, (_bytes(context, initials[k]) for k in kept))
    row = _sum(
        context,
        context.builder.index(0),
        (_bytes(context, each) for each in _elements(op, late=False)),
    )
    weight = MemoryAccount(
        node, around, steady, row, context.builder.variable(I64, context.builder.index(0))
    )
    others = (_bytes(context, initials[k]) for k in range(len(initials)) if k not in kept)
    total = _sum(context, steady, others)
    _expect(context, weight, total, [])
    b.store(total, context.memory.held)
    changed = [op.nexts[k] for k in range(len(initials)) if k not in kept]
    for value in (*changed, *_elements(op, late=True)):
        context.memory.checks[value] = partial(_foresee, context, weight, value)
    if limit is not None and is_stated_before(op):
        _expect_all(context, weight, context.builder.index(limit))
    return weight


def after(context: CodegenContext, weight: MemoryAccount | None, index: Any) -> None:
    """Count again after iteration `i`, if the maximum is not known in advance."""
    if weight is None or is_stated_before(weight.op):
        return
    op, b = weight.op, context.builder.builder
    late = (_bytes(context, each) for each in _elements(op, late=True))
    grown = _sum(context, b.load(weight.grown, typ=I64), late)
    b.store(grown, weight.grown)
    rows = b.mul(b.add(index, context.builder.index(1)), weight.row)
    moved = (
        _size(context, context.carried.growable[state].shape(context), state)
        for state in op.states
        if state in context.carried.growable
    )
    total = _sum(context, b.add(b.add(weight.steady, rows), grown), moved)
    _expect(context, weight, total, [index])
    b.store(total, context.memory.held)


def _foresee(
    context: CodegenContext, weight: MemoryAccount, value: Node, shape: Sequence[Index]
) -> None:
    """Reject a value that alone far exceeds the limit before it is allocated.

    The reported size includes the bytes held already. A value computed before the loop is reported
    without an iteration.
    """
    b, size = context.builder.builder, _size(context, shape, value)
    room = b.add(context.access.slots.room(), context.builder.index(_SLACK_BYTES))
    with context.builder.rarely(b.icmp_signed(">", b.lshr(size, context.builder.index(1)), room)):
        total = b.add(b.load(context.memory.held, typ=I64), size)
        _fail(
            context,
            weight,
            total,
            [context.access.counters.get(weight.op.body, context.builder.index(0))],
        )


def end(context: CodegenContext, weight: MemoryAccount | None) -> None:
    """Release the bytes of the loop."""
    if weight is not None:
        context.builder.builder.store(weight.around, context.memory.held)


def _elements(op: Loop, *, late: bool) -> list[Node]:
    """The bytes of an iteration's stacked elements whose size only the body knows."""
    elements = [stack.element for stack in op.stacks if stack.is_given]
    return [element for element in elements if is_counted_late(element, op) is late]


def _bytes(context: CodegenContext, node: Node) -> Any:
    return _size(context, context.access.shape(node), node)


def _size(context: CodegenContext, shape: Sequence[Index], node: Node) -> Any:
    return byte_size(context.builder, shape, node.dtype.numpy.itemsize)


def _sum(context: CodegenContext, first: Any, sizes: Iterator[Any]) -> Any:
    for size in sizes:
        first = context.builder.builder.add(first, size)
    return first


def _expect_all(context: CodegenContext, weight: MemoryAccount, limit: Any) -> None:
    """Check all iterations in advance; reports the first one that exceeds the limit."""
    b, w = context.builder.builder, context.builder
    left = b.sub(context.access.slots.room(), weight.steady)
    row = w.intrinsic("llvm.umax", I64, weight.row, w.index(1))
    fitting = b.udiv(left, row)
    is_over = b.and_(
        b.icmp_signed(">", limit, fitting), b.icmp_signed("!=", weight.row, w.index(0))
    )
    with w.rarely(is_over):
        size = b.add(weight.steady, b.mul(b.add(fitting, w.index(1)), weight.row))
        _fail(context, weight, size, [fitting])


def _expect(context: CodegenContext, weight: MemoryAccount, size: Any, own: list[Any]) -> None:
    with context.builder.rarely(
        context.builder.builder.icmp_signed(">", size, context.access.slots.room())
    ):
        _fail(context, weight, size, own)


def _fail(context: CodegenContext, weight: MemoryAccount, size: Any, own: list[Any]) -> None:
    iterations = [*_iterations(context, weight.node.home), *own]
    fail_over_limit(context, weight.node, iterations, OVER_BYTES, {SIZE: size})


def _iterations(context: CodegenContext, block: Block) -> list[Any]:
    """The iteration numbers of the enclosing loops, outermost first."""
    bodies = [each for each in block.outward() if each.is_loop]
    return [context.access.counters[each] for each in reversed(bodies)]
