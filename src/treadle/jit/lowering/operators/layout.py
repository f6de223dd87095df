"""Operators that rearrange elements: shapes, views, slices and concatenation."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder, array_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Axis,
    CarriedArg,
    Concat,
    Constant,
    DimOf,
    InputDim,
    Node,
    Number,
    Shape,
    SymbolicDim,
    show_node,
)
from treadle.jit.kernel.views import axis_slice
from treadle.jit.lowering.operators.axes import nonnegative_axes, nonnegative_axis
from treadle.jit.lowering.operators.slice import sliced, strided, times_within
from treadle.jit.lowering.registry import Attributes, Operands, lowers
from treadle.messages import join_words

_RESHAPES = (13, 14, 19, 21, 23, 24, 25)


def whole_numbers(node: Node | None, what: str) -> list[int] | None:
    """The integers of a constant operand; None if it is absent."""
    return None if node is None else [int(n) for n in array_of(node, what).ravel()]


def _list(operands: Operands, number: int, attributes: Attributes, name: str) -> list[int] | None:
    """Axes or sizes: an operand in new versions, an attribute in old ones."""
    if name in attributes:
        return list(attributes[name])
    return whole_numbers(operands[number], name) if len(operands) > number else None


@lowers("Identity", 1, 13, 14, 16, 19, 21, 23, 24, 25)
def identity(_: KernelBuilder, operands: Operands, __: Attributes) -> Node:
    """The operand itself: values are never modified in place."""
    node: Node = operands[0]
    return node


@lowers("Dropout", 7, 10, 12, 13, 22)
def dropout(_: KernelBuilder, operands: Operands, __: Attributes) -> Node:
    """The operand, outside of training."""
    if len(operands) > 2 and operands[2] is not None and array_of(operands[2], "training").any():
        raise Declined("training")
    node: Node = operands[0]
    return node


@lowers("Constant", 1, 9, 11, 12, 13, 19, 21, 23, 24, 25)
def constant(builder: KernelBuilder, _: Operands, attributes: Attributes) -> Node:
    """The tensor or number in its attribute."""
    if sum(attributes.get(name) is not None for name in attributes if name != "results") > 1:
        raise Declined("a constant with more than one value")
    for name, dtype in (("value", None), ("value_int", np.int64), ("value_ints", np.int64),
                        ("value_float", np.float32), ("value_floats", np.float32)):  # fmt: skip
        if attributes.get(name) is not None:
            value = attributes[name]
            return builder.constant(value if dtype is None else np.asarray(value, dtype))
    raise Declined("a constant of text or a sparse one")


@lowers("Shape", 1, 13, 15, 19, 21, 23, 24, 25)
def shape(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The extents, each an int or a scalar."""
    part = operands[0].shape[attributes.get("start") or 0 : attributes.get("end")]
    return listed(builder, part)


def listed(builder: KernelBuilder, numbers: Sequence[Number]) -> Node:
    """The numbers as an int64 tensor."""
    if all(isinstance(number, int) for number in numbers):
        return builder.constant(np.array(numbers, np.int64))
    parts = [builder.reshape(builder.dim(number), (1,)) for number in numbers]
    return concat_along(builder, parts, 0)


