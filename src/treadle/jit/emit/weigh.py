"""What loops hold is weighed where the run bounds it: the bytes of carried and stacked values.

    held = what the loops around it hold + its carried values        before the first iteration
    held = ... + the elements of all iterations so far               after each

as interp counts. Where the most it will hold is known before a loop runs, it is refused there: no
memory is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from treadle.jit.emit.bound import over
from treadle.jit.emit.emitter import OVER_BYTES, Emitter
from treadle.jit.emit.moving import changing
from treadle.jit.emit.scratch import byte_size
from treadle.jit.emit.types import I64
from treadle.jit.emit.writer import Index
from treadle.jit.kernel_ir import Block, Loop, Node
from treadle.jit.weight import SIZE, is_late, is_told

_NEAR = 2**20


@dataclass(eq=False, slots=True)
class Weight:
    """What one loop holds, while it is written.

    `around` is what the loops around it hold; `steady` is that and the carried values that keep
    their size; `row` are the elements of an iteration as far as their size is known before the
    loop, and `grown` is a variable for the others, all iterations together.
    """

    node: Node
    around: Any
    steady: Any
    row: Any
    grown: Any

    @property
    def op(self) -> Loop:
        """The loop."""
        assert isinstance(self.node.op, Loop)
        return self.node.op


def begin(e: Emitter, node: Node, limit: Index | None) -> Weight | None:
    """Weigh what a loop begins with; all it will hold where that can be told of `limit` times."""
    op, b = node.op, e.w.builder
    assert isinstance(op, Loop)
    if not (e.kernel.weighs and op.path):
        return None
    initials = node.operands[len(node.operands) - len(op.states) :]
    around = b.load(e.held, typ=I64)
    kept = [k for k, state in enumerate(op.states) if not changing(state, k)]
    steady = _sum(e, around, (_bytes(e, initials[k]) for k in kept))
    row = _sum(e, e.w.index(0), (_bytes(e, each) for each in _elements(op, late=False)))
    weight = Weight(node, around, steady, row, e.w.variable(I64, e.w.index(0)))
    others = (_bytes(e, initials[k]) for k in range(len(initials)) if k not in kept)
    total = _sum(e, steady, others)
    _expect(e, weight, total, [])
    b.store(total, e.held)
    changed = [op.nexts[k] for k in range(len(initials)) if k not in kept]
    for value in (*changed, *_elements(op, late=True)):
        e.weighed[value] = partial(_foresee, e, weight, value)
    if limit is not None and is_told(op):
        _expect_all(e, weight, e.w.index(limit))
    return weight


def after(e: Emitter, weight: Weight | None, i: Any) -> None:
    """Weigh again after iteration `i`, where that was not told beforehand."""
    if weight is None or is_told(weight.op):
        return
    op, b = weight.op, e.w.builder
    late = (_bytes(e, each) for each in _elements(op, late=True))
    grown = _sum(e, b.load(weight.grown, typ=I64), late)
    b.store(grown, weight.grown)
    rows = b.mul(b.add(i, e.w.index(1)), weight.row)
    moved = (_size(e, e.moving[state].shape(e), state) for state in op.states if state in e.moving)
    total = _sum(e, b.add(b.add(weight.steady, rows), grown), moved)
    _expect(e, weight, total, [i])
    b.store(total, e.held)


def _foresee(e: Emitter, weight: Weight, value: Node, shape: Sequence[Index]) -> None:
    """A value that alone is far over the room is refused before there is memory for it.

    It is told beside what is held already; other values are told when all are weighed. One that
    left the loop comes before its first iteration.
    """
    b, size = e.w.builder, _size(e, shape, value)
    room = b.add(e.t.slots.room(), e.w.index(_NEAR))
    with e.w.rarely(b.icmp_signed(">", b.lshr(size, e.w.index(1)), room)):
        total = b.add(b.load(e.held, typ=I64), size)
        _fail(e, weight, total, [e.t.counters.get(weight.op.body, e.w.index(0))])


def end(e: Emitter, weight: Weight | None) -> None:
    """The loop holds nothing any more."""
    if weight is not None:
        e.w.builder.store(weight.around, e.held)


def _elements(op: Loop, *, late: bool) -> list[Node]:
    """What is stacked of an iteration, of a size that only the body knows, or of another."""
    elements = [stack.element for stack in op.stacks if stack.is_given]
    return [element for element in elements if is_late(element, op) is late]


def _bytes(e: Emitter, node: Node) -> Any:
    return _size(e, e.t.shape(node), node)


def _size(e: Emitter, shape: Sequence[Index], node: Node) -> Any:
    return byte_size(e.w, shape, node.dtype.numpy.itemsize)


def _sum(e: Emitter, first: Any, sizes: Iterator[Any]) -> Any:
    for size in sizes:
        first = e.w.builder.add(first, size)
    return first


def _expect_all(e: Emitter, weight: Weight, limit: Any) -> None:
    """All iterations fit; else the first one that does not is told."""
    b, w = e.w.builder, e.w
    left = b.sub(e.t.slots.room(), weight.steady)
    row = w.intrinsic("llvm.umax", I64, weight.row, w.index(1))
    fitting = b.udiv(left, row)
    is_over = b.and_(
        b.icmp_signed(">", limit, fitting), b.icmp_signed("!=", weight.row, w.index(0))
    )
    with w.rarely(is_over):
        size = b.add(weight.steady, b.mul(b.add(fitting, w.index(1)), weight.row))
        _fail(e, weight, size, [fitting])


def _expect(e: Emitter, weight: Weight, size: Any, own: list[Any]) -> None:
    with e.w.rarely(e.w.builder.icmp_signed(">", size, e.t.slots.room())):
        _fail(e, weight, size, own)


def _fail(e: Emitter, weight: Weight, size: Any, own: list[Any]) -> None:
    iterations = [*_iterations(e, weight.node.home), *own]
    over(e, weight.node, iterations, OVER_BYTES, {SIZE: size})


def _iterations(e: Emitter, block: Block | None) -> list[Any]:
    """The iteration numbers of the loops around, outermost first."""
    found = []
    while block is not None:
        if block.is_loop:
            found.append(e.t.counters[block])
        block = block.parent
    return found[::-1]
