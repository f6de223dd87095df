"""Elementwise arithmetic and activations."""

from __future__ import annotations

from functools import reduce

import numpy as np

from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators.aligned import aligned
from treadle.formats.openvino.write.operators.registry import Made, operator, plain, register
from treadle.formats.openvino.write.refusals import Refusal
from treadle.ir import DType

plain(
    {
        "Abs": "Abs-1",
        "Sign": "Sign-1",
        "Neg": "Negative-1",
        "Floor": "Floor-1",
        "Ceil": "Ceiling-1",
        "Sqrt": "Sqrt-1",
        "Exp": "Exp-1",
        "Log": "Log-1",
        "Sin": "Sin-1",
        "Cos": "Cos-1",
        "Tan": "Tan-1",
        "Asin": "Asin-1",
        "Acos": "Acos-1",
        "Atan": "Atan-1",
        "Sinh": "Sinh-1",
        "Cosh": "Cosh-1",
        "Asinh": "Asinh-4",
        "Acosh": "Acosh-4",
        "Atanh": "Atanh-4",
        "Erf": "Erf-1",
        "Relu": "ReLU-1",
        "Sigmoid": "Sigmoid-1",
        "Tanh": "Tanh-1",
        "Softplus": "SoftPlus-4",
        "Softsign": "SoftSign-9",
        "HardSwish": "HSwish-4",
        "Mish": "Mish-4",
    }
)

_SMALL = {DType.UINT8: 8, DType.INT8: 8, DType.UINT16: 16, DType.INT16: 16}
"""The bits of types whose sums OpenVINO saturates and ONNX wraps around."""
_SIGNED = (DType.INT8, DType.INT16)


def _wrapping(kind: str, hand: OpContext, operands: tuple[Wire, ...]) -> Wire:
    dtype = hand.dtype(0)
    bits = _SMALL.get(dtype)
    if bits is None:
        return reduce(lambda one, two: hand.layer(kind, one, two), operands)
    wide = [hand.convert(wire, DType.INT32) for wire in operands]
    made = reduce(lambda one, two: hand.layer(kind, one, two), wide)
    half = hand.alike(made, 1 << (bits - 1)) if dtype in _SIGNED else None
    if half is not None:
        made = hand.layer("Add-1", made, half)
    made = hand.layer("FloorMod-1", made, hand.alike(made, 1 << bits))
    if half is not None:
        made = hand.layer("Subtract-1", made, half)
    return hand.convert(made, dtype)


def _arithmetic(op: str, kind: str) -> None:
    register(op, lambda hand: _wrapping(kind, hand, aligned(hand)), layer=kind)


for _op, _kind in (("Add", "Add-1"), ("Sub", "Subtract-1"), ("Mul", "Multiply-1")):
    _arithmetic(_op, _kind)


def _of_many(op: str, kind: str) -> None:
    register(
        op,
        lambda hand: reduce(lambda one, two: hand.layer(kind, one, two), hand.all()),
        layer=kind,
    )


for _op, _kind in (("Sum", "Add-1"), ("Max", "Maximum-1"), ("Min", "Minimum-1")):
    _of_many(_op, _kind)


@operator("Mean")
def mean(hand: OpContext) -> Made:
    """The sum divided by the number of operands."""
    wires = hand.all()
    total = reduce(lambda one, two: hand.layer("Add-1", one, two), wires)
    return hand.layer("Divide-1", total, hand.like(0, len(wires)))


@operator("Div")
def div(hand: OpContext) -> Made:
    """The quotient; integers are divided toward zero."""
    return hand.layer("Divide-1", *aligned(hand), m_pythondiv=False)


@operator("Reciprocal")
def reciprocal(hand: OpContext) -> Made:
    """1 / x."""
    return hand.layer("Divide-1", hand.like(0, 1), hand[0])


@operator("Mod")
def mod(hand: OpContext) -> Made:
    """The remainder with the sign of the divisor, or of the dividend."""
    return hand.layer("Mod-1" if hand.integer("fmod") else "FloorMod-1", *aligned(hand))


@operator("Pow")
def power(hand: OpContext) -> Made:
    """Power in the base's type; integers with a fractional exponent are computed in float."""
    base, exponent = aligned(hand)
    dtype, other = hand.dtype(0), hand.dtype(1)
    if hand.is_float(0) and _is_steep(hand.array(1)):
        exponent = _computed(hand, base, hand.convert(exponent, dtype))
        return hand.layer("Power-1", base, exponent)
    if dtype is other:
        return hand.layer("Power-1", base, exponent)
    if hand.is_float(0) or not hand.is_float(1):
        return hand.layer("Power-1", base, hand.convert(exponent, dtype))
    made = hand.layer("Power-1", hand.convert(base, other), exponent)
    return hand.convert(made, dtype)


_STEEP = 16
"""The greatest exponent for which repeated products have an error below 1e-6."""


def _is_steep(exponent: np.ndarray | None) -> bool:
    return exponent is not None and exponent.size == 1 and bool(np.abs(exponent) > _STEEP)


def _computed(hand: OpContext, base: Wire, exponent: Wire) -> Wire:
    """Make the exponent non-constant: add a NaN where the base is NaN, whose power is NaN anyway.

    OpenVINO's CPU plugin multiplies repeatedly for a constant integer exponent, and rounds each
    product: (1 + 1e-6) ** -100000 is off by 4e-4.
    """
    return hand.layer(
        "Select-1", hand.layer("NotEqual-1", base, base), hand.like(0, np.nan), exponent
    )


