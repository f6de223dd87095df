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

from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.pace import COPIED
from treadle.jit.emit.place import Place
from treadle.jit.emit.tensors import Buffer, Flat
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
    read: Any = None
    target: Buffer | None = None

    def next(self) -> Buffer:
        """The memory of the next value, in this iteration."""
        assert self.target is not None, "no iteration has begun"
        return self.target


def begin(e: Emitter, node: Node) -> None:
    """Another memory for each state of the loop that takes turns; the states have theirs."""
    op = node.op
    assert isinstance(op, Loop)
    for number, (state, after) in enumerate(zip(op.states, op.nexts, strict=True)):
        if not _takes_turns(e, op, state, after):
            continue
        first, second = e.parts[node, number], e.t.allocate(state)
        now, other = (e.w.variable(POINTER, each.pointer) for each in (first, second))
        e.swaps[state] = e.swaps[after] = Swap(first, second, now, other)


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
    nest = (n for n in op.nexts if n.shape == after.shape and e.t.place(n) is Place.NEST)
    return any(_is_read_elsewhere(e, each, state) for each in nest)


def _is_read_elsewhere(e: Emitter, after: Node, state: Node) -> bool:
    """Whether the nest of a next value reads elements of the state elsewhere than it writes."""
    waiting, seen = [(after, True)], set[tuple[Node, bool]]()
    while waiting:
        node, is_own = waiting.pop()
        for operand in node.operands:
            is_same = is_own and isinstance(node.op, Map) and operand.shape == node.shape
            if operand is state and not is_same:
                return True
            place = e.t.place(operand)
            is_inside = place is Place.INLINE or (is_same and place is Place.NEST)
            if (operand, is_same) in seen or operand.home is not state.home or not is_inside:
                continue
            seen.add((operand, is_same))
            waiting.append((operand, is_same))
    return False


def tell(e: Emitter, op: Loop, block: Any) -> None:
    """Say in which block of LLVM the iterations begin: its function knows both by one name."""
    for made in _of(e, op):
        e.t.aliases.alike(block, made.first.scope, made.second.scope)


def load(e: Emitter, op: Loop) -> None:
    """Which is which in this iteration."""
    for state in op.states:
        made = e.swaps.get(state)
        if made is not None:
            made.read = e.w.builder.load(made.now, typ=POINTER)
            e.t.buffers[state] = replace(made.first, pointer=made.read)
            pointer = e.w.builder.load(made.other, typ=POINTER)
            made.target = replace(made.second, pointer=pointer)


def take_next(e: Emitter, op: Loop) -> None:
    """The next values are the carried ones from here on."""
    for made in _of(e, op):
        e.w.builder.store(made.next().pointer, made.now)
        e.w.builder.store(made.read, made.other)


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
