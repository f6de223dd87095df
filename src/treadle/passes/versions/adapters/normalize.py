"""Adapters for normalizations with changed operands or outputs, and recurrent layouts."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.steps import first, having, operand, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up


@up("BatchNormalization", 14)
def training_said(at: Rewriter, step: Leaf) -> Adapted:
    """Turn training by the number of outputs into the attribute."""
    if not any(step.results[1:]):
        return replace(step, results=step.results[:1])
    if any(step.results[3:]):
        raise NoForm("the saved mean and variance are outputs no longer")
    return having(replace(step, results=step.results[:3]), training_mode=1)


@down("BatchNormalization", 14)
def training_spelled_out(at: Rewriter, step: Leaf) -> Adapted:
    """Compute the batch's mean and variance explicitly for training."""
    given = at.attributes(step)
    if not given["training_mode"]:
        return without(replace(step, results=step.results[:1]), "training_mode")
    x, scale, bias, mean, variance = (operand(step, k) for k in range(5))
    assert x is not None
    assert scale is not None
    assert bias is not None
    rank = at.rank(x)
    axes = [k for k in range(rank) if k != 1]
    batch_mean = at.reduce("ReduceMean", x, axes)
    centred = at.op("Sub", x, batch_mean)
    batch_variance = at.reduce("ReduceMean", at.op("Mul", centred, centred), axes)
    deviation = at.op("Sqrt", at.op("Add", batch_variance, at.scalar_like(x, given["epsilon"])))
    columns = [at.unsqueeze(value, *range(1, rank - 1)) for value in (scale, bias)]
    made = at.op("Add", at.op("Mul", at.op("Div", centred, deviation), columns[0]), columns[1])
    running = [
        _moved(at, old, at.squeeze(new, *axes), given["momentum"])
        for old, new in ((mean, batch_mean), (variance, batch_variance))
    ]
    return [made, *running]


def _moved(at: Rewriter, old: Value | None, new: Value, momentum: float) -> Value:
    if old is None:
        raise NoForm("an operand is absent")
    kept = at.op("Mul", old, at.scalar_like(old, momentum))
    return at.op("Add", kept, at.op("Mul", new, at.scalar_like(new, 1 - momentum)))


@down("BatchNormalization", 15)
def one_type(at: Rewriter, step: Leaf) -> Adapted:
    """Cast scale and statistics to the dtype of the operand."""
    if at.attributes(step)["training_mode"]:
        return step
    dtype = at.dtype(first(step))
    rest = [v if v is None else at.cast(v, dtype) for v in step.operands[1:]]
    return replace(step, operands=(first(step), *rest))


@down("GroupNormalization", 21)
def only_by_its_definition(at: Rewriter, step: Leaf) -> Adapted:
    """Raise NoForm: version 18 has one scale per group, not per channel."""
    raise NoForm("GroupNormalization-18 has one scale for each group")


@up("GroupNormalization", 21)
def scale_of_channels(at: Rewriter, step: Leaf) -> Adapted:
    """Repeat the scale and bias of a group for each of its channels."""
    x, scale, bias = step.operands
    groups = at.attributes(step)["num_groups"]
    size = at.op("Div", at.extent(first(step), 1), at.ints(groups))
    wide = []
    for value in (scale, bias):
        assert value is not None
        rows = at.op("Expand", at.unsqueeze(value, 1), at.concat(at.ints(1), size))
        wide.append(at.reshape(rows, -1))
    return replace(step, operands=(x, *wide))


@down("RNN GRU LSTM", 14)
def time_first(at: Rewriter, step: Leaf) -> Adapted:
    """Transpose inputs and outputs of layout=1, which has the batch first."""
    if not at.attributes(step)["layout"]:
        return without(step, "layout")
    swap = {"perm": [1, 0, 2]}
    operands = list(step.operands)
    for position in (0, 5, 6):
        value = operand(step, position)
        if value is not None:
            operands[position] = at.op("Transpose", value, **swap)
    plain = {name: each for name, each in step.attributes.items() if name != "layout"}
    made = at.ops(step.op, len(step.results), *operands, **plain)
    orders = [[2, 0, 1, 3], [1, 0, 2], [1, 0, 2]]
    return [at.op("Transpose", y, perm=p) for y, p in zip(made, orders, strict=False)]


@down("CumSum", 14)
def wide_sums(at: Rewriter, step: Leaf) -> Adapted:
    """Compute float16 statistics in float32."""
    x = first(step)
    dtype = at.dtype(x)
    if dtype not in (DType.FLOAT16, DType.BFLOAT16):
        return step
    given = at.attributes(step)
    wide = at.cast(x, DType.FLOAT32)
    return at.cast(at.op("CumSum", wide, operand(step, 1), **given), dtype)
