"""Statistics of a value over all iterations, which loops carry instead of the values.

elements           int64, their number
nans, infinite     int64, the numbers of NaNs and infinities; integers have none
sum                float64, of the finite elements
minimum, maximum   of the finite elements, in a type that holds them exactly; without any, the
                   largest and the smallest finite number of that type
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from treadle.ir import DType, Tensor, Value
from treadle.passes.exposing.writer import Writer

_EXACT_SINCE = 12
"""The opset from which Min and Max take whole numbers."""
_OF_INTEGERS = ("elements", "sum", "minimum", "maximum")
STATISTICS = (*_OF_INTEGERS, "nans", "infinite")
"""The kinds of statistics."""
_LIMITS = {"minimum": "max", "maximum": "min"}


def has_statistics(dtype: DType | None) -> bool:
    """Whether elements of this type have statistics: numbers and booleans."""
    return dtype is not None and dtype.numpy.kind not in "OUSc"


def statistics_of(dtype: DType) -> tuple[str, ...]:
    """The kinds of statistics of elements of a type."""
    return _OF_INTEGERS if _is_integer(dtype) else STATISTICS


def initial_statistic(kind: str, dtype: DType, writer: Writer) -> Value:
    """A statistic of no elements."""
    if kind in _LIMITS:
        return writer.constant(_limit(kind, _compared_type(dtype, writer.opset)))
    return writer.constant(np.array(0.0 if kind == "sum" else 0))


def updated(
    writer: Writer, value: Value, type_: Tensor, before: Mapping[str, Value]
) -> dict[str, Value]:
    """The statistics by kind, with the elements of a value added."""
    assert type_.dtype is not None, "else it has no statistics"
    made = _Elements(writer, value, type_)
    return made.of_integers(before) if _is_integer(type_.dtype) else made.of_floats(before)


def _limit(kind: str, dtype: DType) -> np.ndarray:
    """The minimum or maximum of no elements."""
    element: Any = dtype.numpy
    limits = np.iinfo(element) if _is_integer(dtype) else np.finfo(element)
    return np.array(getattr(limits, _LIMITS[kind]), element)


def _is_integer(dtype: DType) -> bool:
    return dtype.numpy.kind in "biu"


def _compared_type(dtype: DType, opset: int) -> DType:
    """The type in which elements are compared."""
    if not _is_integer(dtype):
        return DType.FLOAT64 if dtype is DType.FLOAT64 else DType.FLOAT32
    if opset < _EXACT_SINCE:
        return DType.FLOAT64
    return DType.UINT64 if dtype is DType.UINT64 else DType.INT64


class _Elements:
    """Writes the statistics of the elements of one value."""

    def __init__(self, writer: Writer, value: Value, type_: Tensor) -> None:
        self.leaf, self.constant = writer.leaf, writer.constant
        assert type_.dtype is not None, "else it has no statistics"
        self.value, self.is_scalar = value, type_.shape == ()
        self.compared = _compared_type(type_.dtype, writer.opset)
        self.numbers = self.leaf("Cast", value, to=self.compared)

    def of_integers(self, before: Mapping[str, Value]) -> dict[str, Value]:
        return {
            "elements": self.leaf("Add", before["elements"], self.leaf("Size", self.value)),
            "sum": self._plus(before["sum"], self.numbers),
            "minimum": self._extreme("Min", before["minimum"], self.numbers),
            "maximum": self._extreme("Max", before["maximum"], self.numbers),
        }

    def of_floats(self, before: Mapping[str, Value]) -> dict[str, Value]:
        leaf, numbers, dtype = self.leaf, self.numbers, self.compared.numpy
        zero, infinity = (self.constant(np.array(n, dtype)) for n in (0, np.inf))
        size, is_finite = leaf("Size", self.value), leaf("Less", leaf("Abs", numbers), infinity)
        finite = self._total(leaf("Cast", is_finite, to=DType.INT64))
        nans = self._total(leaf("Cast", leaf("IsNaN", numbers), to=DType.INT64))
        infinite = leaf("Sub", leaf("Sub", size, finite), nans)
        limits = [self.constant(_limit(kind, self.compared)) for kind in _LIMITS]
        summand, low, high = (leaf("Where", is_finite, numbers, n) for n in (zero, *limits))
        return {
            "elements": leaf("Add", before["elements"], size),
            "nans": leaf("Add", before["nans"], nans),
            "infinite": leaf("Add", before["infinite"], infinite),
            "sum": self._plus(before["sum"], summand),
            "minimum": self._extreme("Min", before["minimum"], low),
            "maximum": self._extreme("Max", before["maximum"], high),
        }

    def _plus(self, before: Value, numbers: Value) -> Value:
        return self.leaf("Add", before, self._total(self.leaf("Cast", numbers, to=DType.FLOAT64)))

    def _total(self, numbers: Value) -> Value:
        return self._reduced("ReduceSum", numbers)

    def _extreme(self, op: str, before: Value, numbers: Value) -> Value:
        return self.leaf(op, before, self._reduced(f"Reduce{op}", numbers))

    def _reduced(self, op: str, numbers: Value) -> Value:
        return numbers if self.is_scalar else self.leaf(op, numbers, keepdims=0)
