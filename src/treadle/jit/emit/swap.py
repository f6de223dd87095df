"""Carried values with two memories that take turns, where no element can be written in place.

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

from treadle.jit.emit.buffer import Buffer, Flat
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.pace import COPIED
from treadle.jit.emit.place import Place
from treadle.jit.emit.types import POINTER
from treadle.jit.kernel_ir import Join, Loop, Map, Node

_FEWEST_BYTES = 4096
"""Less is sooner copied than a function called."""


@dataclass(eq=False, slots=True)
class Swap:
    """One such value: its two memories, and variables that say which is which.

    `read` and `target` are where this iteration finds the value and where it writes the next.
    """

    first: Buffer
    second: Buffer
    now: Any
    other: Any
    read: Buffer
    target: Buffer


def begin(e: Emitter, node: Node) -> None:
    """Another memory for each state of the loop that takes turns; the states have theirs."""
    op = node.op
    assert isinstance(op, Loop)
    for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
        if not _takes_turns(e, op, state, after):
            continue
        first, second = e.parts[node, number], e.t.allocate(state)
        now, other = (e.w.variable(POINTER, each.pointer) for each in (first, second))
        e.swaps[state] = e.swaps[after] = Swap(first, second, now, other, first, second)
        e.turning.add(second.scope)
        e.t.aliases.alike(e.w.builder.block, first.scope, second.scope)


def _takes_turns(e: Emitter, op: Loop, state: Node, after: Node) -> bool:
    if not state.is_static or state.size * state.dtype.numpy.itemsize < _FEWEST_BYTES:
        return False
    if e.window is not None or state in e.delays or state in e.moving:
        return False
    if after.home is not op.body or op.nexts.count(after) > 1:
        return False
    if isinstance(after.op, Join):
        return e.t.place(after) is Place.BUFFER
    if e.t.place(after) is not Place.NEST:
        return False
    nexts = (n for n in op.nexts if n.shape == after.shape and e.t.place(n) is Place.NEST)
    return any(_is_read_elsewhere(e, each, state) for each in nexts)


def _is_read_elsewhere(e: Emitter, after: Node, state: Node) -> bool:
    """Whether the nest of a next value reads elements of the state elsewhere than it writes."""
    waiting, seen = [(after, True)], set[tuple[Node, bool]]()
    while waiting:
        node, is_own = waiting.pop()
        for operand in node.operands:
            is_same = is_own and isinstance(node.op, Map) and operand.shape == node.shape
            if operand is state and not is_same:
                return True
            if (operand, is_same) not in seen and _is_in_nest(e, operand, state, is_same):
                seen.add((operand, is_same))
                waiting.append((operand, is_same))
    return False


def _is_in_nest(e: Emitter, node: Node, state: Node, is_same: bool) -> bool:
    """Whether it is computed in the nest that reads it: nothing asks for it before that."""
    if node.home is not state.home:
        return False
    place = e.t.place(node)
    if place is not Place.NEST or not is_same:
        return place is Place.INLINE
    readers = e.t.places.readers.get(node, ())
    return all(
        r.home is not node.home or (isinstance(r.op, Map) and r.shape == node.shape)
        for r in readers
    )


def load(e: Emitter, op: Loop) -> None:
    """Which is which in this iteration."""
    for state in op.states:
        made = e.swaps.get(state)
        if made is not None:
            now, other = (e.w.builder.load(each, typ=POINTER) for each in (made.now, made.other))
            made.read = e.t.buffers[state] = replace(made.first, pointer=now)
            made.target = replace(made.second, pointer=other)


def take_next(e: Emitter, op: Loop) -> None:
    """The next values are the carried ones from here on."""
    for made in _of(e, op):
        e.w.builder.store(made.target.pointer, made.now)
        e.w.builder.store(made.read.pointer, made.other)


def end(e: Emitter, op: Loop) -> None:
    """The last values, where they belong."""
    for state in op.states:
        made = e.swaps.get(state)
        if made is None:
            continue
        e.t.buffers[state] = made.first
        is_away = e.w.builder.icmp_unsigned(
            "!=", e.w.builder.load(made.now, typ=POINTER), made.first.pointer
        )
        with e.w.builder.if_then(is_away), e.positions(e.t.size(state), COPIED) as position:
            e.t.store(made.first, Flat(position), e.t.load(made.second, Flat(position)))


def _of(e: Emitter, op: Loop) -> list[Swap]:
    return [e.swaps[state] for state in op.states if state in e.swaps]
