"""Attributes that ask for more work than any engine ends: such a step is refused, not begun.

A kernel of onnxruntime cannot be stopped, so a run without bounds would hang in it.
"""

from __future__ import annotations

import math

from treadle.ir import Leaf

__all__ = ["why_endless"]

_LARGEST_WINDOW = 2**26
_MOST_SKIPS = 2**20
_LARGEST_REACH = 2**26
_POOLS = ("AveragePool", "LpPool", "MaxPool")
_CONVOLUTIONS = ("Conv", "ConvInteger", "ConvTranspose", "QLinearConv")
_REACHES = ("pads", "dilations", "kernel_shape", "output_padding", "output_shape")


def why_endless(leaf: Leaf) -> str:
    """Why no engine ends the step in reasonable time; "" if its attributes do not say so."""
    if leaf.domain:
        return ""
    if leaf.op in _POOLS:
        size = math.prod(map(abs, _integers(leaf, "kernel_shape")))
        if size > _LARGEST_WINDOW:
            return f"its window has {size:,} elements, at most {_LARGEST_WINDOW:,} are run"
    if leaf.op in (*_POOLS, *_CONVOLUTIONS):
        for name in _REACHES:
            largest = max(map(abs, _integers(leaf, name)), default=0)
            if largest > _LARGEST_REACH:
                return f"{largest:,} in its {name}, at most {_LARGEST_REACH:,} is run"
    if leaf.op == "TfIdfVectorizer":
        skips = max(_integers(leaf, "max_skip_count"), default=0)
        if skips > _MOST_SKIPS:
            return f"its max_skip_count is {skips:,}, at most {_MOST_SKIPS:,} are tried"
    return ""


def _integers(leaf: Leaf, name: str) -> tuple[int, ...]:
    """The values of an integer attribute; none where it is absent or of another kind."""
    found = leaf.attributes.get(name)
    given = () if found is None else found.value
    values = given if isinstance(given, tuple) else (given,)
    return tuple(each for each in values if isinstance(each, int))
