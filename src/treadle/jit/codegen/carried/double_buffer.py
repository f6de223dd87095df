"""Double buffers: carried arrays that cannot be updated in place swap two buffers.

    now, other = initial, another buffer
    in each iteration: the next value is computed from `now` into `other`; then both are swapped
    after the last: copied to its destination, if it is in the other one

Used for values whose elements are computed from other elements: stencils, shifts, transposes. A
nest that writes one buffer is a separate function, in which both buffers are known not to alias;
the function that swaps them has no such metadata.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from treadle.jit.codegen.buffer import Buffer, Flat
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.iteration_space import each_position
from treadle.jit.codegen.llvm_types import POINTER
from treadle.jit.kernel.ir import Concat, Elementwise, Loop, Node
from treadle.jit.schedule.cost_model import COPIED
from treadle.jit.schedule.storage import Storage

_FEWEST_BYTES = 4096
"""The least size in bytes: smaller values are copied faster than a function is called."""


@dataclass(eq=False, slots=True)
class DoubleBuffer:
    """One such value: its two buffers, and variables that tell which is which.

    `read` and `target` are the addresses of the current value and of the next one.
    """

    first: Buffer
    second: Buffer
    now: Any
    other: Any
    read: Buffer
    target: Buffer


def begin(context: CodegenContext, node: Node) -> None:
    """Allocate the second buffer for each state of the loop that needs one."""
    op = node.op
    assert isinstance(op, Loop)
    for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
        if not _takes_turns(context, op, state, after):
            continue
        first, second = context.results.values[node, number], context.access.allocate(state)
        now, other = (context.builder.variable(POINTER, each.pointer) for each in (first, second))
        context.carried.double_buffers[state] = context.carried.double_buffers[after] = (
            DoubleBuffer(first, second, now, other, first, second)
        )
        context.carried.swapped_scopes.add(second.scope)
        context.access.aliases.alike(context.builder.builder.block, first.scope, second.scope)


def _takes_turns(context: CodegenContext, op: Loop, state: Node, after: Node) -> bool:
    if not state.is_static or state.size * state.dtype.numpy.itemsize < _FEWEST_BYTES:
        return False
    if (
        context.tile is not None
        or state in context.carried.delay_lines
        or state in context.carried.growable
    ):
        return False
    if after.home is not op.body or op.nexts.count(after) > 1:
        return False
    if isinstance(after.op, Concat):
        return context.access.storage_of(after) is Storage.BUFFER
    if context.access.storage_of(after) is not Storage.NEST:
        return False
    nexts = (
        n
        for n in op.nexts
        if n.shape == after.shape and context.access.storage_of(n) is Storage.NEST
    )
    return any(_is_read_elsewhere(context, each, state) for each in nexts)


def _is_read_elsewhere(context: CodegenContext, after: Node, state: Node) -> bool:
    """Whether the nest of a next value reads elements of the state at other indices."""
    waiting, seen = [(after, True)], set[tuple[Node, bool]]()
    while waiting:
        node, is_own = waiting.pop()
        for operand in node.operands:
            is_same = is_own and isinstance(node.op, Elementwise) and operand.shape == node.shape
            if operand is state and not is_same:
                return True
            if (operand, is_same) not in seen and _is_in_nest(context, operand, state, is_same):
                seen.add((operand, is_same))
                waiting.append((operand, is_same))
    return False


def _is_in_nest(context: CodegenContext, node: Node, state: Node, is_same: bool) -> bool:
    """Whether the value is computed in the nest that reads it, with no earlier use."""
    if node.home is not state.home:
        return False
    place = context.access.storage_of(node)
    if place is not Storage.NEST or not is_same:
        return place is Storage.INLINE
    readers = context.access.places.readers.get(node, ())
    return all(
        r.home is not node.home or (isinstance(r.op, Elementwise) and r.shape == node.shape)
        for r in readers
    )


def load(context: CodegenContext, op: Loop) -> None:
    """Load the addresses of both buffers for this iteration."""
    for state in op.states:
        made = context.carried.double_buffers.get(state)
        if made is not None:
            now, other = (
                context.builder.builder.load(each, typ=POINTER) for each in (made.now, made.other)
            )
            made.read = context.access.buffers[state] = replace(made.first, pointer=now)
            made.target = replace(made.second, pointer=other)


def take_next(context: CodegenContext, op: Loop) -> None:
    """Make the next values the carried ones."""
    for made in _of(context, op):
        context.builder.builder.store(made.target.pointer, made.now)
        context.builder.builder.store(made.read.pointer, made.other)


def end(context: CodegenContext, op: Loop) -> None:
    """Move the final values to their destinations."""
    for state in op.states:
        made = context.carried.double_buffers.get(state)
        if made is None:
            continue
        context.access.buffers[state] = made.first
        is_away = context.builder.builder.icmp_unsigned(
            "!=", context.builder.builder.load(made.now, typ=POINTER), made.first.pointer
        )
        with (
            context.builder.builder.if_then(is_away),
            each_position(context, context.access.size(state), COPIED) as position,
        ):
            context.access.store(
                made.first, Flat(position), context.access.load(made.second, Flat(position))
            )


def _of(context: CodegenContext, op: Loop) -> list[DoubleBuffer]:
    return [
        context.carried.double_buffers[state]
        for state in op.states
        if state in context.carried.double_buffers
    ]
