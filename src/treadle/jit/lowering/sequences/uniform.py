"""Sequences of equal-shaped elements as one tensor with a dynamic first axis.

The element type of an empty sequence is unknown. Its elements count as scalars until the first
insertion; a loop that carries it lowers its body again once the type is known. Positions out of
range fail a guard: the interpreter reports the error. A full optional is its element.
"""

from __future__ import annotations

import numpy as np

from treadle import ir, ops
from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, WrongElementGuess, array_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Constant,
    Empty,
    Node,
    Number,
    Shape,
    SymbolicDim,
)
from treadle.jit.kernel.views import axis_slice
from treadle.jit.lowering.operators.axes import nonnegative_axis
from treadle.jit.lowering.operators.gather_scatter import picked
from treadle.jit.lowering.operators.layout import concat_along
from treadle.jit.lowering.registry import Attributes, Operands, lowers
from treadle.jit.lowering.zero_trip import Symbols, extent_of


def empty(builder: KernelBuilder, dtype: DType, shape: Shape) -> Node:
    """An empty sequence of elements of this dtype and shape."""
    return builder.add(Empty(), dtype, (0, *shape))


def emptied(
    builder: KernelBuilder, node: Node | None, param: ir.Value, symbols: Symbols
) -> Node | None:
    """The node; an empty sequence gets elements of the param, with these values of symbols."""
    if node is None or not isinstance(node.op, Empty):
        return node
    for type_ in (param.inferred, param.declared):
        element = type_.element if isinstance(type_, ir.Sequence) else None
        if not isinstance(element, ir.Tensor) or element.dtype is None or element.shape is None:
            continue
        extents = [extent_of(dim, symbols) for dim in element.shape]
        known = tuple(extent for extent in extents if extent is not None)
        if len(known) == len(extents):
            return empty(builder, element.dtype, known)
    return node


@lowers("SequenceEmpty", 11)
def sequence_empty(builder: KernelBuilder, _: Operands, attributes: Attributes) -> Node:
    """SequenceEmpty: of scalars until more is known."""
    dtype = ops.element_from_proto(attributes.get("dtype") or 1)
    if dtype is None:
        raise Declined("a sequence of an unknown type")
    return empty(builder, dtype, ())


