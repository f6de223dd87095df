"""Adapters for GridSample: Gathers of the neighbours of each position, weighted by distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.steps import float_for, product_of, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, down

_SHARPNESS = -0.75


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A neighbour along one axis: its index, its weight, and whether it exists."""

    place: Value
    weight: Value | None
    is_inside: Value | None


@down("GridSample", 16)
def sampled_images(at: Rewriter, step: Leaf) -> Adapted:
    """The sum over all neighbours of a position, one for each combination along the axes."""
    return sampled(at, step)


def sampled(at: Rewriter, step: Leaf) -> Value:
    """The same for volumes too."""
    x, grid = two(step)
    given, dtype = at.attributes(step), at.dtype(x)
    axes = at.rank(x) - 2
    sampling = Sampling(at, given["mode"], given["padding_mode"], bool(given["align_corners"]))
    wide = float_for(dtype)
    rows = rows_of(at, at.cast(x, wide), axes)
    found = [
        sampling.neighbours(at.extent(x, 2 + k), _along(at, grid, axes - 1 - k, wide))
        for k in range(axes)
    ]
    first_rows = at.op(
        "Mul",
        places(at, at.extent(x, 0)),
        product_of(at, [at.extent(x, 2 + k) for k in range(axes)]),
    )
    first_rows = at.unsqueeze(first_rows, *range(1, axes + 1))
    terms = [term(at, x, rows, first_rows, choice) for choice in product(*found)]
    total = reduce(lambda a, b: at.op("Add", a, b), terms)
    made = at.op("Transpose", total, perm=[0, axes + 1, *range(1, axes + 1)])
    return at.cast(made, dtype)


def rows_of(at: Rewriter, x: Value, axes: int) -> Value:
    """[N, C, extents] as [N * extents, C]."""
    moved = at.op("Transpose", x, perm=[0, *range(2, axes + 2), 1])
    return at.reshape(moved, -1, at.extent(x, 1))


def _along(at: Rewriter, grid: Value, which: int, dtype: DType) -> Value:
    """The coordinates of one axis, [N, extents of the result]."""
    last = at.rank(grid) - 1
    return at.cast(at.op("Gather", grid, at.const(np.array(which)), axis=last), dtype)


def term(
    at: Rewriter, x: Value, rows: Value, first_rows: Value, choice: Sequence[Neighbour]
) -> Value:
    """One neighbour of every position, weighted: [N, extents of the result, C].

    `rows` has the pixels of all images, `first_rows` the number of the first one of each image.
    """
    flat: Value | None = None
    for axis, each in enumerate(choice):
        if flat is not None:
            flat = at.op("Mul", flat, at.extent(x, 2 + axis))
        flat = each.place if flat is None else at.op("Add", flat, each.place)
    assert flat is not None, "an image has a spatial axis"
    taken = at.op("Gather", rows, at.op("Add", first_rows, flat), axis=0)
    last = at.rank(choice[0].place)
    for each in choice:
        if each.is_inside is not None:
            taken = at.op(
                "Where", at.unsqueeze(each.is_inside, last), taken, at.scalar_like(taken, 0)
            )
        if each.weight is not None:
            taken = at.op("Mul", taken, at.unsqueeze(each.weight, last))
    return taken


@dataclass(frozen=True, slots=True)
class Sampling:
    """The interpolation between items: the choice of neighbours, and values outside."""

    at: Rewriter
    mode: str
    padding: str
    aligned: bool

    def neighbours(self, extent: Value, coordinate: Value) -> list[Neighbour]:
        """The neighbours along an axis of this extent, for coordinates from -1 to 1."""
        at = self.at
        size = at.cast(extent, at.dtype(coordinate))
        return self.around(size, self._place(size, coordinate))

    def around(self, size: Value, index: Value) -> list[Neighbour]:
        """The neighbours of a fractional index along an axis of this extent, given as a float."""
        at = self.at
        if self.mode == "nearest":
            return [self._neighbour(size, at.op("Round", index), None)]
        low = at.op("Floor", index)
        rest = at.op("Sub", index, low)
        if self.mode in ("linear", "bilinear"):
            one = at.scalar_like(rest, 1)
            return [
                self._neighbour(size, low, at.op("Sub", one, rest)),
                self._neighbour(size, at.op("Add", low, one), rest),
            ]
        return [
            self._neighbour(size, at.op("Add", low, at.scalar_like(low, k)), self._cubic(rest, k))
            for k in (-1, 0, 1, 2)
        ]

    def _place(self, size: Value, coordinate: Value) -> Value:
        at, half, one = self.at, self.at.scalar_like(size, 0.5), self.at.scalar_like(size, 1)
        shifted = at.op("Add", coordinate, one)
        if self.aligned:
            return at.op("Mul", at.op("Mul", shifted, half), at.op("Sub", size, one))
        return at.op("Mul", at.op("Sub", at.op("Mul", shifted, size), one), half)

    def _cubic(self, rest: Value, k: int) -> Value:
        """The weight of the neighbour at offset k, by its distance."""
        at, a = self.at, _SHARPNESS
        away = at.op("Abs", at.op("Sub", rest, at.scalar_like(rest, k)))
        near = k in (0, 1)
        factors = (a + 2, -(a + 3), 0, 1) if near else (a, -5 * a, 8 * a, -4 * a)
        total = at.scalar_like(rest, factors[0])
        for factor in factors[1:]:
            total = at.op("Add", at.op("Mul", total, away), at.scalar_like(rest, factor))
        return total

    def _neighbour(self, size: Value, index: Value, weight: Value | None) -> Neighbour:
        at = self.at
        zero, one = at.scalar_like(index, 0), at.scalar_like(index, 1)
        last = at.op("Sub", size, one)
        inside = None
        if self.padding == "reflection":
            index = self._reflected(size, index)
        if self.padding == "zeros":
            outside = at.op("Or", at.op("Less", index, zero), at.op("Greater", index, last))
            inside = at.op("Not", outside)
        near = at.op("Min", at.op("Max", index, zero), last)
        return Neighbour(at.cast(near, DType.INT64), weight, inside)

    def _reflected(self, size: Value, index: Value) -> Value:
        """The position after as many reflections at the ends as needed."""
        at = self.at
        low = at.scalar_like(index, 0 if self.aligned else -0.5)
        span = at.op("Sub", size, at.scalar_like(index, 1)) if self.aligned else size
        both = at.op("Add", span, span)
        way = at.op("Sub", index, low)
        way = at.op("Sub", way, at.op("Mul", at.op("Floor", at.op("Div", way, both)), both))
        back = at.op("Min", way, at.op("Sub", both, way))
        return at.op("Add", back, low)
