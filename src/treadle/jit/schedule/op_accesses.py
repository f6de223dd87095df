"""The access of each operation of the kernel IR to its operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from treadle.jit.kernel.ir import (
    ArgTopK,
    Axis,
    Concat,
    Cumulative,
    Elementwise,
    Gather,
    MatMul,
    Node,
    Number,
    Reduce,
    Reshape,
    ScanSlice,
    Scatter,
    Shape,
    Take,
    View,
    op_of,
)
from treadle.jit.schedule.access import (
    AccessMap,
    AffineIndex,
    Index,
    Span,
    affine_value,
    counter,
    of_number,
    of_view_axis,
    own,
)

_NO_INDEX = AffineIndex()


def accesses_of(node: Node) -> tuple[AccessMap, ...]:
    """The access of a node to each of its operands.

    That of an operation without a rule, such as a loop or a call, is to every element. A Concat
    reads an operand only where its own index lies in it.
    """
    rule = _RULES.get(type(node.op))
    return tuple(map(_every, node.operands)) if rule is None else rule(node)


def _every(operand: Node) -> AccessMap:
    return (Span.EVERY,) * len(operand.shape)


def _broadcast(shape: Shape, own_axes: Sequence[int], extents: Sequence[Number]) -> AccessMap:
    """The index of an operand whose axes are these axes of the reader, where it is no broadcast."""
    return tuple(
        _NO_INDEX if extent == 1 and whole != 1 else own(axis)
        for extent, axis, whole in zip(shape, own_axes, extents, strict=True)
    )


def _right_aligned(node: Node, operand: Node) -> AccessMap:
    lead = len(node.shape) - len(operand.shape)
    axes = range(lead, len(node.shape))
    return _broadcast(operand.shape, axes, node.shape[lead:])


def _elementwise(node: Node) -> tuple[AccessMap, ...]:
    return tuple(_right_aligned(node, operand) for operand in node.operands)


def _view(node: Node) -> tuple[AccessMap, ...]:
    return (tuple(map(of_view_axis, op_of(node, View).axes)),)


def _scan_slice(node: Node) -> tuple[AccessMap, ...]:
    op = op_of(node, ScanSlice)
    (source,), at = node.operands, counter(node.home)
    if op.reverse:
        at = of_number(source.shape[op.axis]).plus(at, -1).plus(AffineIndex(-1))
    axes = [own(axis) for axis in range(len(node.shape))]
    return ((*axes[: op.axis], at, *axes[op.axis :]),)


def _concat(node: Node) -> tuple[AccessMap, ...]:
    op, first, found = op_of(node, Concat), AffineIndex(), []
    for operand in node.operands:
        found.append(tuple(
            own(axis).plus(first, -1) if axis == op.axis else own(axis)
            for axis in range(len(node.shape))
        ))  # fmt: skip
        first = first.plus(of_number(operand.shape[op.axis]))
    return tuple(found)


def _reduce(node: Node) -> tuple[AccessMap, ...]:
    op, (source,) = op_of(node, Reduce), node.operands
    are_kept = len(node.shape) == len(source.shape)
    rest = iter(range(len(node.shape)))
    found: list[Index] = []
    for axis in range(len(source.shape)):
        if axis not in op.axes:
            found.append(own(next(rest)))
            continue
        found.append(Span.EVERY)
        if are_kept:
            next(rest)
    return (tuple(found),)


def _matmul(node: Node) -> tuple[AccessMap, ...]:
    left, right = node.operands
    rank = len(node.shape)

    def batch(operand: Node) -> AccessMap:
        axes = range(rank - len(operand.shape), rank - 2)
        return _broadcast(operand.shape[:-2], axes, [node.shape[axis] for axis in axes])

    return ((*batch(left), own(rank - 2), Span.EVERY), (*batch(right), Span.EVERY, own(rank - 1)))


def _along_axis(node: Node) -> tuple[AccessMap, ...]:
    op = node.op
    assert isinstance(op, Cumulative | ArgTopK)
    return (tuple(Span.EVERY if k == op.axis else own(k) for k in range(len(node.shape))),)


def _take(node: Node) -> tuple[AccessMap, ...]:
    op, (data, index) = op_of(node, Take), node.operands
    count = len(index.shape)
    before = [own(axis) for axis in range(op.axis)]
    after = [own(axis + count) for axis in range(op.axis, len(data.shape) - 1)]
    picked = tuple(own(op.axis + axis) for axis in range(count))
    return (*before, _index_value(index), *after), picked


def _gather(node: Node) -> tuple[AccessMap, ...]:
    op, (_, *indices) = op_of(node, Gather), node.operands
    picked = tuple(
        of_view_axis(axis) if isinstance(axis, Axis) else _index_value(indices[axis])
        for axis in op.axes
    )
    return (picked, *(_right_aligned(node, index) for index in indices))


def _index_value(index: Node) -> Index:
    """The value of an index, which counts from the end where it is negative."""
    value = affine_value(index)
    is_positive = value is not None and value.offset >= 0 and all(s > 0 for _, s in value.terms)
    return value if value is not None and is_positive else Span.COMPUTED


def _scatter(node: Node) -> tuple[AccessMap, ...]:
    op, (_, updates, *indices) = op_of(node, Scatter), node.operands
    inverse: list[Index] = [Span.COMPUTED] * len(updates.shape)
    for axis, written in enumerate(op.axes):
        if isinstance(written, Axis) and [step for _, step in written.terms] == [1]:
            ((number, _),) = written.terms
            inverse[number] = own(axis).plus(of_number(written.offset), -1)
    whole = tuple(own(axis) for axis in range(len(node.shape)))
    return (whole, tuple(inverse), *((Span.COMPUTED,) * len(index.shape) for index in indices))


def _reshape(node: Node) -> tuple[AccessMap, ...]:
    """The same position in row-major order, where whole axes are kept, split or merged."""
    (source,) = node.operands
    found: list[Index] = [_NO_INDEX if extent == 1 else Span.COMPUTED for extent in source.shape]
    for theirs, ours in _groups(source.shape, node.shape):
        if len(theirs) == 1:
            found[theirs[0]] = _flattened(ours, node.shape)
    return (tuple(found),)


def _flattened(axes: Sequence[int], shape: Shape) -> Index:
    """The row-major position in some axes."""
    total = AffineIndex()
    for axis in axes:
        extent = shape[axis]
        if axis is not axes[0] and not isinstance(extent, int):
            return Span.COMPUTED
        total = AffineIndex().plus(total, extent if isinstance(extent, int) else 1).plus(own(axis))
    return total


def _groups(theirs: Shape, ours: Shape) -> list[tuple[list[int], list[int]]]:
    """The axes of two shapes that hold the same elements, in order; those of extent 1 left out."""
    places = _ends(theirs), _ends(ours)
    common = [end for end in places[0] if end in places[1]]
    groups = []
    for first, last in pairwise([None, *common]):
        groups.append((_between(places[0], first, last), _between(places[1], first, last)))
    return groups


_End = tuple[int, tuple[int, ...]]


def _ends(shape: Shape) -> dict[_End, int]:
    """The number of elements up to the end of each axis, dims apart, and the axis."""
    size, dims, found = 1, list[int](), dict[_End, int]()
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        if isinstance(extent, int):
            size *= extent
        else:
            dims.append(id(extent))
        found[size, tuple(sorted(dims))] = axis
    return found


def _between(places: Mapping[_End, int], first: _End | None, last: _End | None) -> list[int]:
    order = list(places)
    start = 0 if first is None else order.index(first) + 1
    assert last is not None
    return [places[end] for end in order[start : order.index(last) + 1]]


_RULES: Mapping[type, Callable[[Node], tuple[AccessMap, ...]]] = {
    Elementwise: _elementwise,
    View: _view,
    ScanSlice: _scan_slice,
    Concat: _concat,
    Reduce: _reduce,
    MatMul: _matmul,
    Cumulative: _along_axis,
    ArgTopK: _along_axis,
    Take: _take,
    Gather: _gather,
    Scatter: _scatter,
    Reshape: _reshape,
}