@lowers("SequenceConstruct", 11)
def construct(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """SequenceConstruct: the operands in order."""
    for operand in operands:
        _expect_alike(operands[0].shape, operand.shape)
    return concat_along(builder, [_single(builder, operand) for operand in operands], 0)


@lowers("SequenceInsert", 11)
def insert(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """SequenceInsert: an element after the others, or before a position."""
    items, element, position = (*operands, None)[:3]
    new = _single(builder, element)
    if isinstance(items.op, Empty):
        if position is not None:
            place_in(builder, position, 0, 0)
        return new
    _check_alike(items, element)
    if position is None:
        return concat_along(builder, (items, new), 0)
    count = items.shape[0]
    index = place_in(builder, position, count, count)
    rest = builder.minus(count, index)
    return concat_along(
        builder,
        (
            axis_slice(builder, items, 0, 0, 1, index),
            new,
            axis_slice(builder, items, 0, index, 1, rest),
        ),
        0,
    )


@lowers("SequenceErase", 11)
def erase(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """SequenceErase: removes one element, by default the last."""
    items, position = (*operands, None)[:2]
    count = items.shape[0]
    most = builder.minus(count, 1)
    if position is None:
        builder.expect(builder.compare("greater", count, 0))
        return axis_slice(builder, items, 0, 0, 1, most)
    index = place_in(builder, position, count, most)
    behind = builder.plus(index, 1)
    rest = axis_slice(builder, items, 0, behind, 1, builder.minus(count, behind))
    return concat_along(builder, (axis_slice(builder, items, 0, 0, 1, index), rest), 0)


@lowers("SequenceAt", 11)
def at(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """SequenceAt: one element; a negative position counts from the end."""
    items, position = operands
    return picked(builder, items, builder.cast(builder.resolved(position), DType.INT64), 0)


@lowers("SequenceLength", 11)
def length(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """SequenceLength: the number of elements."""
    return builder.dim(operands[0].shape[0])


@lowers("ConcatFromSequence", 11)
def concat(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """ConcatFromSequence: along an axis, or along a new one."""
    (items,) = operands
    count, *shape = items.shape
    rank = len(shape) + bool(attributes["new_axis"])
    axis = nonnegative_axis(attributes["axis"], rank)
    if not rank:
        raise Declined("a concatenation of scalars")
    builder.expect(builder.compare("greater", count, 0))
    stacked = moved(builder, items, axis)
    if attributes["new_axis"]:
        return stacked
    return builder.reshape(
        stacked, (*shape[:axis], builder.times(count, shape[axis]), *shape[axis + 1 :])
    )


@lowers("SplitToSequence", 11, 24)
def split(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """SplitToSequence: pieces of one length, or items without the axis."""
    x, sizes = (*operands, None)[:2]
    axis = nonnegative_axis(attributes["axis"], len(x.shape))
    extent: Number = x.shape[axis]
    each = 1 if sizes is None else _one_size(builder, array_of(sizes, "sizes"), extent)
    if each == 1:
        pieces, inner = extent, [1] if attributes["keepdims"] or sizes is not None else []
    elif isinstance(extent, int) and extent % each == 0:
        pieces, inner = extent // each, [each]
    else:
        raise Declined("pieces whose extents may differ")
    shape = [pieces, *x.shape[:axis], *inner, *x.shape[axis + 1 :]]
    axes = [Axis(0, ((k + 1, 1),)) for k in range(axis)]
    axes.append(Axis(0, ((0, each), (axis + 1, 1)) if inner else ((0, 1),)))
    axes += [Axis(0, ((k + len(inner), 1),)) for k in range(axis + 1, len(x.shape))]
    return builder.view(x, shape, axes)


def _one_size(builder: KernelBuilder, sizes: np.ndarray, extent: Number) -> int:
    """The common length of the pieces; a list of them must cover the whole extent."""
    found = {int(size) for size in sizes.ravel()}
    if len(found) != 1 or min(found) < 1:
        raise Declined("pieces of different extents")
    (each,) = found
    if sizes.ndim:
        builder.expect_equal(extent, each * sizes.size)
    return each


def moved(builder: KernelBuilder, items: Node, axis: int) -> Node:
    """Move the first axis to another position."""
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(items.shape))]
    axes = [Axis(0, ((order.index(k), 1),)) for k in range(len(order))]
    return builder.view(items, [items.shape[k] for k in order], axes)


def _single(builder: KernelBuilder, element: Node) -> Node:
    return builder.reshape(element, (1, *element.shape))


def _check_alike(items: Node, element: Node) -> None:
    """Check that the element fits; a carried empty sequence gets its type here."""
    is_same = items.dtype == element.dtype and len(items.shape) == len(element.shape) + 1
    if is_same:
        _expect_alike(items.shape[1:], element.shape)
        return
    if isinstance(items.op, CarriedArg):
        raise WrongElementGuess(items, element.dtype, element.shape)
    raise Declined("a sequence of elements that differ")


def _expect_alike(one: Shape, other: Shape) -> None:
    """Require that the shapes may be equal: no extents differ, and none changes at run time."""
    if len(one) != len(other) or any(map(_may_differ, one, other)):
        raise Declined("a sequence of elements that differ")


def _may_differ(left: Number, right: Number) -> bool:
    if left is right or left == right:
        return False
    sources = [each.source for each in (left, right) if isinstance(each, SymbolicDim)]
    return not sources or any(source is not None for source in sources)


def place_in(builder: KernelBuilder, position: Node, count: Number, most: Number) -> Number:
    """The position counted from the front, between 0 and `most`."""
    found = builder.cast(builder.resolved(position), DType.INT64)
    if isinstance(found.op, Constant) and found.op.array >= 0:
        index = builder.number(found)
    else:
        below = builder.map("less", found, builder.scalar(0, DType.INT64))
        from_end = builder.map("add", found, builder.dim(count))
        index = builder.extent(builder.map("where", below, from_end, found))
    builder.expect(builder.compare("less_equal", index, most))
    return index


@lowers("Optional", 15, 28)
@lowers("OptionalGetElement", 15, 18, 28)
def optional_element(_: KernelBuilder, operands: Operands, __: Attributes) -> Node:
    """Optional and OptionalGetElement: the element; an empty optional has no native code."""
    if not operands or operands[0] is None:
        raise Declined("an optional without an element")
    node: Node = operands[0]
    return node


@lowers("OptionalHasElement", 15, 18, 28)
def has_element(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """OptionalHasElement: whether there is an operand; empty ones are declined earlier."""
    return builder.scalar(bool(operands) and operands[0] is not None, DType.BOOL)
