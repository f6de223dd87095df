"""The terms of a product in registers that the previous iteration made last: added last, too.

    for t: y = x[t] - a @ h; h = Concat(y, h[:-1])

All of `h` but its first element is known long before: only its product, and one addition, wait for
the iteration before. An all-pole filter of order 10 takes 0.6 of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from treadle.jit.kernel.ir import (
    Block,
    CarriedArg,
    Concat,
    Loop,
    MatMul,
    Node,
    Reshape,
    View,
    op_of,
    static_shape,
)


def late_terms(node: Node, loops: Mapping[Block, Node]) -> tuple[int, ...]:
    """The numbers of such terms; none where all are late. `loops` are by their bodies."""
    around = loops.get(node.home)
    if around is None or not isinstance(node.op, MatMul):
        return ()
    left, right = node.operands
    inner, found = left.shape[-1], set[int]()
    for operand, axis in ((left, -1), (right, -2)):
        late = _late(operand, op_of(around, Loop))
        if late is not None:
            found |= {int(k) for k in np.nonzero(late)[axis]}
    return () if len(found) == inner else tuple(sorted(found))


def _late(operand: Node, loop: Loop) -> np.ndarray | None:
    """Which elements of an operand are late; None if it is no view of a shift register."""
    views = []
    while isinstance(operand.op, View | Reshape) and operand.home is loop.body:
        if not operand.is_static:
            return None
        views.append(operand)
        (operand,) = operand.operands
    if not isinstance(operand.op, CarriedArg) or operand.home is not loop.body:
        return None
    after = loop.nexts[operand.op.number]
    if not isinstance(after.op, Concat) or not all(part.is_static for part in after.operands):
        return None
    found = np.concatenate(list(_parts(after, loop)), after.op.axis)
    for view in reversed(views):
        found = _seen(view, found)
    return found


def _parts(after: Node, loop: Loop) -> Iterator[np.ndarray]:
    """Which elements of each operand of a next value the iteration computes."""
    for part in after.operands:
        source = part
        while isinstance(source.op, View | Reshape):
            (source,) = source.operands
        is_kept = isinstance(source.op, CarriedArg) and source.home is loop.body
        yield np.full(static_shape(part), not is_kept)


def _seen(view: Node, elements: np.ndarray) -> np.ndarray:
    """The elements that a view shows."""
    shape = static_shape(view)
    if isinstance(view.op, Reshape):
        return elements.reshape(shape)
    own, index = np.indices(shape), []
    for axis in op_of(view, View).axes:
        if not isinstance(axis.offset, int):
            return np.ones(shape, np.bool_)
        index.append(axis.offset + sum(step * own[k] for k, step in axis.terms))
    return np.broadcast_to(elements[tuple(index)], shape)
