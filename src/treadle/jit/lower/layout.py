"""Operators that arrange elements: shapes, views, parts and their joining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from treadle.jit.building import Building, Declined, array_of, extents_of
from treadle.jit.kernel_ir import Axis, Join, Node
from treadle.jit.lower.registry import lowers

Attributes = Mapping[str, Any]
Nodes = Sequence[Any]
_RESHAPES = (13, 14, 19, 21, 23, 24, 25)


def whole_numbers(node: Node | None, what: str) -> list[int] | None:
    """The numbers of a constant operand; None where it is absent."""
    return None if node is None else [int(n) for n in array_of(node, what).ravel()]


def _list(operands: Nodes, number: int, attributes: Attributes, name: str) -> list[int] | None:
    """Axes and sizes: an operand in new versions, an attribute in old ones."""
    if name in attributes:
        return list(attributes[name])
    return whole_numbers(operands[number], name) if len(operands) > number else None


@lowers("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(_: Building, operands: Nodes, __: Attributes) -> Node:
    """The operand itself: values are never changed in place."""
    node: Node = operands[0]
    return node


@lowers("Dropout", 7, 10, 12, 13, 22)
def dropout(_: Building, operands: Nodes, __: Attributes) -> Node:
    """The operand, where it does not train."""
    if len(operands) > 2 and operands[2] is not None and array_of(operands[2], "training").any():
        raise Declined("training")
    node: Node = operands[0]
    return node


@lowers("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def constant(b: Building, _: Nodes, attributes: Attributes) -> Node:
    """The one tensor or number its attributes hold."""
    for name, dtype in (("value", None), ("value_int", np.int64), ("value_ints", np.int64),
                        ("value_float", np.float32), ("value_floats", np.float32)):  # fmt: skip
        if attributes.get(name) is not None:
            value = attributes[name]
            return b.constant(value if dtype is None else np.asarray(value, dtype))
    raise Declined("a constant of text or a sparse one")


@lowers("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """The extents, which are known."""
    extents = extents_of(operands[0])
    part = extents[attributes.get("start") or 0 : attributes.get("end")]
    return b.constant(np.array(part, np.int64))


@lowers("Size", 1, 13, 19, 21, 23, 24, 25)
def size(b: Building, operands: Nodes, _: Attributes) -> Node:
    """The number of elements, which is known."""
    return b.constant(np.array(prod(extents_of(operands[0])), np.int64))


@lowers("Reshape", 5, *_RESHAPES)
def reshape(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """Row-major order stays; -1 is what is left, 0 the operand's own extent."""
    x, target = operands[0], whole_numbers(operands[1], "a shape")
    assert target is not None
    given = extents_of(x)
    if not attributes.get("allowzero"):
        target = [given[k] if extent == 0 else extent for k, extent in enumerate(target)]
    if -1 in target:
        rest = prod(extent for extent in target if extent != -1)
        target[target.index(-1)] = prod(given) // rest if rest else 0
    if prod(target) != prod(given):
        raise Declined("a Reshape that does not fit")
    return b.reshape(x, target)


@lowers("Flatten", 1, 9, 11, *_RESHAPES[:1], *_RESHAPES[3:])
def flatten(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """Two axes: what is before `axis`, and the rest."""
    given, axis = extents_of(operands[0]), attributes["axis"]
    axis = axis + len(given) if axis < 0 else axis
    return b.reshape(operands[0], (prod(given[:axis]), prod(given[axis:])))


@lowers("Squeeze", 1, 11, *_RESHAPES[:1], *_RESHAPES[3:])
def squeeze(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """Without axes of one."""
    given, axes = extents_of(operands[0]), _list(operands, 1, attributes, "axes")
    if axes is None:
        gone = {k for k, extent in enumerate(given) if extent == 1}
    else:
        gone = {axis % len(given) if given else 0 for axis in axes}
    if any(given[k] != 1 for k in gone):
        raise Declined("a Squeeze of an axis that is not one")
    return b.reshape(operands[0], [e for k, e in enumerate(given) if k not in gone])


@lowers("Unsqueeze", 1, 11, *_RESHAPES[:1], *_RESHAPES[3:])
def unsqueeze(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """With axes of one; they are counted in the result."""
    given, axes = extents_of(operands[0]), _list(operands, 1, attributes, "axes")
    assert axes is not None
    rank = len(given) + len(axes)
    new, rest = {axis % rank for axis in axes}, iter(given)
    return b.reshape(operands[0], [1 if k in new else next(rest) for k in range(rank)])


@lowers("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """result.shape[k] = operand.shape[perm[k]]."""
    given = extents_of(operands[0])
    perm = attributes.get("perm") or range(len(given))[::-1]
    where = {axis: k for k, axis in enumerate(perm)}
    axes = [Axis(0, ((where[k], 1),)) for k in range(len(given))]
    return b.view(operands[0], [given[axis] for axis in perm], axes)


@lowers("Expand", 8, 13)
def expand(b: Building, operands: Nodes, _: Attributes) -> Node:
    """Broadcast to the shape, in both directions."""
    target = whole_numbers(operands[1], "a shape")
    assert target is not None
    try:
        result = np.broadcast_shapes(extents_of(operands[0]), tuple(target))
    except ValueError as error:
        raise Declined("an Expand that does not fit") from error
    return b.expand(operands[0], result)


def _part(b: Building, x: Node, axis: int, start: int, step: int, count: int) -> Node:
    given = list(extents_of(x))
    axes = [Axis(0, ((k, 1),)) for k in range(len(given))]
    axes[axis], given[axis] = Axis(start, ((axis, step),)), count
    return b.view(x, given, axes)


@lowers("Slice", 1, 10, 11, 13)
def slice_(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """x[start:end:step] along each axis."""
    x: Node = operands[0]
    names = ("starts", "ends", "axes", "steps")
    lists = [_list(operands, k + 1, attributes, name) for k, name in enumerate(names)]
    starts, ends, axes, steps = lists
    assert starts is not None
    assert ends is not None
    rank = len(x.shape)
    for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = (axes[k] if axes else k) % max(rank, 1)
        step = steps[k] if steps else 1
        extent = extents_of(x)[axis]
        low = -extent - 1 if step < 0 else -extent
        taken = range(extent)[slice(max(start, low), max(end, low), step)]
        first = taken[0] if taken else 0
        x = _part(b, x, axis, first, step, len(taken))
    return x


@lowers("Split", 2, 11, 13, 18)
def split(b: Building, operands: Nodes, attributes: Attributes) -> Sequence[Node]:
    """Parts along an axis: of the sizes given, or alike."""
    x = operands[0]
    axis = attributes.get("axis", 0) % max(len(x.shape), 1)
    sizes = _list(operands, 1, attributes, "split")
    if sizes is None:
        raise Declined("a Split that does not say its sizes")
    starts = accumulate(sizes, initial=0)
    return [_part(b, x, axis, s, 1, n) for s, n in zip(starts, sizes, strict=False)]


@lowers("Concat", 4, 11, 13)
def concat(b: Building, operands: Nodes, attributes: Attributes) -> Node:
    """One after the other along an axis."""
    shapes = [extents_of(operand) for operand in operands]
    axis = attributes["axis"] % max(len(shapes[0]), 1)
    if len(operands) == 1:
        node: Node = operands[0]
        return node
    result = list(shapes[0])
    result[axis] = sum(each[axis] for each in shapes)
    return b.add(Join(axis), operands[0].dtype, tuple(result), *operands)
