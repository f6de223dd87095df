"""Helpers of adapters: copies of a step with other attributes, and its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from treadle.ir import DType, Leaf, Value, attribute
from treadle.passes.versions.no_form import NoForm
from treadle.passes.versions.rewriter import Rewriter


def without(step: Leaf, *names: str) -> Leaf:
    """The step without these attributes."""
    return replace(step, attributes={n: a for n, a in step.attributes.items() if n not in names})


def having(step: Leaf, **attributes: object) -> Leaf:
    """The step with these attributes; one that is None is removed."""
    given = {name: attribute(name, each) for name, each in attributes.items() if each is not None}
    kept = {name: each for name, each in step.attributes.items() if name not in attributes}
    return replace(step, attributes={**kept, **given})


def operand(step: Leaf, position: int) -> Value | None:
    """The operand at a position; None if it is absent."""
    return step.operands[position] if position < len(step.operands) else None


def first(step: Leaf) -> Value:
    """The first operand, which is required."""
    value = operand(step, 0)
    if value is None:
        raise NoForm("its first operand is absent")
    return value


def two(step: Leaf) -> tuple[Value, Value]:
    """The first two operands, which are required."""
    second = operand(step, 1)
    if second is None:
        raise NoForm("its second operand is absent")
    return first(step), second


def float_for(dtype: DType) -> DType:
    """The element type to compute in: float64 for float64, float32 for any other."""
    return DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32


def product_of(at: Rewriter, values: Sequence[Value]) -> Value:
    """The product of some tensors."""
    return reduce(lambda a, b: at.op("Mul", a, b), values)
