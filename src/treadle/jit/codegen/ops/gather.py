"""Gathers: indices are checked unless they are in range; negative ones count from the end."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from treadle.ir import DType
from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import OUT_OF_RANGE, CodegenContext
from treadle.jit.codegen.failure import fail_if
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.scalar import functions
from treadle.jit.kernel.ir import (
    Axis,
    Constant,
    Gather,
    IndexTuple,
    Node,
    Scatter,
    Take,
    op_of,
    static_shape,
)
from treadle.jit.schedule.storage import Storage


def emit_take(context: CodegenContext, node: Node) -> None:
    """The items, into registers or memory."""
    op, t = op_of(node, Take), context.access
    data, indices = node.operands
    axis, rank = op.axis, len(indices.shape)
    given = t.shape(data)
    if t.storage_of(node) is Storage.REGISTERS:
        checked = {
            at: _checked(context, op, indices, at, given[axis])
            for at in product(*map(range, static_shape(indices)))
        }
        values = []
        for index in product(*map(range, static_shape(node))):
            item = checked[index[axis : axis + rank]]
            values.append(t.read(data, (*index[:axis], item, *index[axis + rank :])))
        t.keep(node, values)
        return
    if t.order.is_read_in_place(node):
        t.buffers[node] = _row(context, node)
        return
    buffer, leading = allocate(context, node), given[:axis]
    is_ahead = any(extent != 1 for extent in leading)
    if is_ahead:
        _check_all(context, op, indices, given[axis])
    place = _wrapped if is_ahead else _checked
    nest = context.builder.nest
    with nest(leading) as first, t.scope(), nest(t.shape(indices)) as at, t.scope():
        item = place(context, op, indices, at, given[axis])
        with nest(given[axis + 1 :]) as rest, t.scope():
            value = t.read(data, (*first, item, *rest))
            t.store(buffer, (*first, *at, *rest), value)
    t.buffers[node] = buffer


def _row(context: CodegenContext, node: Node) -> Buffer:
    """The row in the memory of the data."""
    t, op, (data, indices) = context.access, op_of(node, Take), node.operands
    zero = (0,) * len(indices.shape)
    item = _checked(context, op, indices, zero, t.shape(data)[op.axis])
    at = tuple(item if k == op.axis else 0 for k in range(len(data.shape)))
    return Buffer(t.located(data, at), node.dtype, t.strides(node), t.scope_of(data))


def emit_flat_nonzero(context: CodegenContext, node: Node) -> None:
    """The indices at which the mask is true, in order."""
    (mask,), t, b = node.operands, context.access, context.builder.builder
    buffer = allocate(context, node)
    most = context.builder.index(t.extent(node.shape[0]))
    found = context.builder.variable(I64, context.builder.index(0))
    with context.builder.nest(t.shape(mask)) as at, t.scope():
        count = b.load(found, typ=I64)
        is_wanted = b.and_(t.read(mask, at), b.icmp_signed("<", count, most))
        with b.if_then(is_wanted), t.scope():
            t.store(buffer, (count,), context.builder.index(at[0]))
            b.store(b.add(count, context.builder.index(1)), found)
    t.buffers[node] = buffer


def emit_gather(context: CodegenContext, node: Node) -> None:
    """The elements, into registers or memory."""
    op, t = op_of(node, Gather), context.access
    data, *indices = node.operands
    shape = t.shape(node)
    if t.storage_of(node) is Storage.REGISTERS:
        every = product(*map(range, shape))
        t.keep(
            node,
            [t.read(data, gather_address(context, op, data, indices, at)) for at in every],
        )
        return
    buffer, depth = allocate(context, node), depth_of(indices)
    with context.builder.nest(shape[:depth]) as at, t.scope():
        found = checked_index(context, op, data, indices, at)
        with context.builder.nest(shape[depth:]) as rest, t.scope():
            t.store(
                buffer,
                (*at, *rest),
                t.read(data, gather_index(context, op.axes, found, (*at, *rest))),
            )
    t.buffers[node] = buffer


def checked_index(
    context: CodegenContext,
    op: Gather | Scatter,
    data: Node,
    indices: Sequence[Node],
    at: Sequence[Index],
) -> dict[int, Any]:
    """The checked index values at a position, by operand."""
    given = context.access.shape(data)
    found: dict[int, Any] = {}
    for axis, position in enumerate(op.axes):
        if isinstance(position, int):
            index = indices[position]
            own = [0 if extent == 1 else at[k] for k, extent in enumerate(index.shape)]
            found[position] = _checked(context, op, index, own, given[axis])
    return found


def gather_index(
    context: CodegenContext, axes: IndexTuple, found: dict[int, Any], index: Sequence[Index]
) -> tuple[Index, ...]:
    """The position in a tensor, by axis."""
    return tuple(
        context.access.along(position, index) if isinstance(position, Axis) else found[position]
        for position in axes
    )


def gather_address(
    context: CodegenContext,
    op: Gather,
    data: Node,
    indices: Sequence[Node],
    index: Sequence[Index],
) -> tuple[Index, ...]:
    """The address for an index of the result, or of the update."""
    return gather_index(context, op.axes, checked_index(context, op, data, indices, index), index)


def depth_of(indices: Sequence[Node]) -> int:
    """The number of leading axes that the indices depend on."""
    each = [k + 1 for index in indices for k, extent in enumerate(index.shape) if extent != 1]
    return max(each, default=0)


def _is_within(indices: Node, extent: Index) -> bool:
    """Whether constant indices are in a range that is known."""
    if not isinstance(indices.op, Constant) or not isinstance(extent, int):
        return False
    array = indices.op.array
    return bool(array.size) and -extent <= array.min() and array.max() < extent


def _checked(
    context: CodegenContext,
    op: Take | Gather | Scatter,
    indices: Node,
    at: Sequence[Index],
    extent: Index,
) -> Any:
    """An index that ends the kernel if it is out of range; a negative one counts from the end.

    A negative one is rare: the address of others does not wait for what would become of it.
    """
    w, b, found = context.builder, context.builder.builder, _number(context, indices, at)
    if op.is_in_range:
        return found
    if _is_within(indices, extent):
        assert isinstance(indices.op, Constant)
        if indices.op.array.min() >= 0:
            return found
        below = b.icmp_signed("<", found, w.index(0))
        return b.select(below, b.add(found, w.index(extent)), found)
    index = w.variable(I64, found)
    with w.rarely(b.icmp_unsigned(">=", found, w.index(extent))):
        wrapped = b.add(found, w.index(extent))
        b.store(wrapped, index)
        fail_if(context, b.icmp_unsigned(">=", wrapped, w.index(extent)), OUT_OF_RANGE)
    return b.load(index, typ=I64)


def _check_all(context: CodegenContext, op: Take, indices: Node, extent: Index) -> None:
    """End the kernel if an index is out of range: once, where many rows are read at the same."""
    if op.is_in_range or _is_within(indices, extent):
        return
    w, b = context.builder, context.builder.builder
    with w.nest(context.access.shape(indices)) as at, context.access.scope():
        found = _number(context, indices, at)
        shifted = b.add(found, w.index(extent))
        is_wrong = b.icmp_unsigned(">=", shifted, b.add(w.index(extent), w.index(extent)))
        fail_if(context, is_wrong, OUT_OF_RANGE)


def _wrapped(
    context: CodegenContext, op: Take, indices: Node, at: Sequence[Index], extent: Index
) -> Any:
    """An index that has been checked; a negative one counts from the end, without a branch."""
    w, b, found = context.builder, context.builder.builder, _number(context, indices, at)
    if op.is_in_range:
        return found
    below = b.icmp_signed("<", found, w.index(0))
    return b.select(below, b.add(found, w.index(extent)), found)


def _number(context: CodegenContext, indices: Node, at: Sequence[Index]) -> Any:
    value = context.access.read(indices, tuple(at))
    return functions.cast(context.builder, value, indices.dtype, DType.INT64)
