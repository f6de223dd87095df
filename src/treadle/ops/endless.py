"""Attributes that ask for more work than any engine ends: such a step is refused, not begun.

A kernel of onnxruntime cannot be stopped, so a run without bounds would hang in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from treadle.ir import Leaf

__all__ = ["why_endless"]

_POOLS = ("AveragePool", "LpPool", "MaxPool")
_WINDOWS = (*_POOLS, "Conv", "ConvInteger", "ConvTranspose", "QLinearConv")


def _largest(values: Iterable[int]) -> int:
    return max(map(abs, values), default=0)


def _product(values: Iterable[int]) -> int:
    return math.prod(map(abs, values))


@dataclass(frozen=True, slots=True)
class _Bound:
    """What an attribute of some operators may ask for at most."""

    operators: tuple[str, ...]
    attribute: str
    most: int
    words: str
    measure: Callable[[Iterable[int]], int] = _largest


_BOUNDS = (
    _Bound(_POOLS, "kernel_shape", 2**26, "its window has {} elements", _product),
    *(
        _Bound(_WINDOWS, name, 2**26, f"{{}} in its {name}")
        for name in ("pads", "dilations", "kernel_shape", "output_padding", "output_shape")
    ),
    _Bound(("ConvTranspose",), "strides", 2**26, "{} in its strides"),
    _Bound(("RoiAlign",), "sampling_ratio", 2**13, "its sampling_ratio is {}"),
    _Bound(("TfIdfVectorizer",), "max_skip_count", 2**20, "its max_skip_count is {}"),
)


_BOUNDS_OF = {
    operator: tuple(bound for bound in _BOUNDS if operator in bound.operators)
    for operator in {each for bound in _BOUNDS for each in bound.operators}
}


def why_endless(leaf: Leaf) -> str:
    """Why no engine ends the step in reasonable time; "" if its attributes do not say so."""
    for bound in () if leaf.domain else _BOUNDS_OF.get(leaf.op, ()):
        asked = bound.measure(_integers(leaf, bound.attribute))
        if asked > bound.most:
            return f"{bound.words.format(f'{asked:,}')}, at most {bound.most:,} is run"
    return ""


def _integers(leaf: Leaf, name: str) -> tuple[int, ...]:
    """The values of an integer attribute; none where it is absent or of another kind."""
    found = leaf.attributes.get(name)
    given = () if found is None else found.value
    values = given if isinstance(given, tuple) else (given,)
    return tuple(each for each in values if isinstance(each, int))
