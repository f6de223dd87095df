"""Elementwise operators: arithmetic, logic, comparisons, casts, activations."""

from __future__ import annotations

import math
from functools import partial, reduce

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Constant, Elementwise, Node
from treadle.jit.lowering.registry import (
    NARROW,
    Attributes,
    Operands,
    as_floats,
    in_float32,
    lowers,
)

_FLOATS = (DType.FLOAT32, DType.FLOAT64)


def _plain(function: str, builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    return builder.map(function, *operands)


def _floating(function: str, builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    if operands[0].dtype not in _FLOATS:
        raise Declined(f"{function} of {operands[0].dtype}")
    return builder.map(function, *operands)


def _variadic(function: str, builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    made: Node = reduce(partial(builder.map, function), operands)
    return made


_TABLES = (
    (_plain, (
        ("Sub", "sub", 7, 13, 14), ("Mul", "mul", 7, 13, 14),
        ("Div", "div", 7, 13, 14), ("Abs", "abs", 1, 6, 13), ("Neg", "neg", 1, 6, 13),
        ("Sign", "sign", 9, 13), ("And", "and", 7), ("Or", "or", 7), ("Xor", "xor", 7),
        ("Not", "not", 1), ("BitwiseAnd", "and", 18), ("BitwiseOr", "or", 18),
        ("BitwiseXor", "xor", 18), ("BitwiseNot", "not", 18),
        ("Equal", "equal", 7, 11, 13, 19), ("Greater", "greater", 7, 9, 13),
        ("Less", "less", 7, 9, 13), ("GreaterOrEqual", "greater_equal", 12, 16),
        ("LessOrEqual", "less_equal", 12, 16), ("Where", "where", 9, 16),
    )),
    (_floating, (
        ("Ceil", "ceil", 1, 6, 13), ("Floor", "floor", 1, 6, 13), ("Round", "round", 11, 22),
        ("Exp", "exp", 1, 6, 13), ("Log", "log", 1, 6, 13), ("Sqrt", "sqrt", 1, 6, 13),
        ("Tanh", "tanh", 1, 6, 13), ("Sin", "sin", 7, 22), ("Cos", "cos", 7, 22),
        ("Tan", "tan", 7, 22), ("Acos", "acos", 7, 22), ("Asin", "asin", 7, 22),
        ("Atan", "atan", 7, 22), ("Cosh", "cosh", 9, 22), ("Sinh", "sinh", 9, 22),
        ("Acosh", "acosh", 9, 22), ("Asinh", "asinh", 9, 22), ("Atanh", "atanh", 9, 22),
        ("Sigmoid", "sigmoid", 1, 6, 13), ("Softplus", "softplus", 1, 22),
        ("Reciprocal", "reciprocal", 1, 6, 13),
    )),
    (_variadic, (
        ("Max", "max", 1, 6, 8, 12, 13), ("Min", "min", 1, 6, 8, 12, 13),
        ("Sum", "add", 1, 6, 8, 13),
    )),
)  # fmt: skip
for _kind, _rows in _TABLES:
    for _op, _function, *_versions in _rows:
        lowers(_op, *_versions)(in_float32(partial(_kind, _function)))


@lowers("Add", 7, 13, 14)
@in_float32
def add(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The sum; 1 + erf(x) becomes erfc(-x), which is exact where erf is near -1."""
    for one, other in (operands, operands[::-1]):
        if _is_one(one, len(other.shape)) and other.op == Elementwise("erf"):
            return builder.map("erfc", builder.map("neg", other.operands[0]))
    return builder.map("add", *operands)


def _is_one(node: Node, most_axes: int) -> bool:
    """Whether it is the number 1, broadcastable to an operand of this rank."""
    if not isinstance(node.op, Constant) or node.op.array.size != 1:
        return False
    return len(node.shape) <= most_axes and bool(node.op.array.item() == 1)


@lowers("Mean", 1, 6, 8, 13)
@in_float32
def mean(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The sum divided by the number of operands."""
    total = reduce(partial(builder.map, "add"), operands)
    return builder.map("div", total, builder.scalar(len(operands), total.dtype))


@lowers("Erf", 9, 13)
@in_float32
def error_function(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The Gauss error function; for an integer it is -1, 0 or 1."""
    (x,) = operands
    return builder.cast(builder.map("erf", as_floats(builder, x)), x.dtype)


@lowers("IsNaN", 9, 13, 20)
@in_float32
def is_nan(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """X != x."""
    return builder.map("not_equal", operands[0], operands[0])


@lowers("IsInf", 10, 20)
@in_float32
def is_infinite(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Equal to an infinity of a requested sign."""
    x = operands[0]
    signs = ((math.inf, "detect_positive"), (-math.inf, "detect_negative"))
    found = [
        builder.map("equal", x, builder.scalar(value, x.dtype))
        for value, name in signs
        if attributes[name]
    ]
    return (
        builder.map("or", *found) if len(found) > 1 else found[0] if found else _never(builder, x)
    )


def _never(builder: KernelBuilder, node: Node) -> Node:
    return builder.map("and", builder.map("equal", node, node), builder.scalar(False, DType.BOOL))


@lowers("Mod", 10, 13, 28)
@in_float32
def modulo(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The remainder with the sign of the divisor, or of the dividend for fmod."""
    return builder.map("fmod" if attributes["fmod"] else "mod", *operands)


@lowers("Pow", 7, 12, 13, 15)
@in_float32
def power(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """Power in the dtype of the base; mixed dtypes compute in float64, integers wrap around."""
    base, exponent = operands
    factors = _factors(base, exponent)
    if factors is not None:
        return _product_of(builder, base, factors)
    if base.dtype == exponent.dtype and base.dtype in _FLOATS:
        return builder.map("pow", base, exponent)
    if base.dtype is DType.BOOL or exponent.dtype is DType.BOOL:
        raise Declined("Pow of bool")
    wider = [builder.cast(operand, DType.FLOAT64) for operand in operands]
    inexact = builder.cast(builder.map("pow", *wider), base.dtype)
    if base.dtype in _FLOATS:
        return _with_sign(builder, base, exponent, inexact)
    if exponent.dtype in _FLOATS:
        return inexact
    signed = exponent.dtype.numpy.kind == "i"
    exact = builder.map(
        "whole_pow", base, builder.cast(exponent, DType.INT64 if signed else DType.UINT64)
    )
    if not signed:
        return exact
    below = builder.map("less", exponent, builder.scalar(0, exponent.dtype))
    units = [1, -1] if base.dtype.numpy.kind == "i" else [1]
    for unit in units:
        is_other = builder.map("not_equal", base, builder.scalar(unit, base.dtype))
        below = builder.map("and", below, is_other)
    return builder.map("where", below, inexact, exact)


def _factors(base: Node, exponent: Node) -> int | None:
    """How many factors give a power of floats, if they give it as exactly; None if others do.

    In float64 the square of a float32 is exact, and one product more is rounded once.
    """
    if not isinstance(exponent.op, Constant) or not exponent.is_single:
        return None
    most = {DType.FLOAT32: 3, DType.FLOAT64: 2}.get(base.dtype, 0)
    number = exponent.op.array.item()
    is_small = number in range(2, most + 1) and len(exponent.shape) <= len(base.shape)
    return int(number) if is_small else None


def _product_of(builder: KernelBuilder, base: Node, factors: int) -> Node:
    """The base times itself."""
    if factors == 2:
        return builder.map("mul", base, base)
    wide = builder.cast(base, DType.FLOAT64)
    return builder.cast(builder.map("mul", builder.map("mul", wide, wide), wide), base.dtype)


def _with_sign(builder: KernelBuilder, base: Node, exponent: Node, power: Node) -> Node:
    """The power, negative if an odd exponent lost its last bit in float64."""
    if exponent.dtype not in (DType.INT64, DType.UINT64) or _is_small(exponent):
        return power
    two, zero = builder.scalar(2, exponent.dtype), builder.scalar(0, exponent.dtype)
    is_odd = builder.map("not_equal", builder.map("mod", exponent, two), zero)
    is_below = builder.map("less", base, builder.scalar(0, base.dtype))
    negative = builder.map("neg", builder.map("abs", power))
    return builder.map("where", builder.map("and", is_odd, is_below), negative, power)


def _is_small(exponent: Node) -> bool:
    """Whether it is known, and exact in float64."""
    if not isinstance(exponent.op, Constant):
        return False
    return all(abs(int(each)) <= 2**53 for each in exponent.op.array.flat)


@lowers("BitShift", 11, 28)
def bit_shift(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Shift bits; those shifted out are lost, a right shift of a signed number keeps its sign."""
    shift = {"LEFT": "shl", "RIGHT": "shr"}.get(attributes["direction"])
    if shift is None:
        raise Declined(f"a shift to {attributes['direction']}")
    return builder.map(shift, *operands)


@lowers("BitCast", 26)
def bit_cast(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Reinterpret the bits as another type of the same width."""
    x, to = operands[0], ops.element_from_proto(attributes["to"])
    opaque = (DType.BOOL, *NARROW)
    if to is None or to in opaque or x.dtype in opaque or to.bits != x.dtype.bits:
        raise Declined(f"the bits of {x.dtype} as {to}")
    return builder.map("bits", x, dtype=to)


@lowers("Cast", 6, 9, 13, 19, 21, 23, 24, 25, 28)
def cast(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The elements in another dtype."""
    to = ops.element_from_proto(attributes["to"])
    if to is None:
        raise Declined("a cast to an unknown type")
    return builder.cast(operands[0], to)


@lowers("Cast", 1)
def cast_1(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Cast-1: the attribute `to` names the type in words."""
    word = str(attributes["to"])
    found = {"FLOAT": DType.FLOAT32, "DOUBLE": DType.FLOAT64}.get(word)
    return builder.cast(operands[0], found or DType(word.lower()))


@lowers("CastLike", 15, 19, 21, 23, 24, 25)
def cast_like(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """The elements in the dtype of the other operand."""
    return builder.cast(operands[0], operands[1].dtype)


@lowers("Relu", 1, 6, 13, 14)
@in_float32
def relu(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """max(x, 0)."""
    return builder.map("max", operands[0], builder.scalar(0, operands[0].dtype))


@lowers("Clip", 11, 12, 13)
@in_float32
def clip(builder: KernelBuilder, operands: Operands, _: Attributes) -> Node:
    """min(max(x, low), high)."""
    x, low, high = (*operands, None, None)[:3]
    assert x is not None
    return _clipped(builder, x, low, high)


@lowers("Clip", 1, 6)
@in_float32
def clip_6(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Clip-6: the bounds are attributes."""
    x = operands[0]
    low, high = (attributes.get(name) for name in ("min", "max"))
    bounds = [None if bound is None else builder.scalar(bound, x.dtype) for bound in (low, high)]
    return _clipped(builder, x, *bounds)


def _clipped(builder: KernelBuilder, node: Node, low: Node | None, high: Node | None) -> Node:
    for function, bound in (("max", low), ("min", high)):
        if bound is not None:
            node = builder.map(function, node, builder.reshape(bound, ()))
    return node
