"""Double buffers: carried arrays that cannot be updated in place swap two buffers.

    now, other = initial, room for as many
    in each iteration: the next value is written to `other`, from `now`; then the two change places
    after the last: copied where it belongs, if it is in the other one

For a value of which each element is made of others: stencils, shifts, transposes.
What is written at once is a function of its own, in which the two are known to be apart; in the
function that changes their places nothing is said of that.
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
"""Less is sooner copied than a function called."""


@dataclass(eq=False, slots=True)
class DoubleBuffer:
    """One such value: its two memories, and variables that say which is which.

    `read` and `target` are where this iteration finds the value and where it writes the next.
    """

    first: Buffer
    second: Buffer
    now: Any
    other: Any
    read: Buffer
    target: Buffer


def begin(context: CodegenContext, node: Node) -> None:
    """Another memory for each state of the loop that takes turns; the states have theirs."""
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
    """Whether the nest of a next value reads elements of the state elsewhere than it writes."""
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
    """Whether it is computed in the nest that reads it: nothing asks for it before that."""
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
    """Which is which in this iteration."""
    for state in op.states:
        made = context.carried.double_buffers.get(state)
        if made is not None:
            now, other = (
                context.builder.builder.load(each, typ=POINTER) for each in (made.now, made.other)
            )
            made.read = context.access.buffers[state] = replace(made.first, pointer=now)
            made.target = replace(made.second, pointer=other)


def take_next(context: CodegenContext, op: Loop) -> None:
    """The next values are the carried ones from here on."""
    for made in _of(context, op):
        context.builder.builder.store(made.target.pointer, made.now)
        context.builder.builder.store(made.read.pointer, made.other)


def end(context: CodegenContext, op: Loop) -> None:
    """The last values, where they belong."""
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
