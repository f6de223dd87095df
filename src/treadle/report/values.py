"""Describes run-time values: type, range, mean and first elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from treadle.ir import Tensor, dtype_of
from treadle.report.text import plural, table

_FLOATS = 4
_OTHERS = 8
_ITEMS = 2


@dataclass(frozen=True, slots=True)
class ValueSummary:
    """One value: its type and, for numbers, range, mean and how many are not finite.

    `elements` are the first elements as text, `items` the first values of a sequence.
    """

    name: str
    type: str
    elements: tuple[str, ...] = ()
    size: int = 0
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    not_finite: int = 0
    items: tuple[ValueSummary, ...] = ()


def summarize_value(name: str, value: object) -> ValueSummary:
    """Summarize an array, a list for a sequence, a dict for a map, or None."""
    match value:
        case None:
            return ValueSummary(name, "absent")
        case list():
            items = (summarize_value(f"{name}[{k}]", v) for k, v in enumerate(value[:_ITEMS]))
            kind = f"sequence of {plural(len(value), 'value')}"
            return ValueSummary(name, kind, size=len(value), items=tuple(items))
        case dict():
            shown = tuple(f"{k}: {v}" for k, v in list(value.items())[:_OTHERS])
            kind = f"map of {plural(len(value), 'entry', 'entries')}"
            return ValueSummary(name, kind, shown, len(value))
        case _:
            return _array(name, np.asarray(value))


def show_values(values: Mapping[str, object]) -> str:
    """A table with one line per value, the items of sequences below theirs."""
    rows: list[tuple[str, ...]] = []
    for name, value in values.items():
        rows += _rows(summarize_value(name, value))
    return table(rows, ("name", "type", "min", "max", "mean", "first elements"))


def _array(name: str, array: np.ndarray) -> ValueSummary:
    kind = str(Tensor(dtype_of(array.dtype), tuple(array.shape)))
    shown = _OTHERS if array.dtype.kind in "bui" else _FLOATS
    items = array.reshape(-1)[:shown]
    elements = tuple(_exact(item) if array.size == 1 else _element(item) for item in items)
    numbers = _numbers(array)
    if numbers is None:
        return ValueSummary(name, kind, elements, array.size)
    finite = numbers[np.isfinite(numbers)]
    not_finite = numbers.size - finite.size
    if not finite.size:
        return ValueSummary(name, kind, elements, array.size, not_finite=not_finite)
    low, high, mean = float(finite.min()), float(finite.max()), float(finite.mean())
    return ValueSummary(name, kind, elements, array.size, low, high, mean, not_finite)


def _numbers(array: np.ndarray) -> np.ndarray | None:
    """The elements as float64 if they are ordered numbers."""
    if array.dtype.kind in "OUSTbc" or dtype_of(array.dtype) is None:
        return None
    return array.astype(np.float64).reshape(-1)


def _exact(item: object) -> str:
    """A single number, with enough digits to distinguish it from its neighbours."""
    return str(item).removesuffix(".0") if isinstance(item, np.floating) else _element(item)


def _element(item: object) -> str:
    plain = item.item() if isinstance(item, np.generic) else item
    if isinstance(plain, float):
        return f"{plain:.4g}"
    return repr(plain) if isinstance(plain, str) else str(plain)


def _elements(summary: ValueSummary) -> str:
    more = ", ..." if summary.elements and summary.size > len(summary.elements) else ""
    return ", ".join(summary.elements) + more


def _rows(summary: ValueSummary) -> Iterable[tuple[str, ...]]:
    numbers = ("" if x is None else f"{x:.5g}" for x in _range(summary))
    odd = f" ({summary.not_finite} not finite)" if summary.not_finite else ""
    yield (summary.name, summary.type, *numbers, _elements(summary) + odd)
    for item in summary.items:
        yield from _rows(item)
    if summary.items and summary.size > len(summary.items):
        yield (f"{summary.name}[...]", f"{summary.size - len(summary.items)} more")


def _range(summary: ValueSummary) -> tuple[float | None, float | None, float | None]:
    return summary.minimum, summary.maximum, summary.mean
