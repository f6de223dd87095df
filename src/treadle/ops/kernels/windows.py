"""Windows over spatial axes: shared by pooling and convolution.

A window is described per spatial axis by kernel extent, stride, dilation and the pads before and
after; the functions here work out the missing ones and walk the kernel's positions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Window:
    """The geometry of a window over `extents`, one entry per spatial axis.

    `pads` are (before, after) as declared; `shape` counts the windows, of which the last may reach
    past the pads (ceil_mode).
    """

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]

    @property
    def reach(self) -> list[int]:
        """The number of elements that the kernel spans, gaps included."""
        return [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]

    @property
    def widths(self) -> list[tuple[int, int]]:
        """The pads, enlarged by the elements that the last window needs beyond them."""
        needed = (
            (count - 1) * stride + (kernel - 1) * dilation + 1
            for count, stride, kernel, dilation in zip(
                self.shape, self.strides, self.kernel, self.dilations, strict=True
            )
        )
        return [
            (before, max(after, need - extent - before))
            for need, extent, (before, after) in zip(needed, self.extents, self.pads, strict=True)
        ]

    def positions(self) -> Iterator[Any]:
        """Indices of a padded tensor for every kernel position, one element per window."""
        for position in itertools.product(*map(range, self.kernel)):
            starts = (k * d for k, d in zip(position, self.dilations, strict=True))
            slices = (
                slice(start, start + (count - 1) * stride + 1, stride)
                for start, count, stride in zip(starts, self.shape, self.strides, strict=True)
            )
            yield (..., *slices)


def window(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Window:
    """The geometry of an operator's attributes; absent or empty ones are 1, or 0 for pads."""
    rank = len(kernel)
    strides = tuple(strides or (1,) * rank)
    dilations = tuple(dilations or (1,) * rank)
    expect_positive(kernel_shape=kernel, strides=strides, dilations=dilations)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if auto_pad.startswith("SAME"):
        sides = tuple(map(_same_pads, extents, reach, strides, (auto_pad == "SAME_UPPER",) * rank))
    else:
        given = tuple(pads or ()) if auto_pad != "VALID" else ()
        given = given or (0,) * 2 * rank
        if min(given, default=0) < 0:
            raise ValueError(f"its pads is {list(given)}, wanted no negative entry")
        sides = tuple(zip(given[:rank], given[rank:], strict=True))
    counts = tuple(map(_count, extents, reach, strides, sides, (bool(ceil_mode),) * rank))
    if min(counts, default=0) < 0:
        expect_room(extents, reach, sides)
    return Window(tuple(extents), tuple(kernel), strides, dilations, sides, counts)


def expect_positive(**attributes: Sequence[int]) -> None:
    """Raise ValueError if an entry of an attribute is less than 1."""
    for name, values in attributes.items():
        if min(values, default=1) < 1:
            raise ValueError(f"its {name} is {list(values)}, wanted entries of at least 1")


def expect_room(
    extents: Sequence[int], reach: Sequence[int], pads: Sequence[tuple[int, int]]
) -> None:
    """Raise ValueError if an axis, pads included, is shorter than the kernel's span."""
    for axis, (extent, wanted, sides) in enumerate(zip(extents, reach, pads, strict=True)):
        if extent + sum(sides) < wanted:
            padded_to = f", {extent + sum(sides)} with its pads" if any(sides) else ""
            raise ValueError(
                f"the input is shorter than the kernel: spatial axis {axis} is {extent} long"
                f"{padded_to}, the kernel reaches over {wanted}"
            )


def _same_pads(extent: int, reach: int, stride: int, upper: bool) -> tuple[int, int]:
    total = max((math.ceil(extent / stride) - 1) * stride + reach - extent, 0)
    return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)


def _count(extent: int, reach: int, stride: int, pads: tuple[int, int], up: bool) -> int:
    room = extent + sum(pads) - reach
    if not up:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= extent + pads[0] else count


def padded(x: np.ndarray, widths: Sequence[tuple[int, int]], fill: Any) -> np.ndarray:
    """X with its last axes widened, the new elements all `fill`."""
    if not any(map(any, widths)):
        return x
    lead = x.ndim - len(widths)
    shape = x.shape[:lead] + tuple(
        b + e + a for e, (b, a) in zip(x.shape[lead:], widths, strict=True)
    )
    result = np.full(shape, fill, x.dtype)
    inner: Any = [slice(b, b + e) for e, (b, _) in zip(x.shape[lead:], widths, strict=True)]
    result[(..., *inner)] = x
    return result
