"""Adapters for arithmetic, comparisons and other elementwise operators."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.powers import float_remainder, sign, whole_power
from treadle.passes.versions.adapters.steps import first, having, operand, two, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up

_FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16)
_NARROW = (DType.FLOAT16, DType.BFLOAT16)
_FEWER_WHERE = (DType.UINT64, DType.UINT32, DType.UINT16, DType.INT16, DType.INT8)
"""Element types for which runtimes often lack Where."""
_LOWEST, _HIGHEST = -3.4028234663852886e38, 3.4028234663852886e38
_UNSIGNED = {
    DType.INT8: DType.UINT8, DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32, DType.INT64: DType.UINT64,
}  # fmt: skip
_NO_WHERE = (DType.INT8, DType.INT16, DType.UINT16)
"""Element types for which onnxruntime has no kernel of Where."""
_BITS = {DType.UINT8: 8, DType.UINT16: 16, DType.UINT32: 32, DType.UINT64: 64}


@up("Clip", 11)
def bounds_to_inputs(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the bounds into inputs; default bounds are left out."""
    given, x = at.attributes(step), first(step)
    low = at.scalar_like(x, given["min"]) if given["min"] > _LOWEST else None
    high = at.scalar_like(x, given["max"]) if given["max"] < _HIGHEST else None
    return replace(without(step, "min", "max"), operands=(x, low, high))


@down("Clip", 11)
def bounds_to_attributes(at: Rewriter, step: Leaf) -> Adapted:
    """Turn constant bounds into attributes, others into Max and Min."""
    x, low, high = first(step), operand(step, 1), operand(step, 2)
    bounds = [at.array(low), at.array(high)]
    narrow = at.dtype(x) in (DType.FLOAT16, DType.FLOAT32)
    known = all(a is not None or v is None for a, v in zip(bounds, (low, high), strict=True))
    if not (narrow and known):
        x = at.op("Max", x, low) if low else x
        return at.op("Min", x, high) if high else x
    least, most = (None if a is None else float(a.item()) for a in bounds)
    return having(replace(step, operands=(x,)), min=least, max=most)


@down("Clip", 12)
def clip_whole(at: Rewriter, step: Leaf) -> Adapted:
    """Clip integers by Max and Min."""
    x, low, high = first(step), operand(step, 1), operand(step, 2)
    if at.dtype(x) in _FLOATS:
        return step
    x = _extreme(at, "Greater", x, low) if low else x
    return _extreme(at, "Less", x, high) if high else x


@down("Max Min", 12)
def extremes(at: Rewriter, step: Leaf) -> Adapted:
    """Replace Max or Min of integers by comparisons and selects, two operands at a time."""
    values = [value for value in step.operands if value is not None]
    if at.dtype(values[0]) in _FLOATS:
        return step
    compare = "Greater" if step.op == "Max" else "Less"
    return reduce(lambda a, b: _extreme(at, compare, a, b), values)


def _extreme(at: Rewriter, compare: str, a: Value, b: Value) -> Value:
    dtype = at.dtype(a)
    chosen = at.op(compare, a, b)
    if dtype not in _FEWER_WHERE:
        return at.op("Where", chosen, a, b)
    made = at.op("Where", chosen, at.cast(a, DType.INT64), at.cast(b, DType.INT64))
    return at.cast(made, dtype)  # the cast keeps the bits, whatever they mean


@down("Relu", 14)
def relu_whole(at: Rewriter, step: Leaf) -> Adapted:
    """Relu of integers: the greater of the operand and 0."""
    x = first(step)
    if at.dtype(x) in _FLOATS:
        return step
    return _extreme(at, "Greater", x, at.scalar_like(x, 0))


def _loses_exponents(base: DType, exponent: DType, array: np.ndarray | None) -> bool:
    """Whether a base of 16 bits has not the precision of the exponents: 2049 is none of float16."""
    if base not in _NARROW or exponent is base:
        return False
    if array is None:
        return True
    with np.errstate(all="ignore"):  # an exponent beyond float16 becomes infinite
        return bool((array.astype(base.numpy).astype(np.float64) != array).any())


