"""Boxed values: Python objects without a native form, which native code knows by a handle.

Strings, optionals, sequences of unlike elements and tensors of unknown rank are boxed. Handles are
positions of a stack. A loop that boxes values marks the height of the stack before an iteration,
and at its end pops all that was pushed since except the values it carries on.

    box(x)             pushes x
    box_list(x)        pushes the items of x as a sequence
    unbox(x)           the boxed value as a tensor
    nothing()          pushes an absent value
    mark()             the height of the stack
    pop_to(m, *kept)   pops to height m, then pushes the kept values
    rows()             pushes an empty list for a stacked output; append(rows, x) adds to it
    stack(rows)        np.stack along `axis`, in reverse order with `reverse`
    extent(x)          the number of items along `axis`; item(x, i), from the end with `reverse`
    same_shape(x, y)   y; fails if its shape is not that of x
    Unpack(x)          the component arrays of a list or an optional; Pack(*parts) is the inverse
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import Leaf, Operands, Value, attribute
from treadle.jit.host.sequence_layout import PACK, UNPACK, elements, nothing, tensors
from treadle.jit.host.sequence_marshal import elements_of_ragged, ragged_parts
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import BOXED_DOMAIN

Given = Sequence[Any]
Run = Callable[[Given], Given]
_OPTIONAL_PARTS = (2, 4)
"""How many parts an optional has: of a tensor, of a list."""
_MAX_TENSOR_PARTS = 2
"""A tensor, or an optional one; a list has more parts."""
HANDLE = np.dtype([("number", np.int64)])
"""The dtype of the native handle of a boxed input."""


def box_op(op: str, operands: int, results: int, **attributes: int) -> Leaf:
    """One of the operators above."""
    takes = tuple(Value(f"x{k}") for k in range(operands))
    gives = tuple(Value(f"y{k}") for k in range(results))
    given = {name: attribute(name, value) for name, value in attributes.items()}
    return Leaf(BOXED_DOMAIN, op, 1, takes, gives, given)


def is_box_op(leaf: Leaf, objects: list[Any]) -> Run:
    """Whether the operator reads or changes the boxed values."""
    attributes = ops.attributes_of(leaf.attributes)
    if leaf.op in _OF_PLACES:
        return partial(_OF_PLACES[leaf.op], objects)
    if leaf.op in _OF_PARTS:
        return partial(_OF_PARTS[leaf.op], leaf.results, **attributes)
    return partial(_KEEPERS[leaf.op], **attributes)


def _mark(objects: list[Any], _: Given) -> Given:
    return (np.array(len(objects), np.int64),)


def _pop_to(objects: list[Any], given: Given) -> Given:
    mark, *kept = given
    del objects[int(mark) :]
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
    index = -1 - int(number) if reverse else int(number)
    return (np.array(np.take(source, index, axis)),)


def _same_shape(given: Given) -> Given:
    before, after = map(_array, given)
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        raise Declined("a Scan state that changes its shape")
    return (after,)


def _array(value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise Declined("a value that is not a tensor, where one is required")
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


_OF_PLACES: Mapping[str, Callable[[list[Any], Given], Given]] = {"mark": _mark, "pop_to": _pop_to}
_OF_PARTS: Mapping[str, Callable[..., Given]] = {
    UNPACK: _to_parts,
    PACK: _from_parts,
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
    "same_shape": _same_shape,
}


def enter_boxes(value: object, objects: list[Any]) -> np.ndarray:
    """Box an input; returns its handle."""
    objects.append(value)
    return np.array(len(objects) - 1, np.int64).view(HANDLE)
