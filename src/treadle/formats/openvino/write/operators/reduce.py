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


def _axes(hand: OpContext) -> Wire | None:
    """The axes; None if nothing is to be reduced."""
    given = hand.integers("axes")
    array = hand.array(1)
    if array is not None:
        given = [int(axis) for axis in array.reshape(-1).tolist()]
    elif hand.has(1) and hand.extent(1, 0) == 0:
        given = []
    elif hand.has(1):
        if not hand.integer("keepdims", 1) and hand.extent(1, 0) != 1:
            raise Refusal("its axes are computed, and it drops them", "make the axes a constant")
        return hand[1]
    if given:
        rank = hand.shape(0)
        return hand.whole(*(a % len(rank) if rank else a for a in given))
    if hand.integer("noop_with_empty_axes"):
        return None
    return hand.whole(*range(hand.rank(0)))


def _over(hand: OpContext, kind: str, value: Wire, axes: Wire | None) -> Wire:
    if axes is None or (axes.array is not None and not axes.array.size):
        return value
    keeps = bool(hand.integer("keepdims", 1))
    if keeps or not _is_last_of_three(hand, axes):
        return hand.layer(kind, value, axes, keep_dims=keeps)
    return hand.layer("Squeeze-1", hand.layer(kind, value, axes, keep_dims=True), axes)


def _is_last_of_three(hand: OpContext, axes: Wire) -> bool:
    """Whether the only reduced axis may be the last of three.

    OpenVINO's CPU plugin treats a vector that is added to, or multiplied with, the result of such a
    reduction without keep_dims as lying along axis 1 of three; measured on 2026.4.1.
    """
    shape = hand.shape(0)
    if shape is None or len(shape) != _THREE:
        return shape is None
    return axes.array is None or axes.array.reshape(-1).tolist() in ([_THREE - 1], [-1])


def _plain(kind: str) -> Function:
    return lambda hand: _over(hand, kind, hand[0], _axes(hand))


for _op, _kind in _PLAIN.items():
    register(_op, _plain(_kind), layer=_kind)


@operator("ReduceMax", "ReduceMin")
def extreme(hand: OpContext) -> Made:
    """The maximum or minimum; for bools, whether any or all are true."""
    largest = hand.leaf.op == "ReduceMax"
    if hand.dtype(0) is DType.BOOL:
        kind = "ReduceMax-1" if largest else "ReduceMin-1"
        made = _over(hand, kind, hand.convert(hand[0], DType.INT32), _axes(hand))
        return hand.layer("Greater-1", made, hand.alike(made, 0))
    return _over(hand, "ReduceMax-1" if largest else "ReduceMin-1", hand[0], _axes(hand))


@operator("ReduceSumSquare")
def sum_square(hand: OpContext) -> Made:
    """The sum of squares."""
    return _over(hand, "ReduceSum-1", hand.layer("Multiply-1", hand[0], hand[0]), _axes(hand))


@operator("ReduceLogSum")
def log_sum(hand: OpContext) -> Made:
    """The logarithm of the sum."""
    return hand.layer("Log-1", _over(hand, "ReduceSum-1", hand[0], _axes(hand)))


@operator("ReduceLogSumExp")
def log_sum_exp(hand: OpContext) -> Made:
    """log(sum(exp(x - m))) + m, m being the largest where that is finite."""
    axes = _axes(hand)
    if axes is None:
        return hand[0]
    most = hand.layer("ReduceMax-1", hand[0], axes, keep_dims=True)
    infinite = hand.layer("IsInf-10", most, detect_negative=True, detect_positive=True)
    shift = hand.layer("Select-1", infinite, hand.alike(most, 0), most)
    powers = hand.layer("Exp-1", hand.layer("Subtract-1", hand[0], shift))
    made = hand.layer("Log-1", _over(hand, "ReduceSum-1", powers, axes))
    if not hand.integer("keepdims", 1):
        shift = hand.layer("ReduceMax-1", shift, axes, keep_dims=False)
    return hand.layer("Add-1", made, shift)
