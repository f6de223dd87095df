"""Sine and cosine by quarters of a turn, of floats of either width.

    x = k * pi / 2 + r      k is the nearest whole number
    sin r, cos r            of which the last bit of k selects one; the bit before it is the sign

The reductions and the series are those of a width (`narrow_trigonometric.py`,
`wide_trigonometric.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import element_type, every, like
from treadle.jit.codegen.scalar.exp_log import constant, fma


@dataclass(frozen=True, slots=True)
class QuarterTurns:
    """How a sine is computed in one float type, whose bits are an integer of type `whole`.

    Adding `magic` leaves the nearest whole number in the last bits. `reduced` makes r, as many
    numbers as `sine` and `cosine` take, from a float and k.
    """

    whole: Any
    magic: float
    reduced: Callable[..., tuple[Any, ...]]
    sine: Callable[..., Any]
    cosine: Callable[..., Any]


def sine_of(turns: QuarterTurns, quarters: int, builder: FunctionBuilder, value: Any) -> Any:
    """The sine of a number and of this many quarter turns more."""
    b, type_ = builder.builder, value.type
    whole, magic = like(type_, turns.whole), constant(type_, turns.magic)
    shifted = fma(builder, value, constant(type_, 2 / math.pi), magic)
    rest = turns.reduced(builder, value, b.fsub(shifted, magic))
    number = b.add(b.bitcast(shifted, whole), every(whole, quarters))
    is_odd = b.icmp_signed("!=", b.and_(number, every(whole, 1)), every(whole, 0))
    found = b.select(is_odd, turns.cosine(builder, *rest), turns.sine(builder, *rest))
    sign = b.shl(b.and_(number, every(whole, 2)), every(whole, element_type(whole).width - 2))
    return b.bitcast(b.xor(b.bitcast(found, whole), sign), type_)
