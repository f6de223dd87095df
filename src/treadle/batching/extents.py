"""Integers computed from shapes: tracks which elements depend on the number of rows.

Shape(x[N,4,T])        [yes, no, no]
Gather(shape, 1)       no: like a constant
Concat(item, [-1])     [no, no], and so on
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from treadle.batching.states import Axis, Extents, Mixed, Operator, State, depends, shape_of


def _shape(given: Operator) -> State:
    state, rank = given.state(0), given.rank(0)
    elements = [isinstance(state, Axis) and state.number == k for k in range(rank)]
    if isinstance(state, Extents):
        elements = [False] * rank
    start, end = given.attribute("start", 0), given.attribute("end")
    return Extents(tuple(elements[slice(start, end)]))


def _size(given: Operator) -> State:
    return Extents((isinstance(given.state(0), Axis),), is_scalar=True)


def _of(given: Operator, position: int) -> Extents:
    """The elements of an operand computed from shapes, or independent of the batch."""
    state = given.state(position)
    if isinstance(state, Extents):
        return state
    array = given.constant(position)
    if array is not None:
        return Extents((False,) * array.size, is_scalar=not array.ndim)
    shape = shape_of(given.leaf.operands[position])
    if shape is None or not all(isinstance(dim, int) for dim in shape) or len(shape) > 1:
        raise Mixed("it computes with the number of rows")
    return Extents((False,) * int(np.prod(shape)), is_scalar=not shape)


def _gather(given: Operator) -> State:
    found, index = _of(given, 0), given.constant(1)
    if index is None or index.ndim > 1:
        return Extents((any(found.elements),), is_scalar=True)
    picked = tuple(found.elements[int(k)] for k in index.reshape(-1))
    return Extents(picked, is_scalar=not index.ndim)


def _concat(given: Operator) -> State:
    parts = [_of(given, position).elements for position in range(len(given.states))]
    return Extents(tuple(element for part in parts for element in part))


def _slice(given: Operator) -> State:
    found = _of(given, 0)
    bounds = [given.constant(position) for position in (1, 2, 4)]
    if given.leaf.version < 10 or bounds[0] is None or bounds[1] is None:
        return Extents((any(found.elements),) * len(found.elements))
    start, end = int(bounds[0].item()), int(bounds[1].item())
    step = 1 if bounds[2] is None else int(bounds[2].item())
    return Extents(found.elements[slice(start, end if end < 2**62 else None, step)])


def _same(given: Operator) -> State:
    return _of(given, 0)


def _scalar(given: Operator) -> State:
    found = _of(given, 0)
    return Extents(found.elements, is_scalar=len(found.elements) == 1)


def _list(given: Operator) -> State:
    return Extents(_of(given, 0).elements)


def _computed(given: Operator) -> State:
    parts = [_of(given, position) for position in range(len(given.states))]
    length = max(len(part.elements) for part in parts)
    elements = tuple(
        any(part.elements[min(k, len(part.elements) - 1)] for part in parts if part.elements)
        for k in range(length)
    )
    return Extents(elements, is_scalar=all(part.is_scalar for part in parts))


def _reduced(given: Operator) -> State:
    return Extents((depends(given.state(0)),), is_scalar=not given.attribute("keepdims", 1))


RULES: Mapping[str, Callable[[Operator], State]] = {
    "Shape": _shape,
    "Size": _size,
    "Gather": _gather,
    "Concat": _concat,
    "Slice": _slice,
    "Cast": _same,
    "Identity": _same,
    "Squeeze": _scalar,
    "Unsqueeze": _list,
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal", "Where", "Less", "Greater"),
        _computed,
    ),
    **dict.fromkeys(("ReduceProd", "ReduceMax", "ReduceMin", "ReduceSum"), _reduced),
}
