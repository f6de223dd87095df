"""Reductions along axes, and operators composed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node, Number, Reduce, SymbolicDim
from treadle.jit.lowering.operators.axes import nonnegative_axes, nonnegative_axis
from treadle.jit.lowering.operators.layout import dropped, whole_numbers
from treadle.jit.lowering.registry import Attributes, Operands, as_floats, in_float32, lowers

_FLOATS = (DType.FLOAT32, DType.FLOAT64)


def reduced(
    builder: KernelBuilder, function: str, node: Node, axes: Sequence[int], *, keep: bool
) -> Node:
    """Reduce a tensor over its axes; over none it is returned."""
    if not axes:
        return node
    given = node.shape
    kept = [1 if k in axes else extent for k, extent in enumerate(given)]
    shape = kept if keep else [extent for k, extent in enumerate(given) if k not in axes]
    if function in ("max", "min"):
        for axis in axes:
            _expect_some(builder, given[axis])
    return builder.add(Reduce(function, tuple(sorted(axes))), node.dtype, tuple(shape), node)


def _expect_some(builder: KernelBuilder, extent: Number) -> None:
    if isinstance(extent, SymbolicDim):
        builder.expect(builder.compare("greater", extent, 0))
    elif extent == 0:
        raise Declined("the minimum or maximum over an axis of extent 0")


Form = Callable[[KernelBuilder, Node, Sequence[int], bool], Node]


def _plain(function: str) -> Form:
    return lambda b, x, axes, keep: reduced(b, function, x, axes, keep=keep)


def _mean(builder: KernelBuilder, node: Node, axes: Sequence[int], keep: bool) -> Node:
    count = builder.dim(builder.product([node.shape[axis] for axis in axes]))
    if node.dtype in _FLOATS:
        return builder.map(
            "div", reduced(builder, "add", node, axes, keep=keep), builder.cast(count, node.dtype)
        )
    if node.dtype.bits < 64:
        total = reduced(builder, "add", builder.cast(node, DType.INT64), axes, keep=keep)
        return builder.cast(builder.map("div", total, count), node.dtype)
    return _long_mean(builder, node, axes, builder.cast(count, node.dtype), keep)


def _long_mean(
    builder: KernelBuilder, node: Node, axes: Sequence[int], count: Node, keep: bool
) -> Node:
    """Mean rounded toward zero, from quotients and remainders: the sum may overflow 64 bits."""
    total, rest = (
        reduced(builder, "add", builder.map(function, node, count), axes, keep=keep)
        for function in ("div", "fmod")
    )
    total, rest = (
        builder.map("add", total, builder.map("div", rest, count)),
        builder.map("fmod", rest, count),
    )
    if node.dtype is DType.UINT64:
        return total
    zero = builder.scalar(0, node.dtype)
    above, beyond = (builder.map("sign", each) for each in (total, rest))
    are_opposite = builder.map("equal", builder.map("add", above, beyond), zero)
    return builder.map("add", total, builder.map("where", are_opposite, beyond, zero))


def _absolute(builder: KernelBuilder, node: Node, axes: Sequence[int], keep: bool) -> Node:
    return reduced(builder, "add", builder.map("abs", node), axes, keep=keep)


def _squares(builder: KernelBuilder, node: Node, axes: Sequence[int], keep: bool) -> Node:
    return reduced(builder, "add", builder.map("mul", node, node), axes, keep=keep)


def _norm(builder: KernelBuilder, node: Node, axes: Sequence[int], keep: bool) -> Node:
    return builder.cast(
        builder.map("sqrt", as_floats(builder, _squares(builder, node, axes, keep))), node.dtype
    )


def _log_sum(builder: KernelBuilder, node: Node, axes: Sequence[int], keep: bool) -> Node:
    total = reduced(builder, "add", node, axes, keep=keep)
    return builder.cast(builder.map("log", as_floats(builder, total)), node.dtype)


def _log_sum_exp(builder: KernelBuilder, node: Node, axes: Sequence[int], keep: bool) -> Node:
    """Subtract the largest element before, and add it afterwards if it is finite."""
    given, node = node.dtype, as_floats(builder, node)
    most = reduced(builder, "max", node, axes, keep=True)
    size = builder.map("abs", most)
    is_finite = builder.map("less", size, builder.scalar(math.inf, node.dtype))
    shift = builder.map("where", is_finite, most, builder.scalar(0, node.dtype))
    total = reduced(
        builder, "add", builder.map("exp", builder.map("sub", node, shift)), axes, keep=True
    )
    result = builder.cast(builder.map("add", builder.map("log", total), shift), given)
    return result if keep else dropped(builder, result, axes)


def _reduction(
    form: Form, builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node:
    x = operands[0]
    rank = len(x.shape)
    axes = attributes.get("axes")
    if len(operands) > 1:
        axes = whole_numbers(operands[1], "axes")
    if not axes and attributes.get("noop_with_empty_axes"):
        chosen: set[int] = set()
    else:
        chosen = set(nonnegative_axes(axes, rank)) if axes else set(range(rank))
    return form(builder, x, sorted(chosen), bool(attributes["keepdims"]))


for _op, _form, *_versions in (
    ("ReduceSum", _plain("add"), 1, 11, 13), ("ReduceMax", _plain("max"), 1, 11, 12, 13, 18, 20),
    ("ReduceMin", _plain("min"), 1, 11, 12, 13, 18, 20),
    ("ReduceProd", _plain("mul"), 1, 11, 13, 18), ("ReduceMean", _mean, 1, 11, 13, 18),
    ("ReduceL1", _absolute, 1, 11, 13, 18), ("ReduceSumSquare", _squares, 1, 11, 13, 18),
    ("ReduceL2", _norm, 1, 11, 13, 18), ("ReduceLogSum", _log_sum, 1, 11, 13, 18, 28),
    ("ReduceLogSumExp", _log_sum_exp, 1, 11, 13, 18, 28),
):  # fmt: skip
    lowers(_op, *_versions)(in_float32(partial(_reduction, _form)))


def _softmax(
    builder: KernelBuilder, operands: Operands, attributes: Attributes, *, is_log: bool
) -> Node:
    """exp(x - max(x)) over its sum, or x - max(x) - log(sum(exp(x - max(x))))."""
    x: Node = operands[0]
    axes = [nonnegative_axis(attributes["axis"], len(x.shape))]
    if 0 in x.shape:
        return x
    shifted = builder.map("sub", x, reduced(builder, "max", x, axes, keep=True))
    powers = builder.map("exp", shifted)
    total = reduced(builder, "add", powers, axes, keep=True)
    if is_log:
        return builder.map("sub", shifted, builder.map("log", total))
    return builder.map("div", powers, total)


lowers("Softmax", 13)(in_float32(partial(_softmax, is_log=False)))
lowers("LogSoftmax", 13)(in_float32(partial(_softmax, is_log=True)))
