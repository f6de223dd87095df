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


def _wrapping(kind: str, context: OpContext, operands: tuple[Wire, ...]) -> Wire:
    dtype = context.dtype(0)
    bits = _SMALL.get(dtype)
    if bits is None:
        return reduce(lambda one, two: context.layer(kind, one, two), operands)
    wide = [context.convert(wire, DType.INT32) for wire in operands]
    made = reduce(lambda one, two: context.layer(kind, one, two), wide)
    half = context.alike(made, 1 << (bits - 1)) if dtype in _SIGNED else None
    if half is not None:
        made = context.layer("Add-1", made, half)
    made = context.layer("FloorMod-1", made, context.alike(made, 1 << bits))
    if half is not None:
        made = context.layer("Subtract-1", made, half)
    return context.convert(made, dtype)


def _arithmetic(op: str, kind: str) -> None:
    register(op, lambda context: _wrapping(kind, context, aligned(context)), layer=kind)


for _op, _kind in (("Add", "Add-1"), ("Sub", "Subtract-1"), ("Mul", "Multiply-1")):
    _arithmetic(_op, _kind)


def _of_many(op: str, kind: str) -> None:
    register(
        op,
        lambda context: reduce(lambda one, two: context.layer(kind, one, two), context.all()),
        layer=kind,
    )


for _op, _kind in (("Sum", "Add-1"), ("Max", "Maximum-1"), ("Min", "Minimum-1")):
    _of_many(_op, _kind)


@operator("Mean")
def mean(context: OpContext) -> Made:
    """The sum divided by the number of operands."""
    wires = context.all()
    total = reduce(lambda one, two: context.layer("Add-1", one, two), wires)
    return context.layer("Divide-1", total, context.like(0, len(wires)))


@operator("Div")
def div(context: OpContext) -> Made:
    """The quotient; integers are divided toward zero."""
    return context.layer("Divide-1", *aligned(context), m_pythondiv=False)


@operator("Reciprocal")
def reciprocal(context: OpContext) -> Made:
    """1 / x."""
    return context.layer("Divide-1", context.like(0, 1), context[0])


@operator("Mod")
def mod(context: OpContext) -> Made:
    """The remainder with the sign of the divisor, or of the dividend."""
    return context.layer("Mod-1" if context.integer("fmod") else "FloorMod-1", *aligned(context))


@operator("Pow")
def power(context: OpContext) -> Made:
    """Power in the base's type; integers with a fractional exponent are computed in float."""
    base, exponent = aligned(context)
    dtype, other = context.dtype(0), context.dtype(1)
    if context.is_float(0) and _is_steep(context.array(1)):
        exponent = _computed(context, base, context.convert(exponent, dtype))
        return context.layer("Power-1", base, exponent)
    if dtype is other:
        return context.layer("Power-1", base, exponent)
    if context.is_float(0) or not context.is_float(1):
        return context.layer("Power-1", base, context.convert(exponent, dtype))
    made = context.layer("Power-1", context.convert(base, other), exponent)
    return context.convert(made, dtype)


_STEEP = 16
"""The greatest exponent for which repeated products have an error below 1e-6."""


def _is_steep(exponent: np.ndarray | None) -> bool:
    return exponent is not None and exponent.size == 1 and bool(np.abs(exponent) > _STEEP)


def _computed(context: OpContext, base: Wire, exponent: Wire) -> Wire:
    """Make the exponent non-constant: add a NaN where the base is NaN, whose power is NaN anyway.

    OpenVINO's CPU plugin multiplies repeatedly for a constant integer exponent, and rounds each
    product: (1 + 1e-6) ** -100000 is off by 4e-4.
    """
    return context.layer(
        "Select-1", context.layer("NotEqual-1", base, base), context.like(0, np.nan), exponent
    )


@operator("Clip")
def clip(context: OpContext) -> Made:
    """Clip between two bounds; the upper one wins."""
    made = context[0]
    for position, name, kind in ((1, "min", "Maximum-1"), (2, "max", "Minimum-1")):
        bound = context[position] if context.has(position) else None
        if bound is None and name in context.attributes:
            bound = context.like(0, context.number(name))
        if bound is not None:
            made = context.layer(kind, made, bound)
    return made


@operator("Round")
def round_(context: OpContext) -> Made:
    """Round to the nearest integer, halves to even."""
    return context.layer("Round-5", context[0], mode="half_to_even")


@operator("Identity")
def identity(context: OpContext) -> Made:
    """The operand itself; outside training nothing is dropped."""
    return context[0]


