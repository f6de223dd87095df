"""Reductions along axes, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Extent, Node, Number, Reduce
from treadle.jit.lower.layout import dropped, whole_numbers
from treadle.jit.lower.registry import as_floats, lowers, wide
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
_FLOATS = (DType.FLOAT32, DType.FLOAT64)


def reduced(b: Building, function: str, x: Node, axes: Sequence[int], *, keep: bool) -> Node:
    """The reduction of a tensor over its axes; over none the tensor."""
    if not axes:
        return x
    given = x.shape
    kept = [1 if k in axes else extent for k, extent in enumerate(given)]
    shape = kept if keep else [extent for k, extent in enumerate(given) if k not in axes]
    if function in ("max", "min"):
        for axis in axes:
            _expect_some(b, given[axis])
    return b.add(Reduce(function, tuple(sorted(axes))), x.dtype, tuple(shape), x)


def _expect_some(b: Building, extent: Number) -> None:
    if isinstance(extent, Extent):
        b.expect(b.compare("greater", extent, 0))
    elif extent == 0:
        raise Declined("the largest of nothing")


Form = Callable[[Building, Node, Sequence[int], bool], Node]


def _plain(function: str) -> Form:
    return lambda b, x, axes, keep: reduced(b, function, x, axes, keep=keep)


def _mean(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    count = b.dim(b.product([x.shape[axis] for axis in axes]))
    if x.dtype in _FLOATS:
        return b.map("div", reduced(b, "add", x, axes, keep=keep), b.cast(count, x.dtype))
    if x.dtype.bits < 64:
        total = reduced(b, "add", b.cast(x, DType.INT64), axes, keep=keep)
        return b.cast(b.map("div", total, count), x.dtype)
    return _long_mean(b, x, axes, b.cast(count, x.dtype), keep)


def _long_mean(b: Building, x: Node, axes: Sequence[int], count: Node, keep: bool) -> Node:
    """Toward zero, of quotients and remainders: the sum of 64-bit numbers may overflow."""
    total, rest = (
        reduced(b, "add", b.map(function, x, count), axes, keep=keep)
        for function in ("div", "fmod")
    )
    total, rest = b.map("add", total, b.map("div", rest, count)), b.map("fmod", rest, count)
    if x.dtype is DType.UINT64:
        return total
    zero = b.scalar(0, x.dtype)
    above, beyond = (b.map("sign", each) for each in (total, rest))
    are_opposite = b.map("equal", b.map("add", above, beyond), zero, dtype=DType.BOOL)
    return b.map("add", total, b.map("where", are_opposite, beyond, zero, dtype=x.dtype))


def _absolute(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    return reduced(b, "add", b.map("abs", x), axes, keep=keep)


def _squares(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    return reduced(b, "add", b.map("mul", x, x), axes, keep=keep)


def _norm(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    return b.cast(b.map("sqrt", as_floats(b, _squares(b, x, axes, keep))), x.dtype)


def _log_sum(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    total = reduced(b, "add", x, axes, keep=keep)
    return b.cast(b.map("log", as_floats(b, total)), x.dtype)


def _log_sum_exp(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    """The largest element goes out before and comes back after, where it is finite."""
    given, x = x.dtype, as_floats(b, x)
    most = reduced(b, "max", x, axes, keep=True)
    size = b.map("abs", most)
    is_finite = b.map("less", size, b.scalar(math.inf, x.dtype), dtype=DType.BOOL)
    shift = b.map("where", is_finite, most, b.scalar(0, x.dtype), dtype=x.dtype)
    total = reduced(b, "add", b.map("exp", b.map("sub", x, shift)), axes, keep=True)
    result = b.cast(b.map("add", b.map("log", total), shift), given)
    return result if keep else dropped(b, result, axes)


def _reduction(form: Form, b: Building, operands: Sequence[Any], attributes: Attributes) -> Node:
    x = operands[0]
    rank = len(x.shape)
    axes = attributes.get("axes")
    if len(operands) > 1:
        axes = whole_numbers(operands[1], "axes")
    if not axes and attributes.get("noop_with_empty_axes"):
        chosen: set[int] = set()
    else:
        chosen = {axis % max(rank, 1) for axis in axes} if axes else set(range(rank))
    return form(b, x, sorted(chosen), bool(attributes["keepdims"]))


for _op, _form, *_versions in (
    ("ReduceSum", _plain("add"), 1, 11, 13), ("ReduceMax", _plain("max"), 1, 11, 12, 13, 18, 20),
    ("ReduceMin", _plain("min"), 1, 11, 12, 13, 18, 20),
    ("ReduceProd", _plain("mul"), 1, 11, 13, 18), ("ReduceMean", _mean, 1, 11, 13, 18),
    ("ReduceL1", _absolute, 1, 11, 13, 18), ("ReduceSumSquare", _squares, 1, 11, 13, 18),
    ("ReduceL2", _norm, 1, 11, 13, 18), ("ReduceLogSum", _log_sum, 1, 11, 13, 18, 28),
    ("ReduceLogSumExp", _log_sum_exp, 1, 11, 13, 18, 28),
):  # fmt: skip
    lowers(_op, *_versions)(wide(partial(_reduction, _form)))


@lowers("Softmax", 13)
@wide
def softmax(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """exp(x - max(x)) over its sum."""
    x = operands[0]
    axes = [attributes["axis"] % max(len(x.shape), 1)]
    if 0 in x.shape:
        return x
    powers = b.map("exp", b.map("sub", x, reduced(b, "max", x, axes, keep=True)))
    return b.map("div", powers, reduced(b, "add", powers, axes, keep=True))


@lowers("LogSoftmax", 13)
@wide
def log_softmax(b: Building, operands: Sequence[Node], attributes: Attributes) -> Node:
    """X - max(x) - log(sum(exp(x - max(x))))."""
    x = operands[0]
    axes = [attributes["axis"] % max(len(x.shape), 1)]
    if 0 in x.shape:
        return x
    shifted = b.map("sub", x, reduced(b, "max", x, axes, keep=True))
    total = reduced(b, "add", b.map("exp", shifted), axes, keep=True)
    return b.map("sub", shifted, b.map("log", total))
