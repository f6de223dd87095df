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
from treadle.jit.lower.registry import lowers, wide
from treadle.jit.nodes import Declined

Attributes = Mapping[str, Any]
_FLOATS = (DType.FLOAT32, DType.FLOAT64)


def reduced(b: Building, function: str, x: Node, axes: Sequence[int], *, keep: bool) -> Node:
    """The reduction of a tensor over its axes."""
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
    if x.dtype not in _FLOATS:
        raise Declined(f"the mean of {x.dtype}")
    total = reduced(b, "add", x, axes, keep=keep)
    count = b.product([x.shape[axis] for axis in axes])
    return b.map("div", total, b.cast(b.dim(count), x.dtype))


def _absolute(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    return reduced(b, "add", b.map("abs", x), axes, keep=keep)


def _squares(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    return reduced(b, "add", b.map("mul", x, x), axes, keep=keep)


def _norm(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    if x.dtype not in _FLOATS:
        raise Declined(f"the norm of {x.dtype}")
    return b.map("sqrt", _squares(b, x, axes, keep))


def _log_sum(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    if x.dtype not in _FLOATS:
        raise Declined(f"the logarithm of {x.dtype}")
    return b.map("log", reduced(b, "add", x, axes, keep=keep))


def _log_sum_exp(b: Building, x: Node, axes: Sequence[int], keep: bool) -> Node:
    """The largest element goes out before and comes back after, where it is finite."""
    if x.dtype not in _FLOATS:
        raise Declined(f"the logarithm of {x.dtype}")
    most = reduced(b, "max", x, axes, keep=True)
    size = b.map("abs", most)
    is_finite = b.map("less", size, b.scalar(math.inf, x.dtype), dtype=DType.BOOL)
    shift = b.map("where", is_finite, most, b.scalar(0, x.dtype), dtype=x.dtype)
    total = reduced(b, "add", b.map("exp", b.map("sub", x, shift)), axes, keep=True)
    result = b.map("add", b.map("log", total), shift)
    if keep:
        return result
    return dropped(b, result, axes)


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
