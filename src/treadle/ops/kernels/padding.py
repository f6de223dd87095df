"""Pad, in every version: constant, reflect, edge, wrap; a negative pad removes elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from treadle.ops.kernels.common import each_once, whole_list
from treadle.ops.kernels.registry import evaluates

_MODES: Mapping[str, Literal["reflect", "edge", "wrap"]] = {
    "reflect": "reflect", "edge": "edge", "wrap": "wrap",
}  # fmt: skip


@evaluates("Pad", 11, 13, 18, 19, 21, 23, 24, 25)
def pad(
    x: np.ndarray, pads: Any, value: np.ndarray | None = None, axes: Any = None, *, mode: str
) -> np.ndarray:
    """`pads` are the widths before each axis, then those after each."""
    where = whole_list(axes)
    where = list(range(x.ndim)) if where is None else each_once(where, x.ndim)
    each = whole_list(pads) or []
    if len(each) != 2 * len(where):
        raise ValueError(f"{len(each)} pads for {len(where)} axes; two for each are wanted")
    widths = [(0, 0)] * x.ndim
    for k, axis in enumerate(where):
        widths[axis] = (each[k], each[k + len(where)])
    for axis, (extent, (before, after)) in enumerate(zip(x.shape, widths, strict=True)):
        if extent + before + after < 0:
            raise ValueError(f"pads {before} and {after} of axis {axis} remove more than {extent}")
    if mode == "constant":
        return _filled(x, widths, value)
    return np.pad(_cut(x, widths), [(max(b, 0), max(a, 0)) for b, a in widths], _MODES[mode])


@evaluates("Pad", 2)
def pad_2(x: np.ndarray, *, pads: Sequence[int], mode: str, value: float) -> Any:
    """Pad before opset 11: the pads and the value are attributes."""
    return pad(x, pads, np.asarray(value).astype(x.dtype), mode=mode)


@evaluates("Pad", 1)
def pad_1(x: np.ndarray, *, paddings: Sequence[int], mode: str, value: float) -> Any:
    """Pad-1: the attribute is called `paddings`."""
    return pad_2(x, pads=paddings, mode=mode, value=value)


def _cut(x: np.ndarray, widths: Sequence[tuple[int, int]]) -> np.ndarray:
    if all(before >= 0 and after >= 0 for before, after in widths):
        return x
    kept = (
        slice(max(-before, 0), max(extent - max(-after, 0), 0))
        for extent, (before, after) in zip(x.shape, widths, strict=True)
    )
    return x[tuple(kept)]


def _filled(
    x: np.ndarray, widths: Sequence[tuple[int, int]], value: np.ndarray | None
) -> np.ndarray:
    """result[i] = x[i - before] where x has such an element, otherwise the value."""
    fill = _zero(x.dtype) if value is None else value.reshape(())
    sides = list(zip(x.shape, widths, strict=True))
    result = np.full([extent + b + a for extent, (b, a) in sides], fill, x.dtype)
    inner = (slice(max(b, 0), max(extent + b + min(a, 0), 0)) for extent, (b, a) in sides)
    kept = (slice(max(-b, 0), max(extent + min(a, 0), 0)) for extent, (b, a) in sides)
    result[tuple(inner)] = x[tuple(kept)]
    return result


def _zero(dtype: np.dtype[Any]) -> Any:
    return "" if dtype.kind == "O" else np.zeros((), dtype)
