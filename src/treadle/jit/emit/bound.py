"""The bounds of a run: iterations are counted down; a loop that goes over a bound says where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.emitter import OVER_LIMIT, Emitter
from treadle.jit.emit.shared import is_inside
from treadle.jit.emit.types import I64
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Loop, Node
from treadle.jit.weight import DEPTH, FIRST, LOOP, loops


def spend(e: Emitter, loop: Node, count: Index, i: Any = None) -> None:
    """Take so many iterations of a loop of the program from those that are left to the run.

    `i` is the iteration that begins; without it all of them are taken beforehand.
    """
    op, b = loop.op, e.w.builder
    assert isinstance(op, Loop)
    if not (e.kernel.counts and op.path):
        return
    place = e.t.slots.left()
    before = b.load(place, typ=I64)
    left = b.sub(before, e.w.index(count))
    b.store(left, place)
    with e.w.rarely(b.icmp_signed("<", left, llvm.Constant(I64, 0))):
        is_last = _is_alone(loop, op) if i is None else not _is_in_loop(loop)
        own = [before if i is None else i] if is_last else []
        over(e, loop, own, OVER_LIMIT)


def over(
    e: Emitter, loop: Node, iterations: Sequence[Any], status: int, more: Mapping[int, Any] = {}
) -> None:
    """End the kernel; its slots tell the loop and the iterations, none where nobody knows them."""
    assert not is_inside(e), "what several threads write can fail"
    op = loop.op
    assert isinstance(op, Loop)
    number = loops(e.kernel.main).index(op)
    told = {LOOP: number, DEPTH: len(iterations), **more}
    told |= dict(enumerate(iterations, start=FIRST))
    for place, value in told.items():
        e.w.builder.store(e.w.index(value), e.t.slots.out("over", place))
    e.w.builder.store(llvm.Constant(I64, status), e.status)
    e.w.builder.branch(e.leave)


def _is_alone(loop: Node, op: Loop) -> bool:
    """Whether no other loop of the program is around it or inside it."""
    return not _is_in_loop(loop) and not any(inner.path for inner in loops(op.body))


def _is_in_loop(loop: Node) -> bool:
    block = loop.home
    while block.parent is not None and not block.is_loop:
        block = block.parent
    return block.is_loop