@down("Pow", 12)
def pow_of_one_type(at: Rewriter, step: Leaf) -> Adapted:
    """Cast base and exponent to one float type."""
    x, y = two(step)
    base, exponent = at.dtype(x), at.dtype(y)
    array = at.array(y)
    if base in _FLOATS and not _loses_exponents(base, exponent, array):
        return replace(step, operands=(x, at.cast(y, base))) if exponent is not base else step
    if array is not None and array.size == 1 and array.item() in (1, 2, 3, 4):
        return reduce(lambda a, b: at.op("Mul", a, b), [x] * int(array.item()))
    if exponent not in _FLOATS and base not in _FLOATS:
        return whole_power(at, x, y)
    made = at.op("Pow", at.cast(x, DType.FLOAT64), at.cast(y, DType.FLOAT64))
    return at.cast(made, base)


@down("Pow", 15)
def exponent_of_bfloat16(at: Rewriter, step: Leaf) -> Adapted:
    """Cast an exponent of bfloat16."""
    x, y = two(step)
    if at.dtype(y) is not DType.BFLOAT16:
        return step
    return replace(step, operands=(x, at.cast(y, DType.FLOAT32)))


@down("Equal", 11)
def equal_floats(at: Rewriter, step: Leaf) -> Adapted:
    """Floats are equal if neither is greater and neither is NaN."""
    x, y = two(step)
    dtype = at.dtype(x)
    if dtype in (DType.BOOL, DType.INT32, DType.INT64):
        return step
    if dtype is DType.STRING:
        raise NoForm("Equal-7 does not take string")
    differ = at.op("Or", at.op("Less", x, y), at.op("Greater", x, y))
    if dtype in _FLOATS:
        nan = at.op("Or", at.op("IsNaN", x), at.op("IsNaN", y))
        differ = at.op("Or", differ, nan)
    return at.op("Not", differ)


@down("GreaterOrEqual LessOrEqual", 12)
def or_equal(at: Rewriter, step: Leaf) -> Adapted:
    """One of both comparisons holds."""
    x, y = two(step)
    strict = step.op.removesuffix("OrEqual")
    return at.op("Or", at.op(strict, x, y), at.op("Equal", x, y))


@down("IsInf", 10)
def is_infinite(at: Rewriter, step: Leaf) -> Adapted:
    """Compare with the greatest finite number."""
    x, given = first(step), at.attributes(step)
    dtype = at.dtype(x)
    if dtype not in (DType.FLOAT32, DType.FLOAT64):
        x, dtype = at.cast(x, DType.FLOAT32), DType.FLOAT32
    most = float(np.finfo(np.float64 if dtype is DType.FLOAT64 else np.float32).max)
    up_, down_ = given["detect_positive"], given["detect_negative"]
    above = at.op("Greater", x, at.const(most, dtype)) if up_ else None
    below = at.op("Less", x, at.const(-most, dtype)) if down_ else None
    if above is not None and below is not None:
        return at.op("Or", above, below)
    return above or below or at.full_like(x, False, DType.BOOL)


@down("IsInf", 20)
def is_infinite_narrow(at: Rewriter, step: Leaf) -> Adapted:
    """Cast narrow floats first."""
    x = first(step)
    if at.dtype(x) in (DType.FLOAT32, DType.FLOAT64):
        return step
    return replace(step, operands=(at.cast(x, DType.FLOAT32),))


@down("Round", 11)
def round_half_to_even(at: Rewriter, step: Leaf) -> Adapted:
    """Round half to even."""
    return rounded_to_even(at, first(step))


def rounded_to_even(at: Rewriter, x: Value) -> Value:
    """The integer below, or one more, without a rounding operator."""
    below, half = at.op("Floor", x), at.scalar_like(x, 0.5)
    rest = at.op("Sub", x, below)
    doubled = at.op("Mul", at.op("Floor", at.op("Mul", below, half)), at.scalar_like(x, 2))
    is_odd = at.op("Greater", at.op("Sub", below, doubled), half)
    is_middle = at.op("Not", at.op("Or", at.op("Less", rest, half), at.op("Greater", rest, half)))
    up_ = at.op("Or", at.op("Greater", rest, half), at.op("And", is_middle, is_odd))
    one, zero = at.scalar_like(x, 1), at.scalar_like(x, 0)
    near = at.op("Add", below, at.op("Where", up_, one, zero))
    # an infinity has no fraction
    return at.op("Where", at.op("IsNaN", rest), x, near)


