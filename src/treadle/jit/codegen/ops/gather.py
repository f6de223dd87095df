"""Gathers: every index is checked; a negative one counts from the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    Take,
    op_of,
    static_shape,
)
from treadle.jit.schedule.steps.forms import Form, depth_of
from treadle.jit.schedule.storage import Storage

Find = Callable[[CodegenContext, Node, Sequence[Index], Index], Any]
"""Finds an index, of those of a node, at a position, for an axis of an extent."""


def emit_take(context: CodegenContext, node: Node) -> None:
    """The items, into registers or memory."""
    op, t = op_of(node, Take), context.access
    data, indices = node.operands
    axis, rank = op.axis, len(indices.shape)
    given = t.shape(data)
    if t.storage_of(node) is Storage.REGISTERS:
        checked = {
            at: _checked(context, indices, at, given[axis])
            for at in product(*map(range, static_shape(indices)))
        }
        values = []
        for index in product(*map(range, static_shape(node))):
            item = checked[index[axis : axis + rank]]
            values.append(t.read(data, (*index[:axis], item, *index[axis + rank :])))
        t.keep(node, values)
        return
    if context.schedule.form_of(node).form is Form.ROW_IN_PLACE:
        t.buffers[node] = _row(context, node)
        return
    buffer = allocate(context, node)
    find = _finder(context, node)
    with context.builder.nest(t.shape(indices)) as at, t.scope():
        item = find(context, indices, at, given[axis])
        with context.builder.nest((*given[:axis], *given[axis + 1 :])) as rest, t.scope():
            value = t.read(data, (*rest[:axis], item, *rest[axis:]))
            t.store(buffer, (*rest[:axis], *at, *rest[axis:]), value)
    t.buffers[node] = buffer


def _row(context: CodegenContext, node: Node) -> Buffer:
    """The row in the memory of the data."""
    t, (data, indices) = context.access, node.operands
    assert isinstance(node.op, Take)
    item = _checked(context, indices, (0,) * len(indices.shape), t.shape(data)[node.op.axis])
    whole = t.buffer(data)
    at = tuple(item if k == node.op.axis else 0 for k in range(len(data.shape)))
    start = t.address(whole, at)
    return Buffer(start, node.dtype, t.strides(node), whole.scope)


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
            [t.read(data, gather_address(context, data, op.axes, indices, at)) for at in every],
        )
        return
    buffer, depth = allocate(context, node), depth_of(indices)
    find = _finder(context, node)
    with context.builder.nest(shape[:depth]) as at, t.scope():
        found = checked_index(context, data, op.axes, indices, at, find)
        with context.builder.nest(shape[depth:]) as rest, t.scope():
            t.store(
                buffer,
                (*at, *rest),
                t.read(data, gather_index(context, op.axes, found, (*at, *rest))),
            )
    t.buffers[node] = buffer


def checked_index(
    context: CodegenContext,
    data: Node,
    axes: IndexTuple,
    indices: Sequence[Node],
    at: Sequence[Index],
    find: Find | None = None,
) -> dict[int, Any]:
    """The checked index values at a position, by operand."""
    given = context.access.shape(data)
    found: dict[int, Any] = {}
    for axis, position in enumerate(axes):
        if isinstance(position, int):
            index = indices[position]
            own = [0 if extent == 1 else at[k] for k, extent in enumerate(index.shape)]
            found[position] = (find or _checked)(context, index, own, given[axis])
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
    data: Node,
    axes: IndexTuple,
    indices: Sequence[Node],
    index: Sequence[Index],
) -> tuple[Index, ...]:
    """The address for an index of the result, or of the update."""
    return gather_index(context, axes, checked_index(context, data, axes, indices, index), index)


def _finder(context: CodegenContext, node: Node) -> Find:
    """How to find the indices of a node; all are checked now if its form says so."""
    form = context.schedule.form_of(node).form
    if form is not Form.CHECKED_BEFORE:
        return _expected if form is Form.CHECKED_ROWS else _checked
    data, *indices = node.operands
    for axis, index in _indexed(node, indices):
        extent = context.access.extent(data.shape[axis])
        if not _is_within(index, extent):
            _check_all(context, index, extent)
    return _wrapped


def _indexed(node: Node, indices: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """The axes that a Take or Gather finds by an index, each with its indices."""
    if isinstance(node.op, Take):
        yield node.op.axis, indices[0]
    elif isinstance(node.op, Gather):
        for axis, position in enumerate(node.op.axes):
            if isinstance(position, int):
                yield axis, indices[position]


def _is_within(indices: Node, extent: Index) -> bool:
    """Whether constant indices are in a range that is known."""
    if not isinstance(indices.op, Constant) or not isinstance(extent, int):
        return False
    array = indices.op.array
    return bool(array.size) and -extent <= array.min() and array.max() < extent


def _check_all(context: CodegenContext, indices: Node, extent: Index) -> None:
    """Fail if any of the indices is out of range."""
    w, b = context.builder, context.builder.builder
    found = w.variable(I64, w.index(0))
    with w.nest(context.access.shape(indices)) as at, context.access.scope():
        is_out = b.zext(_is_out(context, _wrapped(context, indices, at, extent), extent), I64)
        b.store(b.or_(b.load(found, typ=I64), is_out), found)
    is_any_out = b.icmp_signed("!=", b.load(found, typ=I64), w.index(0))
    fail_if(context, is_any_out, OUT_OF_RANGE)


def _is_out(context: CodegenContext, index: Any, extent: Index) -> Any:
    return context.builder.builder.icmp_unsigned(">=", index, context.builder.index(extent))


def _expected(context: CodegenContext, indices: Node, at: Sequence[Index], extent: Index) -> Any:
    """The index of a row, which ends the kernel if it is out of range."""
    wrapped = _wrapped(context, indices, at, extent)
    if not _is_within(indices, extent):
        fail_if(context, _is_out(context, wrapped, extent), OUT_OF_RANGE)
    return wrapped


def _checked(context: CodegenContext, indices: Node, at: Sequence[Index], extent: Index) -> Any:
    """An index that ends the kernel if it is out of range.

    A negative one is rare: the address of others does not wait for what would become of it.
    """
    if _is_within(indices, extent):
        return _wrapped(context, indices, at, extent)
    w, found = context.builder, _number(context, indices, at)
    index = w.variable(I64, found)
    with w.rarely(_is_out(context, found, extent)):
        wrapped = w.builder.add(found, w.index(extent))
        w.builder.store(wrapped, index)
        fail_if(context, _is_out(context, wrapped, extent), OUT_OF_RANGE)
    return w.builder.load(index, typ=I64)


def _wrapped(context: CodegenContext, indices: Node, at: Sequence[Index], extent: Index) -> Any:
    """An index, counted from the end if it is negative."""
    b, found = context.builder.builder, _number(context, indices, at)
    if isinstance(indices.op, Constant) and indices.op.array.min(initial=0) >= 0:
        return found
    below = b.icmp_signed("<", found, context.builder.index(0))
    return b.select(below, b.add(found, context.builder.index(extent)), found)


def _number(context: CodegenContext, indices: Node, at: Sequence[Index]) -> Any:
    value = context.access.read(indices, tuple(at))
    return functions.cast(context.builder, value, indices.dtype, DType.INT64)
