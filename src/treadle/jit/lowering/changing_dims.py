"""Finds the axes of carried values whose extent may change between iterations."""

from __future__ import annotations

from collections.abc import Sequence

from treadle import ir
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Node
from treadle.jit.kernel.views import same

ChangingAxes = frozenset[tuple[int, int]]
"""Numbers of carried values, each with an axis."""


def lost_axes(step: ir.Loop, operands: Sequence[Node | None]) -> ChangingAxes:
    """The axes of carried values of which inference says that their extents change.

    It knew the extent initially and not in the loop, or it found an extent that depends on the
    iteration; or a list has more or fewer items after an iteration.
    """
    given = dict(zip(step.operands, operands, strict=True))
    found = set[tuple[int, int]]()
    for number, port in enumerate(ir.ports(step).carried):
        node = given.get(port.initial)
        before, after, last = map(_inferred, (port.initial, port.param, port.next))
        if node is None:
            continue
        if isinstance(port.param.type, ir.Sequence) and node.shape and _added(step.body, port):
            found.add((number, 0))
        if before is None or after is None or last is None:
            continue
        if len(before) == len(after) == len(last):
            dims = enumerate(zip(before, after, last, strict=True))
            found |= {(number, axis) for axis, each in dims if _is_lost(*each)}
    return frozenset(found)


def declared_fixed_axes(step: ir.Loop) -> ChangingAxes:
    """The axes of carried values whose declared extent is the same before and after an iteration.

    Inference loses the extents of slices at computed places, also of those that together are whole.
    """
    found = set[tuple[int, int]]()
    for number, port in enumerate(ir.ports(step).carried):
        for before, after in ((port.param, port.next), (port.initial, port.result)):
            old, new = map(_declared, (before, after))
            if old is not None and new is not None and len(old) == len(new):
                pairs = enumerate(zip(old, new, strict=True))
                found |= {(number, axis) for axis, (a, b) in pairs if a is not None and a == b}
    return frozenset(found)


def assume_fixed(
    builder: KernelBuilder, number: int, state: Node, after: Node, declared: ChangingAxes
) -> Node:
    """The next value with the carried one's extents along `declared` axes; guards check them."""
    if after in builder.objects or len(state.shape) != len(after.shape):
        return after
    shape = list(after.shape)
    for axis, (old, new) in enumerate(zip(state.shape, after.shape, strict=True)):
        if old != new and not isinstance(new, int) and (number, axis) in declared:
            builder.assume(builder.compare("equal", new, old))
            shape[axis] = old
    return builder.view(after, shape, [same(axis) for axis in range(len(shape))])


def _declared(value: ir.Value | None) -> ir.Shape | None:
    return value.declared.shape if value and isinstance(value.declared, ir.Tensor) else None


def _is_lost(old: ir.Dim, new: ir.Dim, last: ir.Dim) -> bool:
    """Whether an extent was known, and is another in the loop, or unknown after an iteration.

    A symbol, or 1, may be lost because a run could feed extents that broadcast to others. Those of
    this run are known when the body is lowered.
    """
    if isinstance(old, ir.Range | None) or old == new:
        return False
    if old == 1 or not isinstance(old, int):
        return isinstance(new, ir.Expression)
    return isinstance(new, ir.Range | ir.Expression | None) or isinstance(last, ir.Range | None)


_ITEMS = {"SequenceInsert": 1, "SequenceErase": -1}
"""How many items an operator adds to a list."""


def _added(body: ir.Block, port: ir.CarriedPort) -> int:
    """How many items an iteration adds to a carried list; 0 if that is not plain to see."""
    makers = {
        result: step for step in body.steps if isinstance(step, ir.Leaf) for result in step.results
    }
    value, added = port.next, 0
    while value is not port.param:
        step = makers.get(value)
        if step is None or step.op not in _ITEMS:
            return 0
        added += _ITEMS[step.op]
        value = step.operands[0]
    return added


def _inferred(value: ir.Value | None) -> ir.Shape | None:
    return value.inferred.shape if value and isinstance(value.inferred, ir.Tensor) else None


def changing_axes(states: Sequence[Node], nexts: Sequence[Node]) -> ChangingAxes:
    """The axes along which the extent of a carried value may change."""
    found = set[tuple[int, int]]()
    for number, (state, after) in enumerate(zip(states, nexts, strict=True)):
        pairs = enumerate(zip(state.shape, after.shape, strict=True))
        found |= {(number, axis) for axis, (old, new) in pairs if old != new}
    return frozenset(found)