@down("Mod", 10)
def remainder(at: Rewriter, step: Leaf) -> Adapted:
    """The remainder of a division that rounds toward zero (fmod) or down."""
    x, y = two(step)
    if at.dtype(x) in _FLOATS:
        return float_remainder(at, x, y)
    rest = at.op("Sub", x, at.op("Mul", at.op("Div", x, y), y))
    if at.attributes(step)["fmod"]:
        return rest
    return _with_sign_of(at, rest, y)


def _with_sign_of(at: Rewriter, rest: Value, divisor: Value) -> Value:
    """A remainder with the sign of the divisor, from one with the sign of the dividend."""
    dtype = at.dtype(rest)
    if dtype in _BITS:
        return rest
    if dtype in _NO_WHERE:
        wide = (at.cast(value, DType.INT32) for value in (rest, divisor))
        return at.cast(_with_sign_of(at, *wide), dtype)
    zero = at.scalar_like(divisor, 0)
    crossed = at.op("Xor", at.op("Less", rest, zero), at.op("Less", divisor, zero))
    wrong = at.op("And", crossed, at.op("Not", at.op("Equal", rest, zero)))
    return at.op("Where", wrong, at.op("Add", rest, divisor), rest)


@down("BitShift", 11)
def shift_by_power(at: Rewriter, step: Leaf) -> Adapted:
    """Shift by multiplying or dividing by a power of two, in int64."""
    x, y = two(step)
    dtype = at.dtype(x)
    bits = _BITS[dtype]
    wide, most = at.cast(x, DType.INT64), at.const(np.int64(bits))
    # a shift of 2^63 or more is negative as int64
    count = at.cast(y, DType.INT64)
    is_inside = at.op("Not", at.op("Less", count, at.const(np.int64(0))))
    is_inside = at.op("And", is_inside, at.op("Less", count, most))
    count = at.op("Where", is_inside, count, most)
    if at.attributes(step)["direction"] == "LEFT":
        return at.cast(at.op("Mul", wide, _power(at, count)), dtype)
    return at.cast(_shifted_right(at, wide, count), dtype)


def _power(at: Rewriter, count: Value) -> Value:
    """2^count modulo 2^64 for counts from 0 to 64, as the bits of an int64."""
    powers = np.array([2**k % 2**64 for k in range(65)], np.uint64)
    return at.op("Gather", at.const(powers.view(np.int64)), count, axis=0)


def _shifted_right(at: Rewriter, x: Value, count: Value) -> Value:
    """The bits of an int64 as those of an unsigned number: its top bit moves by itself."""
    zero, longest = at.const(np.int64(0)), at.const(np.int64(62))
    is_top = at.op("Less", x, zero)
    rest = at.op("Where", is_top, at.op("Sub", x, at.const(np.int64(-(2**63)))), x)
    is_short = at.op("Less", count, at.const(np.int64(63)))
    divisor = _power(at, at.op("Where", is_short, count, longest))
    moved = at.op("Where", is_short, at.op("Div", rest, divisor), zero)
    tops = np.array([2 ** (63 - k) if k < 64 else 0 for k in range(65)], np.uint64)
    top = at.op("Gather", at.const(tops.view(np.int64)), count, axis=0)
    return at.op("Add", moved, at.op("Where", is_top, top, zero))


@down("BitwiseNot", 18)
def complement(at: Rewriter, step: Leaf) -> Adapted:
    """The difference to all ones: the greatest number, or -1 for signed ones."""
    x = first(step)
    dtype = at.dtype(x)
    ones = 2 ** _BITS[dtype] - 1 if dtype in _BITS else -1
    return at.op("Sub", at.const(np.array(ones, dtype.numpy)), x)


