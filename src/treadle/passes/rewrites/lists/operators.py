"""The operators on lists, on the tensors that stand for them; each fails where the operator does.

    SequenceInsert(l, e)       Concat(pad(l.content), pad([e])), Concat(l.lengths, [Shape(e)])
    SequenceAt(l, k)           Gather(l.content, k)[: Gather(l.lengths, k)]
    SequenceLength(l)          Shape(l.content)[0]
    ConcatFromSequence(l)      Reshape(Transpose(l.content)); a Loop where shapes vary

Elements of one shape need no lengths and no padding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treadle.ir import Block, Carried, DType, Info, Iteration, Loop, Role, Tensor, Value
from treadle.passes.rewrites.lists.forms import Form, Parts
from treadle.passes.rewrites.writer import Writer

_INT64 = DType.INT64


def empty(writer: Writer, form: Form) -> Parts:
    """A list without elements, or an empty optional."""
    extents = [dim or 0 for dim in form.dims]
    shape = [0, *extents] if form.is_list else extents
    content = writer.constant(np.zeros(shape, form.dtype.numpy))
    lengths = writer.constant(np.zeros([0, len(form.dims)], np.int64)) if form.is_ragged else None
    return Parts(content, lengths, writer.constant(np.array(False)) if form.is_optional else None)


def length(writer: Writer, parts: Parts) -> Value:
    """The number of elements, an int64 scalar."""
    return writer.leaf("Gather", writer.leaf("Shape", parts.content), _number(writer, 0))


def insert(
    writer: Writer, form: Form, parts: Parts, element: Value, position: Value | None = None
) -> Parts:
    """The list with an element before a position, at the end by default."""
    content, item = parts.content, writer.unsqueeze(element, 0)
    rows: Value | None = None
    if parts.lengths is not None:
        shape = writer.leaf("Shape", element)
        most = _greater(writer, _inner_shape(writer, content), shape)
        content, item = _padded(writer, form, content, most), _padded(writer, form, item, most)
        rows = writer.unsqueeze(shape, 0)
    if position is None:
        return Parts(_joined(writer, content, item), _with(writer, parts.lengths, rows))
    index = _place(writer, parts, position, past_end=1)
    return Parts(
        _joined(writer, _before(writer, content, index), item, _from(writer, content, index)),
        None
        if parts.lengths is None or rows is None
        else _joined(
            writer,
            _before(writer, parts.lengths, index),
            rows,
            _from(writer, parts.lengths, index),
        ),
    )


def erase(writer: Writer, parts: Parts, position: Value | None) -> Parts:
    """The list without the element at a position, by default the last."""
    where = _number(writer, -1) if position is None else position
    index = _place(writer, parts, where, past_end=0)
    after = writer.leaf("Add", index, writer.ints(1))

    def shorter(x: Value) -> Value:
        return _joined(writer, _before(writer, x, index), _from(writer, x, after))

    return Parts(shorter(parts.content), None if parts.lengths is None else shorter(parts.lengths))


def item(
    writer: Writer, form: Form, parts: Parts, position: Value, result: Value | None = None
) -> Value:
    """The element at a position."""
    index = _scalar(writer, position)
    if parts.lengths is None:
        return writer.leaf("Gather", parts.content, index, result=result, axis=0)
    padded = writer.leaf("Gather", parts.content, index, axis=0)
    ends = writer.leaf("Gather", parts.lengths, index, axis=0)
    axes = range(len(form.dims))
    starts = writer.ints(*[0] * len(form.dims))
    return writer.leaf("Slice", padded, starts, ends, writer.ints(*axes), result=result)


def concatenated(
    writer: Writer, form: Form, parts: Parts, axis: int, new_axis: bool, result: Value
) -> None:
    """The elements concatenated along an axis, or stacked along a new one."""
    rank = len(form.dims)
    axis %= rank + new_axis
    extents = [dim for dim in form.dims if dim]
    if len(extents) < rank:
        return _joined_by_loop(writer, form, parts, axis, new_axis, result)
    has_items = writer.leaf("Greater", length(writer, parts), _number(writer, 0))
    content = checked(writer, parts.content, has_items)
    order = list(range(1, rank + 1))
    order.insert(axis, 0)
    if new_axis:
        writer.leaf("Transpose", content, result=result, perm=order)
        return None
    extents[axis] = -1
    turned = writer.leaf("Transpose", content, perm=order)
    writer.leaf("Reshape", turned, writer.ints(*extents), result=result)
    return None


def _joined_by_loop(
    writer: Writer, form: Form, parts: Parts, axis: int, new_axis: bool, result: Value
) -> None:
    """The first element, and a Loop that concatenates each further one to it."""

    def element(inner: Writer, position: Value) -> Value:
        found = item(inner, form, parts, position)
        return inner.unsqueeze(found, axis) if new_axis else found

    def body(inner: Writer, i: Value, so_far: Value) -> tuple[Value, ...]:
        one_more = element(inner, inner.leaf("Add", i, _number(inner, 1)))
        return (inner.leaf("Concat", so_far, one_more, axis=axis),)

    rest = writer.leaf("Sub", length(writer, parts), _number(writer, 1))
    first = element(writer, _number(writer, 0))
    shape = (None,) * (len(form.dims) + new_axis)
    loop(writer, rest, [(first, Tensor(form.dtype, shape))], body, (result,))


def construct(writer: Writer, form: Form, elements: tuple[Value, ...]) -> Parts:
    """The list of these elements."""
    if not form.is_ragged:
        return Parts(_joined(writer, *(writer.unsqueeze(each, 0) for each in elements)))
    parts = empty(writer, form)
    for each in elements:
        parts = insert(writer, form, parts, each)
    return parts


def checked(writer: Writer, x: Value, is_right: Value) -> Value:
    """The tensor; a run in which the condition is false fails: an index is out of bounds."""
    wrong = writer.cast(writer.leaf("Not", is_right), _INT64)
    return writer.leaf("Gather", writer.unsqueeze(x, 0), wrong, axis=0)


def loop(
    writer: Writer,
    trip: Value,
    carried: list[tuple[Value, Tensor]],
    body: Callable[..., tuple[Value, ...]],
    results: tuple[Value, ...] | None = None,
) -> tuple[Value, ...]:
    """A Loop over an open body, `body(writer, i, *carried) -> next ones`."""
    inner, i = Writer(writer.at), Value("i", Tensor(_INT64, ()))
    params = [Value("carried", type_) for _, type_ in carried]
    following = body(inner, i, *params)
    block = inner.into(
        Block(params=(i, *params), steps=tuple(inner.steps), results=(None, *following))
    )
    results = results or tuple(Value("loop", type_) for _, type_ in carried)
    roles: tuple[Role, ...] = (Iteration(), *[Carried()] * len(carried))
    info = Info(op="Loop", version=writer.at.version("Loop") or 0)
    initial = tuple(value for value, _ in carried)
    writer.steps.append(Loop(trip, None, roles, initial, block, (), results, info))
    return results


def _number(writer: Writer, number: int) -> Value:
    return writer.number(number, _INT64)


def _scalar(writer: Writer, position: Value) -> Value:
    """A position, int32 or int64 of one element, as an int64 scalar."""
    whole = writer.cast(position, _INT64)
    return writer.leaf("Reshape", whole, writer.ints())


def _place(writer: Writer, parts: Parts, position: Value, past_end: int) -> Value:
    """The position from the start, an int64 vector; one that is out of range fails the run.

    index = position + count if position < 0 else position
    [0, 1, ..., count - 1 + past_end][index if index >= 0 else count + past_end]
    """
    count, given = length(writer, parts), _scalar(writer, position)
    zero = _number(writer, 0)
    most = writer.leaf("Add", count, _number(writer, past_end))
    from_end = writer.leaf("Add", given, count)
    index = writer.leaf("Where", writer.leaf("Less", given, zero), from_end, given)
    index = writer.leaf("Where", writer.leaf("Less", index, zero), most, index)
    places = writer.leaf("Range", zero, most, _number(writer, 1))
    return writer.leaf("Gather", places, writer.unsqueeze(index, 0))


def _before(writer: Writer, x: Value, index: Value) -> Value:
    return writer.leaf("Slice", x, writer.ints(0), index, writer.ints(0))


def _from(writer: Writer, x: Value, index: Value) -> Value:
    return writer.leaf("Slice", x, index, writer.ints(np.iinfo(np.int64).max), writer.ints(0))


def _joined(writer: Writer, *values: Value, axis: int = 0) -> Value:
    return values[0] if len(values) == 1 else writer.leaf("Concat", *values, axis=axis)


def _with(writer: Writer, lengths: Value | None, rows: Value | None) -> Value | None:
    return None if lengths is None or rows is None else _joined(writer, lengths, rows)


def _inner_shape(writer: Writer, content: Value) -> Value:
    return _from(writer, writer.leaf("Shape", content), writer.ints(1))


def _greater(writer: Writer, a: Value, b: Value) -> Value:
    return writer.leaf("Where", writer.leaf("Less", a, b), b, a)


def _padded(writer: Writer, form: Form, x: Value, extents: Value) -> Value:
    """The stack with zeros at the end of each axis whose extent varies, to these extents."""
    for axis, dim in enumerate(form.dims):
        if dim is not None:
            continue
        shape = writer.leaf("Shape", x)
        wanted = writer.slice(extents, axis, axis + 1, 0)
        missing = writer.leaf("Sub", wanted, writer.slice(shape, axis + 1, axis + 2, 0))
        parts = [_before(writer, shape, writer.ints(axis + 1)), missing]
        if axis + 1 < len(form.dims):
            parts.append(_from(writer, shape, writer.ints(axis + 2)))
        fill = writer.leaf("Expand", zero_of(writer, form.dtype), _joined(writer, *parts))
        x = _joined(writer, x, fill, axis=axis + 1)
    return x


def zero_of(writer: Writer, dtype: DType) -> Value:
    """A scalar zero, or an empty text."""
    if dtype is DType.STRING:
        return writer.constant(np.array("", object))
    return writer.number(0, dtype)


def present(writer: Writer, parts: Parts) -> Parts:
    """The list or tensor as an optional that is there."""
    return parts._replace(present=writer.constant(np.array(True)))


def taken(writer: Writer, parts: Parts) -> Parts:
    """What an optional holds; a run in which it is empty fails."""
    there = parts.present
    if there is None:
        return parts
    made = [None if each is None else checked(writer, each, there) for each in parts[:2]]
    content, lengths = made
    assert content is not None, "every list has a content"
    return Parts(content, lengths)
