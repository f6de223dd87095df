"""Writes the replacement of a recurrence: an operator between Transposes and Reshapes.

Layout 0 is used, which every runtime supports: X [time, batch, features]. Values of the loop with
the batch first are transposed, those without a batch get axes of extent 1.

The loop keeps the initial state of a sequence without items. The standard does not say what the
operators give there, and onnxruntime's give zeros, so a Where chooses the initial state. Its GRU
without lengths ends the process where there are no items at all (1.32), so it gets lengths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle.ir import Dim, DType, Info, Leaf, Stacked, Value, attribute
from treadle.passes.rewrites.named.recurrent.matching import Guess
from treadle.passes.rewrites.named.recurrent.normal_form import Unreadable
from treadle.passes.rewrites.named.recurrent.recurrence import Recurrence, Surroundings
from treadle.passes.rewrites.writer import Writer

_FLIPS_SINCE = 10
_FURTHEST = np.iinfo(np.int64).min


def write_operator(
    found: Recurrence,
    guess: Guess,
    stacked: Sequence[int],
    to: Writer,
    around: Surroundings,
    *,
    final: bool = False,
) -> Mapping[Value, Value]:
    """The values that replace the loop's results; for stacks those at these positions.

    `final`: as it stays in the model; else in the form that is compared with the loop.
    """
    x = _inputs(found, to, around)
    operands: list[Value | None] = [x, *_weights(found, guess, to)]
    operands.append(None if found.lengths is None else _lengths(found.lengths, x, to, around))
    lengths = operands[-1]
    if final and lengths is None and guess.op == "GRU" and not _has_items(found, around):
        operands[-1] = _full_lengths(x, to)
    starts: list[Value | None] = []
    for port in found.states:
        assert port.initial is not None, "it has a shape"
        start = around.constants.array(port.initial)
        if start is not None and not np.any(start):
            starts.append(None)
        else:
            starts.append(
                to.unsqueeze(_leading(port.initial, _shape(port.initial, around), 0, to), 0)
            )
    operands += starts
    if guess.p is not None:
        operands += [None] * (7 - len(operands))
        operands.append(_constant(to, guess.p, found.dtype))
    while operands[-1] is None:
        operands.pop()
    y, *states = _leaf(found, guess, tuple(operands), to)
    results: dict[Value, Value] = {}
    for port, state, begin in zip(found.states, states, starts, strict=True):
        if port.result in around.read and port.result is not None:
            plain = to.squeeze(_kept(state, begin, x, lengths, found, to, around), 0)
            results[port.result] = _as_before(plain, _shape(port.param, around), 0, to)
    for position in stacked:
        port_, _ = found.stacks[position]
        assert port_.result is not None, "it is read"
        shape = _shape(port_.element, around)
        made = _as_before(to.squeeze(y, 1), shape, 1, to)
        results[port_.result] = _stacked(made, port_.role, len(shape) + 1, found, to)
    return results


def _kept(
    state: Value,
    start: Value | None,
    x: Value,
    lengths: Value | None,
    found: Recurrence,
    to: Writer,
    around: Surroundings,
) -> Value:
    """The last state [1, batch, hidden]; the initial one where a sequence has no items."""
    if start is None:
        return state
    if lengths is not None:
        count = to.unsqueeze(to.unsqueeze(to.cast(lengths, DType.INT64), 0), 2)
    elif _has_items(found, around):
        return state
    else:
        count = to.slice(to.leaf("Shape", x), 0, 1, 0)
    return to.leaf("Where", to.leaf("Equal", count, to.ints(0)), start, state)


def _has_items(found: Recurrence, around: Surroundings) -> bool:
    """Whether the time axis is known not to be empty."""
    dims = [_shape(item.root, around)[item.axis] for item in found.items]
    return any(isinstance(dim, int) and dim > 0 for dim in dims)


def _full_lengths(x: Value, to: Writer) -> Value:
    """The number of items for every sequence, int32 [batch]."""
    shape = to.leaf("Shape", x)
    count = to.cast(to.slice(shape, 0, 1, 0), DType.INT32)
    return to.leaf("Expand", count, to.slice(shape, 1, 2, 0))


def _shape(value: Value | None, around: Surroundings) -> tuple[Dim, ...]:
    shape = around.at.shape(value)
    if shape is None:
        raise Unreadable("the shape of a result is not known")
    return shape


def _inputs(found: Recurrence, to: Writer, around: Surroundings) -> Value:
    """The items that are read, as X [time, batch, features]."""
    parts = []
    for item in found.items:
        rank = len(_shape(item.root, around))
        order = [item.axis, *(k for k in range(rank) if k != item.axis)]
        value = item.root
        if order != sorted(order):
            value = to.leaf("Transpose", value, perm=order)
        shape = _shape(item.root, around)
        parts.append(_leading(value, [shape[k] for k in order], 1, to))
    return parts[0] if len(parts) == 1 else to.leaf("Concat", *parts, axis=2)


def _leading(value: Value, shape: Sequence[Dim], first: int, to: Writer) -> Value:
    """Insert or remove axes of extent 1 between the first axes and the last."""
    between = list(range(first, len(shape) - 1))
    spare = [axis for axis in between if shape[axis] == 1]
    while len(between) > 1:
        value = to.squeeze(value, spare.pop())
        between.pop()
    return value if between else to.unsqueeze(value, first)


def _as_before(value: Value, shape: Sequence[Dim], first: int, to: Writer) -> Value:
    """The tensor [..., batch, columns] with the axes of this shape after the first ones."""
    lead = len(shape) - 1
    if lead == 0:
        return to.squeeze(value, first)
    batch = next((k for k, dim in enumerate(shape[:-1]) if dim != 1), 0)
    for axis in range(lead):
        if axis != batch:
            value = to.unsqueeze(value, first + axis)
    return value


def _stacked(value: Value, role: Stacked, rank: int, found: Recurrence, to: Writer) -> Value:
    """The stack of the loop, from [time, ...]."""
    if role.reverse != found.backwards:
        if to.at.opset < _FLIPS_SINCE:
            raise Unreadable("its stack is in the other order, and the opset's Slice has no steps")
        bounds = [to.ints(number) for number in (-1, _FURTHEST, 0, -1)]
        value = to.leaf("Slice", value, *bounds)
    axis = role.axis % rank
    if axis == 0:
        return value
    rest = list(range(1, rank))
    return to.leaf("Transpose", value, perm=[*rest[:axis], 0, *rest[axis:]])


def _constant(to: Writer, array: np.ndarray, dtype: DType) -> Value:
    return to.constant(array[np.newaxis].astype(dtype.numpy), "weights")


def _weights(found: Recurrence, guess: Guess, to: Writer) -> Sequence[Value | None]:
    w, r = (_constant(to, array, found.dtype) for array in (guess.w, guess.r))
    return w, r, _constant(to, guess.b, found.dtype) if np.any(guess.b) else None


def _lengths(lengths: Value, x: Value, to: Writer, around: Surroundings) -> Value:
    """The lengths as int32 [batch], no less than 0 and no more than there are items."""
    row = to.leaf("Reshape", lengths, to.ints(-1))
    if around.at.dtype(lengths) is not DType.INT64:
        row = to.cast(row, DType.INT64)
    most = to.slice(to.leaf("Shape", x), 0, 1, 0)
    row = to.leaf("Where", to.leaf("Less", row, most), row, most)
    none = to.ints(0)
    row = to.leaf("Where", to.leaf("Less", row, none), none, row)
    return to.cast(row, DType.INT32)


def _leaf(
    found: Recurrence, guess: Guess, operands: tuple[Value | None, ...], to: Writer
) -> Sequence[Value]:
    version = to.at.version(guess.op) or 0
    given = {
        "hidden_size": found.hidden,
        "direction": "reverse" if found.backwards else "forward",
        **guess.attributes,
    }
    names = ("y", "h", "c")[: 1 + len(found.states)]
    results = tuple(Value(f"{guess.op.lower()}_{name}") for name in names)
    attributes = {name: attribute(name, value) for name, value in given.items()}
    info = Info(op=guess.op, version=version)
    to.steps.append(Leaf("", guess.op, version, operands, results, attributes, info=info))
    return results