@operator("Clip")
def clip(hand: OpContext) -> Made:
    """Clip between two bounds; the upper one wins."""
    made = hand[0]
    for position, name, kind in ((1, "min", "Maximum-1"), (2, "max", "Minimum-1")):
        bound = hand[position] if hand.has(position) else None
        if bound is None and name in hand.attributes:
            bound = hand.like(0, hand.number(name))
        if bound is not None:
            made = hand.layer(kind, made, bound)
    return made


@operator("Round")
def round_(hand: OpContext) -> Made:
    """Round to the nearest integer, halves to even."""
    return hand.layer("Round-5", hand[0], mode="half_to_even")


@operator("Identity")
def identity(hand: OpContext) -> Made:
    """The operand itself; outside training nothing is dropped."""
    return hand[0]


@operator("Dropout")
def dropout(hand: OpContext) -> Made:
    """The operand itself and a mask of true: outside training nothing is dropped."""
    if hand.has(2) and hand.known(2, "training_mode").any():
        raise Refusal("it is in training mode", "export the model for inference")
    if not hand.wants(1):
        return hand[0]
    true = hand.constant(np.array(True))
    return hand[0], hand.layer("Broadcast-3", true, hand.shape_of(0), mode="numpy")


@operator("Cast")
def cast(hand: OpContext) -> Made:
    """Cast to another element type."""
    return _cast(hand, hand.result().dtype)


@operator("CastLike")
def cast_like(hand: OpContext) -> Made:
    """Cast to the element type of the second operand."""
    return _cast(hand, hand.dtype(1))


def _cast(hand: OpContext, dtype: DType | None) -> Wire:
    source = hand.dtype(0)
    if dtype is None or DType.STRING in (dtype, source):
        raise Refusal(f"it casts {source} to {dtype}: OpenVINO has no operators on strings")
    if dtype is DType.BOOL and source is not DType.BOOL:
        return hand.layer("NotEqual-1", hand[0], hand.like(0, 0))
    return hand.convert(hand[0], dtype)


@operator("Elu")
def elu(hand: OpContext) -> Made:
    """x, or alpha * (exp(x) - 1) below zero."""
    return hand.layer("Elu-1", hand[0], alpha=hand.number("alpha"))


@operator("Selu")
def selu(hand: OpContext) -> Made:
    """A scaled Elu."""
    return hand.layer("Selu-1", hand[0], hand.like(0, hand.number("alpha")),
                      hand.like(0, hand.number("gamma")))  # fmt: skip


@operator("HardSigmoid")
def hard_sigmoid(hand: OpContext) -> Made:
    """HardSigmoid: alpha * x + beta, between 0 and 1."""
    return hand.layer("HardSigmoid-1", hand[0], hand.like(0, hand.number("alpha")),
                      hand.like(0, hand.number("beta")))  # fmt: skip


@operator("LeakyRelu")
def leaky_relu(hand: OpContext) -> Made:
    """x, or alpha * x below zero."""
    return _leaking(hand, hand.like(0, hand.number("alpha")))


@operator("PRelu")
def prelu(hand: OpContext) -> Made:
    """x, or slope * x below zero; the slope broadcasts as in numpy."""
    return _leaking(hand, hand[1])


def _leaking(hand: OpContext, slope: Wire) -> Wire:
    zero = hand.like(0, 0)
    below = hand.layer("Multiply-1", hand.layer("Minimum-1", hand[0], zero), slope)
    return hand.layer("Add-1", hand.layer("Maximum-1", hand[0], zero), below)


@operator("Gelu")
def gelu(hand: OpContext) -> Made:
    """X * Phi(x), or its approximation by tanh."""
    mode = "TANH" if hand.text("approximate", "none") == "tanh" else "ERF"
    return hand.layer("Gelu-7", hand[0], approximation_mode=mode)


@operator("Softmax", "LogSoftmax")
def softmax(hand: OpContext) -> Made:
    """Softmax; before opset 13 over all axes from `axis` on."""
    kind = "SoftMax-8" if hand.leaf.op == "Softmax" else "LogSoftmax-5"
    rank = hand.rank(0)
    axis = hand.axis(default=-1 if hand.version >= 13 else 1)
    if hand.version >= 13 or axis == rank - 1:
        return hand.layer(kind, hand[0], axis=axis)
    front = hand.whole(1) if axis == 0 else None
    if front is None:
        parts = [hand.extent_of(0, k) for k in range(axis)]
        front = reduce(lambda one, two: hand.layer("Multiply-1", one, two), parts)
    flat = hand.layer("Concat-1", front, hand.whole(-1), axis=0)
    matrix = hand.layer("Reshape-1", hand[0], flat, special_zero=False)
    made = hand.layer(kind, matrix, axis=1)
    return hand.layer("Reshape-1", made, hand.shape_of(0), special_zero=False)


@operator("CumSum")
def cum_sum(hand: OpContext) -> Made:
    """Cumulative sums along an axis."""
    axis = hand.array(1)
    place = hand.reshape(hand[1], 1) if axis is None else None
    along = hand.scalar(int(np.reshape(axis, -1)[0])) if axis is not None else place
    assert along is not None, "one of both"
    if place is not None:
        along = hand.squeeze(place, 0)
    return hand.layer(
        "CumSum-3",
        hand[0],
        along,
        exclusive=bool(hand.integer("exclusive")),
        reverse=bool(hand.integer("reverse")),
    )