@operator("Dropout")
def dropout(context: OpContext) -> Made:
    """The operand itself and a mask of true: outside training nothing is dropped."""
    if context.has(2) and context.known(2, "training_mode").any():
        raise Refusal("it is in training mode", "export the model for inference")
    if not context.wants(1):
        return context[0]
    true = context.constant(np.array(True))
    return context[0], context.layer("Broadcast-3", true, context.shape_of(0), mode="numpy")


@operator("Cast")
def cast(context: OpContext) -> Made:
    """Cast to another element type."""
    return _cast(context, context.result().dtype)


@operator("CastLike")
def cast_like(context: OpContext) -> Made:
    """Cast to the element type of the second operand."""
    return _cast(context, context.dtype(1))


def _cast(context: OpContext, dtype: DType | None) -> Wire:
    source = context.dtype(0)
    if dtype is None or DType.STRING in (dtype, source):
        raise Refusal(f"it casts {source} to {dtype}: OpenVINO has no operators on strings")
    if dtype is DType.BOOL and source is not DType.BOOL:
        return context.layer("NotEqual-1", context[0], context.like(0, 0))
    return context.convert(context[0], dtype)


@operator("Elu")
def elu(context: OpContext) -> Made:
    """x, or alpha * (exp(x) - 1) below zero."""
    return context.layer("Elu-1", context[0], alpha=context.number("alpha"))


@operator("Selu")
def selu(context: OpContext) -> Made:
    """A scaled Elu."""
    return context.layer("Selu-1", context[0], context.like(0, context.number("alpha")),
                      context.like(0, context.number("gamma")))  # fmt: skip


@operator("HardSigmoid")
def hard_sigmoid(context: OpContext) -> Made:
    """HardSigmoid: alpha * x + beta, between 0 and 1."""
    return context.layer("HardSigmoid-1", context[0], context.like(0, context.number("alpha")),
                      context.like(0, context.number("beta")))  # fmt: skip


@operator("LeakyRelu")
def leaky_relu(context: OpContext) -> Made:
    """x, or alpha * x below zero."""
    return _leaking(context, context.like(0, context.number("alpha")))


@operator("PRelu")
def prelu(context: OpContext) -> Made:
    """x, or slope * x below zero; the slope broadcasts as in numpy."""
    return _leaking(context, context[1])


def _leaking(context: OpContext, slope: Wire) -> Wire:
    zero = context.like(0, 0)
    below = context.layer("Multiply-1", context.layer("Minimum-1", context[0], zero), slope)
    return context.layer("Add-1", context.layer("Maximum-1", context[0], zero), below)


@operator("Gelu")
def gelu(context: OpContext) -> Made:
    """X * Phi(x), or its approximation by tanh."""
    mode = "TANH" if context.text("approximate", "none") == "tanh" else "ERF"
    return context.layer("Gelu-7", context[0], approximation_mode=mode)


@operator("Softmax", "LogSoftmax")
def softmax(context: OpContext) -> Made:
    """Softmax; before opset 13 over all axes from `axis` on."""
    kind = "SoftMax-8" if context.leaf.op == "Softmax" else "LogSoftmax-5"
    rank = context.rank(0)
    axis = context.axis(default=-1 if context.version >= 13 else 1)
    if context.version >= 13 or axis == rank - 1:
        return context.layer(kind, context[0], axis=axis)
    front = context.whole(1) if axis == 0 else None
    if front is None:
        parts = [context.extent_of(0, k) for k in range(axis)]
        front = reduce(lambda one, two: context.layer("Multiply-1", one, two), parts)
    flat = context.layer("Concat-1", front, context.whole(-1), axis=0)
    matrix = context.layer("Reshape-1", context[0], flat, special_zero=False)
    made = context.layer(kind, matrix, axis=1)
    return context.layer("Reshape-1", made, context.shape_of(0), special_zero=False)


@operator("CumSum")
def cum_sum(context: OpContext) -> Made:
    """Cumulative sums along an axis."""
    axis = context.array(1)
    index = context.reshape(context[1], 1) if axis is None else None
    along = context.scalar(int(np.reshape(axis, -1)[0])) if axis is not None else index
    assert along is not None, "one of both"
    if index is not None:
        along = context.squeeze(index, 0)
    return context.layer(
        "CumSum-3",
        context[0],
        along,
        exclusive=bool(context.integer("exclusive")),
        reverse=bool(context.integer("reverse")),
    )
