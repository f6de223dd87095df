"""What native code has no form for: held outside for a run, natively the number of its place.

Strings, optionals, sequences of elements that differ, tensors of unknown rank. The places are a
stack: a loop that makes some remembers how high it was before, and at the end of an iteration takes
down all that came since but what it carries on.

    box(x)             x, to be held
    box_list(x)        the items of x, as a sequence
    unbox(x)           what is held, as a tensor
    nothing()          an absent value
    mark()             how high the stack is
    settle(m, *kept)   all from place m on goes, then kept are put there
    rows()             an empty list, for what a loop stacks; append(rows, x)
    stack(rows)        np.stack, along `axis`, the last first with `reverse`
    extent(x)          how many items along `axis`; item(x, i), counted from the end with `reverse`
    steady(x, y)       y, which has the shape of x
    Apart(x)           the parts of a list or an optional; Together(*parts)   what they are of
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import Leaf, Operands, Value, attribute
from treadle.jit.host.sequence_layout import APART, TOGETHER, elements, nothing, tensors
from treadle.jit.host.sequence_marshal import elements_of_ragged, ragged_parts
from treadle.jit.kernel.ir import BOXED_DOMAIN
from treadle.jit.kernel.node_builder import Declined

Given = Sequence[Any]
Run = Callable[[Given], Given]
_OPTIONAL_PARTS = (2, 4)
"""How many parts an optional has: of a tensor, of a list."""
_MAX_TENSOR_PARTS = 2
"""A tensor, or an optional one; a list has more parts."""
HANDLE = np.dtype([("number", np.int64)])
"""The dtype of a number that an input held outside is known by, natively."""


def box_op(op: str, operands: int, results: int, **attributes: int) -> Leaf:
    """One of the operators above."""
    takes = tuple(Value(f"x{k}") for k in range(operands))
    gives = tuple(Value(f"y{k}") for k in range(results))
    given = {name: attribute(name, value) for name, value in attributes.items()}
    return Leaf(BOXED_DOMAIN, op, 1, takes, gives, given)


def is_box_op(leaf: Leaf, held: list[Any]) -> Run:
    """What the operator does with what a run holds."""
    attributes = ops.attributes_of(leaf.attributes)
    if leaf.op in _OF_PLACES:
        return partial(_OF_PLACES[leaf.op], held)
    if leaf.op in _OF_PARTS:
        return partial(_OF_PARTS[leaf.op], leaf.results, **attributes)
    return partial(_KEEPERS[leaf.op], **attributes)


def _mark(held: list[Any], _: Given) -> Given:
    return (np.array(len(held), np.int64),)


def _settle(held: list[Any], given: Given) -> Given:
    mark, *kept = given
    del held[int(mark) :]
    return kept


def _same(given: Given) -> Given:
    return given


def _items(given: Given) -> Given:
    return ([np.array(item) for item in given[0]],)


def _append(given: Given) -> Given:
    rows, element = given
    rows.append(element)
    return (rows,)


def _stack(given: Given, *, axis: int, reverse: int) -> Given:
    (rows,) = given
    if not rows or len({(row.dtype, row.shape) for row in map(_array, rows)}) > 1:
        raise Declined("stacked elements that differ, or none")
    return (np.stack(rows[:: -1 if reverse else 1], _axis(axis, rows[0].ndim + 1)),)


def _extent(given: Given, *, axis: int) -> Given:
    source = _array(given[0])
    return (np.array(source.shape[_axis(axis, source.ndim)], np.int64),)


def _item(given: Given, *, axis: int, reverse: int) -> Given:
    source, number = given
    place = -1 - int(number) if reverse else int(number)
    return (np.array(np.take(source, place, axis)),)


def _steady(given: Given) -> Given:
    before, after = map(_array, given)
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        raise Declined("a state that changes its shape")
    return (after,)


def _array(value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise Declined("what is no tensor, where one is wanted")
    return value


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Declined(f"axis {axis} of a tensor of rank {rank}")
    return axis


def _to_parts(results: Operands, given: Given, *, known_extents: Sequence[int] = ()) -> Given:
    (value,), count = given, len(results)
    there = [np.array(value is not None)] if count in _OPTIONAL_PARTS else []
    if count > _MAX_TENSOR_PARTS:
        dtype, _ = elements(results)
        return [*there, *ragged_parts(value or [], dtype.numpy, known_extents)]
    return [*there, nothing(tensors(results)[-1]) if value is None else value]


def _from_parts(_: Operands, given: Given) -> Given:
    is_optional = len(given) in _OPTIONAL_PARTS
    if is_optional and not given[0].item():
        return (None,)
    parts = given[1:] if is_optional else given
    return (elements_of_ragged(*parts),) if len(parts) > 1 else parts


_OF_PLACES: Mapping[str, Callable[[list[Any], Given], Given]] = {"mark": _mark, "settle": _settle}
_OF_PARTS: Mapping[str, Callable[..., Given]] = {
    APART: _to_parts,
    TOGETHER: _from_parts,
}
_KEEPERS: Mapping[str, Callable[..., Given]] = {
    "box": _same,
    "box_list": _items,
    "unbox": _same,
    "nothing": lambda _: (None,),
    "rows": lambda _: ([],),
    "append": _append,
    "stack": _stack,
    "extent": _extent,
    "item": _item,
    "steady": _steady,
}


def enter_boxes(value: object, held: list[Any]) -> np.ndarray:
    """The number of an input, which is held from now on."""
    held.append(value)
    return np.array(len(held) - 1, np.int64).view(HANDLE)
