"""Reductions along axes."""

from __future__ import annotations

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.registry import Function, Made, operator, register
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import DType

_THREE = 3
_PLAIN = {
    "ReduceSum": "ReduceSum-1",
    "ReduceMean": "ReduceMean-1",
    "ReduceProd": "ReduceProd-1",
    "ReduceL1": "ReduceL1-4",
    "ReduceL2": "ReduceL2-4",
}


def _axes(context: OpContext) -> Wire | None:
    """The axes; None if nothing is to be reduced."""
    given = context.integers("axes")
    array = context.array(1)
    if array is not None:
        given = [int(axis) for axis in array.reshape(-1).tolist()]
    elif context.has(1) and context.extent(1, 0) == 0:
        given = []
    elif context.has(1):
        if not context.integer("keepdims", 1) and context.extent(1, 0) != 1:
            raise Refusal("its axes are computed, and it drops them", "make the axes a constant")
        return context[1]
    if given:
        rank = context.shape(0)
        return context.whole(*(a % len(rank) if rank else a for a in given))
    if context.integer("noop_with_empty_axes"):
        return None
    return context.whole(*range(context.rank(0)))


def _over(context: OpContext, kind: str, value: Wire, axes: Wire | None) -> Wire:
    if axes is None or (axes.array is not None and not axes.array.size):
        return value
    keeps = bool(context.integer("keepdims", 1))
    if keeps or not _is_last_of_three(context, axes):
        return context.layer(kind, value, axes, keep_dims=keeps)
    return context.layer("Squeeze-1", context.layer(kind, value, axes, keep_dims=True), axes)


def _is_last_of_three(context: OpContext, axes: Wire) -> bool:
    """Whether the only reduced axis may be the last of three.

    OpenVINO's CPU plugin treats a vector that is added to, or multiplied with, the result of such a
    reduction without keep_dims as lying along axis 1 of three; measured on 2026.4.1.
    """
    shape = context.shape(0)
    if shape is None or len(shape) != _THREE:
        return shape is None
    return axes.array is None or axes.array.reshape(-1).tolist() in ([_THREE - 1], [-1])


def _plain(kind: str) -> Function:
    return lambda context: _over(context, kind, context[0], _axes(context))


for _op, _kind in _PLAIN.items():
    register(_op, _plain(_kind), layer=_kind)


@operator("ReduceMax", "ReduceMin")
def extreme(context: OpContext) -> Made:
    """The maximum or minimum; for bools, whether any or all are true."""
    largest = context.leaf.op == "ReduceMax"
    if context.dtype(0) is DType.BOOL:
        kind = "ReduceMax-1" if largest else "ReduceMin-1"
        made = _over(context, kind, context.convert(context[0], DType.INT32), _axes(context))
        return context.layer("Greater-1", made, context.alike(made, 0))
    return _over(context, "ReduceMax-1" if largest else "ReduceMin-1", context[0], _axes(context))


@operator("ReduceSumSquare")
def sum_square(context: OpContext) -> Made:
    """The sum of squares."""
    return _over(
        context, "ReduceSum-1", context.layer("Multiply-1", context[0], context[0]), _axes(context)
    )


@operator("ReduceLogSum")
def log_sum(context: OpContext) -> Made:
    """The logarithm of the sum."""
    return context.layer("Log-1", _over(context, "ReduceSum-1", context[0], _axes(context)))


@operator("ReduceLogSumExp")
def log_sum_exp(context: OpContext) -> Made:
    """log(sum(exp(x - m))) + m, m being the largest where that is finite."""
    axes = _axes(context)
    if axes is None:
        return context[0]
    most = context.layer("ReduceMax-1", context[0], axes, keep_dims=True)
    infinite = context.layer("IsInf-10", most, detect_negative=True, detect_positive=True)
    shift = context.layer("Select-1", infinite, context.alike(most, 0), most)
    powers = context.layer("Exp-1", context.layer("Subtract-1", context[0], shift))
    made = context.layer("Log-1", _over(context, "ReduceSum-1", powers, axes))
    if not context.integer("keepdims", 1):
        shift = context.layer("ReduceMax-1", shift, axes, keep_dims=False)
    return context.layer("Add-1", made, shift)