@down("BitwiseAnd BitwiseOr BitwiseXor", 18)
def bitwise(at: Rewriter, step: Leaf) -> Adapted:
    """Combine the bits along a new axis, and sum them up again."""
    x, y = two(step)
    dtype, rank = at.dtype(x), max(at.rank(x), at.rank(y))
    count = dtype.numpy.itemsize * 8
    logic = {"BitwiseAnd": "And", "BitwiseOr": "Or", "BitwiseXor": "Xor"}[step.op]
    combined = at.op(logic, _bits(at, x, count), _bits(at, y, count))
    powers = at.const((1 << np.arange(count, dtype=np.uint64)).astype(np.int64))
    chosen = at.op("Where", combined, powers, at.const(np.array(0)))
    return at.cast(at.reduce("ReduceSum", chosen, [rank], keepdims=False), dtype)


def _bits(at: Rewriter, x: Value, count: int) -> Value:
    """The lowest bits of integers along a new last axis, bool."""
    column = at.unsqueeze(at.cast(x, DType.INT64), at.rank(x))
    zero = at.const(np.array(0))
    negative = at.op("Less", column, zero)
    rest = at.op("Where", negative, at.op("Sub", column, at.const(np.array(-(2**63)))), column)
    low = min(count, 63)
    halves = [at.op("Div", rest, at.const(2 ** np.arange(low, dtype=np.int64)))]
    halves.append(at.op("Div", halves[0], at.const(np.array(2))))
    odd = at.op("Sub", halves[0], at.op("Mul", halves[1], at.const(np.array(2))))
    bits = at.cast(odd, DType.BOOL)
    return bits if low == count else at.concat(bits, negative, axis=at.rank(x))


@down("ReduceMax ReduceMin", 20)
def extremes_of_truth(at: Rewriter, step: Leaf) -> Adapted:
    """Cast bools to bytes to compare them."""
    x = first(step)
    if at.dtype(x) is not DType.BOOL:
        return step
    given = {n: a for n, a in at.attributes(step).items() if n in step.attributes}
    made = at.op(step.op, at.cast(x, DType.UINT8), *step.operands[1:], **given)
    return at.cast(made, DType.BOOL)


@down("Bernoulli", 15)
def uniform_below(at: Rewriter, step: Leaf) -> Adapted:
    """Whether a uniform random number lies below the probability.

    The schema's function compares the other way round, against the operator's text.
    """
    x = first(step)
    seed = {"seed": step.attributes["seed"].value} if "seed" in step.attributes else {}
    number = at.op("RandomUniformLike", x, **seed)
    return at.cast(at.op("Less", number, x), at.dtype(step.results[0]))


@down("Swish", 24)
def swish(at: Rewriter, step: Leaf) -> Adapted:
    """X * sigmoid(alpha * x)."""
    x, alpha = first(step), at.attributes(step)["alpha"]
    scaled = x if alpha == 1 else at.op("Mul", x, at.scalar_like(x, alpha))
    return at.op("Mul", x, at.op("Sigmoid", scaled))


@down("Mod", 28)
def floored_float_remainder(at: Rewriter, step: Leaf) -> Adapted:
    """The remainder with the sign of the divisor, from one with the sign of the dividend."""
    x, y = two(step)
    if at.attributes(step)["fmod"] or at.dtype(x) not in _FLOATS:
        return step
    made = _with_sign_of(at, at.op("Mod", x, y, fmod=1), y)
    return at.op("Mul", at.op("Abs", made), sign(at, y))  # a zero has it too


@down("BitShift", 28)
def shift_of_signed(at: Rewriter, step: Leaf) -> Adapted:
    """Shift signed numbers as unsigned bits; negative ones to the right by their complement."""
    x, y = two(step)
    dtype = at.dtype(x)
    unsigned = _UNSIGNED.get(dtype)
    if unsigned is None:
        return step
    way, count = at.attributes(step)["direction"], at.cast(y, unsigned)
    if way == "LEFT":
        return at.cast(at.op("BitShift", at.cast(x, unsigned), count, direction=way), dtype)
    wide = at.cast(x, DType.INT32) if dtype in _NO_WHERE else x
    ones = at.scalar_like(wide, -1)
    negative = at.op("Less", wide, at.scalar_like(wide, 0))
    bits = at.op("Where", negative, at.op("Sub", ones, wide), wide)
    made = at.op("BitShift", at.cast(bits, unsigned), count, direction=way)
    made = at.cast(made, at.dtype(wide))
    return at.cast(at.op("Where", negative, at.op("Sub", ones, made), made), dtype)