@lowers("Size", 1, 13, 19, 21, 23, 24, 25)
def size(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The number of elements."""
    return builder.dim(builder.product(operands[0].shape))


@lowers("Reshape", 5, *_RESHAPES)
def reshape(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Reshape in row-major order; -1 is the rest, 0 the operand's own extent."""
    x, given = operands[0], operands[0].shape
    wanted = builder.elements(operands[1], "a shape")
    if not attributes.get("allowzero"):
        if any(each == 0 for each in wanted[len(given) :]):
            raise Declined(f"a 0 in the new shape beyond the {len(given)} axes of the operand")
        wanted = [0 if each == 0 else each for each in wanted]
        target = [
            given[k] if each == 0 else extent_of(builder, each, is_positive=True)
            for k, each in enumerate(wanted)
        ]
    else:
        target = [extent_of(builder, each) for each in wanted]
    if -1 in target:
        index = target.index(-1)
        target[index] = _rest(builder, given, [each for each in target if each != -1])
    return builder.reshape(x, tuple(target))


def extent_of(builder: KernelBuilder, each: int | Node, *, is_positive: bool = False) -> Number:
    """An extent from a list; -1 stays. A dynamic one is positive where 0 has a meaning."""
    if isinstance(each, int):
        return each
    found = builder.extent(each)
    if is_positive and not isinstance(builder.dim(found).op, Constant | DimOf | InputDim):
        builder.expect(builder.compare("greater", found, 0))
    return found


def _rest(builder: KernelBuilder, given: Shape, others: Sequence[Number]) -> Number:
    """The remaining extent: the product of the old extents over that of the other new ones."""
    left, right = list(given), []
    for other in others:
        same = next((k for k, extent in enumerate(left) if extent is other or extent == other), -1)
        if same < 0:
            right.append(other)
        else:
            del left[same]
    total, by = builder.product(left), builder.product(right)
    if isinstance(total, int) and isinstance(by, int):
        return total // by if by else 0
    if by == 1:
        return total
    quotient = builder.number(builder.map("div", builder.dim(total), builder.dim(by)))
    builder.expect_equal(builder.times(quotient, by), total)
    return quotient


@lowers("Flatten", 1, 9, 11, *_RESHAPES[:1], *_RESHAPES[3:])
def flatten(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Reshape to two axes: those before `axis`, and the rest."""
    given, axis = operands[0].shape, attributes["axis"]
    axis = axis + len(given) if axis < 0 else axis
    return builder.reshape(
        operands[0], (builder.product(given[:axis]), builder.product(given[axis:]))
    )


@lowers("Squeeze", 1, 11, *_RESHAPES[:1], *_RESHAPES[3:])
def squeeze(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Remove axes of extent 1."""
    given, axes = operands[0].shape, _list(operands, 1, attributes, "axes")
    if axes is None:
        gone = {k for k, extent in enumerate(given) if extent == 1}
        for extent in given:
            if isinstance(extent, SymbolicDim):
                builder.expect(builder.map("not", builder.compare("equal", extent, 1)))
    else:
        gone = set(nonnegative_axes(axes, len(given)))
    return dropped(builder, operands[0], gone)


def dropped(builder: KernelBuilder, node: Node, gone: Collection[int]) -> Node:
    """Remove these axes, which have extent 1."""
    for axis in gone:
        builder.expect_equal(node.shape[axis], 1)
    rest = [k for k in range(len(node.shape)) if k not in gone]
    axes = [Axis() if k in gone else Axis(0, ((rest.index(k), 1),)) for k in range(len(node.shape))]
    return builder.view(node, [node.shape[k] for k in rest], axes)


@lowers("Unsqueeze", 1, 11, *_RESHAPES[:1], *_RESHAPES[3:])
def unsqueeze(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Insert axes of extent 1; they are positions in the result."""
    given, axes = operands[0].shape, _list(operands, 1, attributes, "axes")
    assert axes is not None
    rank = len(given) + len(axes)
    new, rest = set(nonnegative_axes(axes, rank)), iter(given)
    return builder.reshape(operands[0], tuple(1 if k in new else next(rest) for k in range(rank)))


@lowers("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """result.shape[k] = operand.shape[perm[k]]."""
    given = operands[0].shape
    perm = attributes.get("perm") or range(len(given))[::-1]
    if sorted(perm) != list(range(len(given))):
        raise Declined(f"a permutation {list(perm)} of {len(given)} axes")
    where = {axis: k for k, axis in enumerate(perm)}
    axes = [Axis(0, ((where[k], 1),)) for k in range(len(given))]
    return builder.view(operands[0], [given[axis] for axis in perm], axes)


@lowers("Expand", 8, 13)
def expand(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """Broadcast to the shape, in both directions."""
    x = operands[0]
    target = [extent_of(builder, each) for each in builder.elements(operands[1], "a shape")]
    shift = max(len(x.shape) - len(target), 0)
    target = [*x.shape[:shift], *target]
    shift = len(target) - len(x.shape)
    result = [
        each if k < shift else _spread(builder, x.shape[k - shift], each)
        for k, each in enumerate(target)
    ]
    return builder.expand(x, result)


def _spread(builder: KernelBuilder, given: Number, wanted: Number) -> Number:
    """The extent of an Expand: a dynamic one may be 1 where the operand's is greater."""
    if given == 1 or wanted == 1 or isinstance(wanted, int) or given is wanted:
        return builder.match(given, wanted)
    is_one = builder.compare("equal", wanted, 1)
    builder.expect(builder.map("or", is_one, builder.compare("equal", wanted, given)))
    return given


@lowers("Slice", 1, 10, 11, 13)
def slice_(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """x[start:end:step] along each axis."""
    x: Node = operands[0]
    starts, ends = (
        list(attributes[name]) if name in attributes else builder.elements(operands[k], name)
        for k, name in enumerate(("starts", "ends"), start=1)
    )
    axes = _list(operands, 3, attributes, "axes")
    by = (
        builder.elements(operands[4], "steps") if operands[4:] and operands[4] is not None else None
    )
    where = nonnegative_axes(range(len(starts)) if axes is None else axes, len(x.shape))
    steps = [1] * len(where) if by is None else by
    if not len(starts) == len(ends) == len(where) == len(steps):
        raise Declined("starts, ends, axes and steps of different lengths")
    for start, end, axis, step in zip(starts, ends, where, steps, strict=True):
        if isinstance(step, int):
            x = sliced(builder, x, axis, start, end, step)
        else:
            x = strided(builder, x, axis, start, end, step)
    return x


@lowers("Split", 2, 11, 13, 18)
def split(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Sequence[Node]:
    """Parts along an axis: of given sizes, or equal ones."""
    x = operands[0]
    axis = nonnegative_axis(attributes.get("axis", 0), len(x.shape))
    if "split" in attributes:
        sizes: list[Number] = list(attributes["split"])
    elif len(operands) > 1 and operands[1] is not None:
        sizes = [extent_of(builder, each) for each in builder.elements(operands[1], "sizes")]
    else:
        is_uneven = "num_outputs" in attributes
        sizes = _alike(builder, x.shape[axis], attributes["results"], is_uneven=is_uneven)
    starts: list[Number] = [0]
    for each in sizes:
        builder.expect_equal(builder.least(each, 0), 0)
        starts.append(builder.plus(starts[-1], each))
    builder.expect_equal(starts[-1], x.shape[axis])
    return [axis_slice(builder, x, axis, s, 1, n) for s, n in zip(starts, sizes, strict=False)]


def _alike(builder: KernelBuilder, extent: Number, count: int, *, is_uneven: bool) -> list[Number]:
    """The sizes of equal parts; the last one may be smaller where that is allowed."""
    if count == 1:
        return [extent]
    each = times_within(builder, extent, count)
    before = builder.times(count - 1, each)
    last = builder.minus(extent, before) if is_uneven else each
    builder.expect_equal(builder.least(before, extent), before)
    return [*[each] * (count - 1), last]


@lowers("Concat", 4, 11, 13)
def concat(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Concatenate along an axis."""
    axis = nonnegative_axis(attributes["axis"], len(operands[0].shape))
    return concat_along(builder, operands, axis)


def _kind(node: Node) -> tuple[DType, int]:
    return node.dtype, len(node.shape)


def concat_along(builder: KernelBuilder, parts: Sequence[Node], axis: int) -> Node:
    """np.concatenate; a single part is returned itself."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if any(_kind(each) != _kind(first) for each in parts) or axis >= len(first.shape):
        raise Declined(
            f"operands {join_words(map(show_node, parts))} along axis {axis}:"
            " equal dtypes and ranks are needed"
        )
    shape = list(first.shape)
    for each in parts[1:]:
        for k, extent in enumerate(each.shape):
            if k == axis:
                shape[k] = builder.plus(shape[k], extent)
            else:
                builder.expect_equal(shape[k], extent)
                is_told = isinstance(shape[k], int) or isinstance(first.op, CarriedArg)
                shape[k] = shape[k] if is_told else extent
    return builder.add(Concat(axis), first.dtype, tuple(shape), *parts)
