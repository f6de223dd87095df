"""Resize by scales, sizes or extents of the run: along each axis, the items around each position.

    x = (i + 0.5) / scale - 0.5                                    for half_pixel, i = 0, 1, 2 ...
    linear:  (1 - r) * Gather(data, floor(x)) + r * Gather(data, floor(x) + 1),  r = x - floor(x)

Antialiasing weighs all items by their distance, in a product of matrices. Positions are computed in
float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.steps import first, operand
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import NoForm

_F64 = DType.FLOAT64
_CROP = "tf_crop_and_resize"


def resized(at: Rewriter, step: Leaf) -> Value:
    """The resized tensor, of a rank that is known."""
    given = at.attributes(step)
    x = first(step)
    rank = at.rank(x)
    axes = [axis % rank for axis in given.get("axes") or range(rank)]
    for k, (axis, target) in enumerate(zip(axes, _targets(at, step, axes), strict=True)):
        if target is not None:
            roi = _region(at, step, k, len(axes))
            x = _Axis(at, given, at.extent(x, axis), *target, roi).resized(x, axis)
    return x


def _targets(at: Rewriter, step: Leaf, axes: Sequence[int]) -> list[tuple[Value, Value] | None]:
    """The new extent, int64[1], and the scale, float64[1], of each axis; None if unchanged."""
    given, x = at.attributes(step), first(step)
    scales, sizes = operand(step, 2 if step.version > 10 else 1), operand(step, 3)
    extents = [at.cast(at.extent(x, axis), _F64) for axis in axes]
    if sizes is None or _is_empty(at, sizes):
        if scales is None:
            raise NoForm("Resize without scales and sizes")
        return [_scaled(at, scales, k, extent) for k, extent in enumerate(extents)]
    wanted = [at.op("Gather", sizes, at.ints(k), axis=0) for k in range(len(axes))]
    ratios = [at.op("Div", at.cast(w, _F64), e) for w, e in zip(wanted, extents, strict=True)]
    policy = given.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return list(zip(wanted, ratios, strict=True))
    better = "Less" if policy == "not_larger" else "Greater"
    ratio = reduce(lambda a, b: at.op("Where", at.op(better, a, b), a, b), ratios)
    return [(_whole(at, at.op("Mul", ratio, e), 0.5), ratio) for e in extents]


def _region(at: Rewriter, step: Leaf, k: int, count: int) -> tuple[Value, Value] | None:
    """Start and end of the region of interest along an axis, float64[1]; None if not read."""
    roi = operand(step, 1)
    if at.attributes(step).get("coordinate_transformation_mode") != _CROP or roi is None:
        return None
    start, end = (at.op("Gather", roi, at.ints(place), axis=0) for place in (k, k + count))
    return at.cast(start, _F64), at.cast(end, _F64)


def _is_empty(at: Rewriter, x: Value) -> bool:
    return at.dim(x, 0) == 0


def _scaled(at: Rewriter, scales: Value, k: int, extent: Value) -> tuple[Value, Value] | None:
    known = at.array(scales)
    if known is not None and known.reshape(-1)[k] == 1:
        return None
    scale = at.cast(at.op("Gather", scales, at.ints(k), axis=0), _F64)
    return _whole(at, at.op("Mul", extent, scale), 0.0), scale


def _whole(at: Rewriter, x: Value, more: float) -> Value:
    return at.cast(at.op("Floor", at.op("Add", x, at.const(np.array([more])))), DType.INT64)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis: the old extent and the new one, int64[1], the scale and region, float64[1]."""

    at: Rewriter
    given: dict[str, Any]
    extent: Value
    target: Value
    scale: Value
    region: tuple[Value, Value] | None = None

    def resized(self, x: Value, axis: int) -> Value:
        """The tensor with the new extent along the axis."""
        at = self.at
        position = self._positions()
        made = self._at_positions(x, axis, position)
        if self.region is None:
            return made
        last = at.op("Sub", at.cast(self.extent, _F64), self._const(1))
        outside = self._is_outside(position, last)
        column = at.unsqueeze(outside, *range(1, at.rank(x) - axis))
        beyond = at.scalar_like(made, self.given["extrapolation_value"])
        return at.op("Where", column, beyond, made)

    def _at_positions(self, x: Value, axis: int, position: Value) -> Value:
        at, dtype = self.at, self.at.dtype(x)
        below = at.op("Floor", position)
        rest = at.op("Sub", position, below)
        if self.given["mode"] == "nearest":
            return at.op("Gather", x, self._inside(self._near(below, rest)), axis=axis)
        wide = x if dtype in (DType.FLOAT32, _F64) else at.cast(x, DType.FLOAT32)
        if self.given.get("antialias"):
            return at.cast(self._smoothed(wide, axis, position), dtype)
        weights = self._weights(below, rest)
        rank = at.rank(x)
        terms = []
        for place, weight in weights:
            column = at.unsqueeze(weight, *range(1, rank - axis))
            item = at.op("Gather", wide, self._inside(place), axis=axis)
            terms.append(at.op("Mul", item, at.cast(column, at.dtype(wide))))
        return at.cast(reduce(lambda a, b: at.op("Add", a, b), terms), dtype)

    def _smoothed(self, x: Value, axis: int, position: Value) -> Value:
        """The product with the weights of all items, and of copies of the outermost beyond them."""
        at, one = self.at, self._const(1)
        scale = at.op("Where", at.op("Less", self.scale, one), self.scale, one)
        reach = self._const(1 if self.given["mode"] == "linear" else 2)
        more = at.op("Add", at.op("Ceil", at.op("Div", reach, scale)), one)
        old = at.cast(self.extent, _F64)
        count = at.op("Add", old, at.op("Add", more, more))
        place = at.op("Sub", at.cast(places(at, at.cast(count, DType.INT64)), _F64), more)
        away = at.op("Sub", at.unsqueeze(place, 0), at.unsqueeze(position, 1))
        weights = self._filter(at.op("Abs", at.op("Mul", away, scale)))
        if self.given.get("exclude_outside"):
            outside = self._is_outside(place, at.op("Sub", old, one))
            weights = at.op("Where", outside, self._const(0), weights)
        weights = at.op("Div", weights, at.reduce("ReduceSum", weights, [1]))
        order = [k for k in range(at.rank(x)) if k != axis] + [axis]
        items = at.op("Gather", x, self._inside(place), axis=axis)
        factor = at.cast(at.op("Transpose", weights, perm=[1, 0]), at.dtype(x))
        product = at.op("MatMul", at.op("Transpose", items, perm=order), factor)
        return at.op("Transpose", product, perm=[order.index(k) for k in range(len(order))])

    def _filter(self, away: Value) -> Value:
        """The weight of every distance."""
        at, one = self.at, self._const(1)
        is_near = at.op("Less", away, one)
        if self.given["mode"] == "linear":
            return at.op("Where", is_near, at.op("Sub", one, away), self._const(0))
        is_far = at.op("Not", at.op("Less", away, self._const(2)))
        far = at.op("Where", is_far, self._const(0), self._weight(away, -1))
        return at.op("Where", is_near, self._weight(away, 0), far)

    def _is_outside(self, place: Value, last: Value) -> Value:
        at = self.at
        return at.op("Or", at.op("Less", place, self._const(0)), at.op("Greater", place, last))

    def _const(self, number: float) -> Value:
        return self.at.const(np.array([number], np.float64))

    def _positions(self) -> Value:
        """Where each new item lies among the old ones, float64[target]."""
        at, mode = self.at, self.given.get("coordinate_transformation_mode", "asymmetric")
        index, old = at.cast(places(at, self.target), _F64), at.cast(self.extent, _F64)
        one, half, zero = self._const(1), self._const(0.5), self._const(0)
        width = at.op("Mul", self.scale, old)
        is_one = at.op("Not", at.op("Or", at.op("Less", width, one), at.op("Greater", width, one)))
        if self.region is not None:
            start, end = self.region
            last = at.op("Sub", old, one)
            span = at.op("Mul", at.op("Sub", end, start), last)
            apart = at.op("Where", is_one, one, at.op("Sub", width, one))
            inner = at.op("Where", is_one, half, at.op("Div", index, apart))
            return at.op("Add", at.op("Mul", inner, span), at.op("Mul", start, last))
        if mode == "asymmetric":
            return at.op("Div", index, self.scale)
        if mode == "align_corners":
            safe = at.op("Where", is_one, one, at.op("Sub", width, one))
            last = at.op("Where", is_one, zero, at.op("Sub", old, one))
            return at.op("Div", at.op("Mul", index, last), safe)
        moved = at.op("Sub", at.op("Div", at.op("Add", index, half), self.scale), half)
        if mode == "pytorch_half_pixel":
            return at.op("Where", is_one, self._const(-0.5), moved)
        if mode == "half_pixel_symmetric":
            part = at.op("Div", at.cast(self.target, _F64), width)
            center = at.op("Mul", old, half)
            moved = at.op("Add", moved, at.op("Mul", center, at.op("Sub", one, part)))
        return moved

    def _inside(self, place: Value) -> Value:
        """The index of an item, of the first or last one where the place is outside."""
        at, zero = self.at, self._const(0)
        last = at.op("Sub", at.cast(self.extent, _F64), self._const(1))
        place = at.op("Where", at.op("Less", place, zero), zero, place)
        place = at.op("Where", at.op("Greater", place, last), last, place)
        return at.cast(place, DType.INT64)

    def _near(self, below: Value, rest: Value) -> Value:
        at, half, mode = self.at, self._const(0.5), self.given.get("nearest_mode", "floor")
        if mode == "floor":
            return below
        is_up = {
            "ceil": lambda: at.op("Greater", rest, self._const(0)),
            "round_prefer_floor": lambda: at.op("Greater", rest, half),
            "round_prefer_ceil": lambda: at.op("Not", at.op("Less", rest, half)),
        }[mode]()
        return at.op("Where", is_up, at.op("Add", below, self._const(1)), below)

    def _weights(self, below: Value, rest: Value) -> list[tuple[Value, Value]]:
        """The places around a position, and their weights."""
        at = self.at
        offsets = (0, 1) if self.given["mode"] == "linear" else (-1, 0, 1, 2)
        found = []
        for offset in offsets:
            place = at.op("Add", below, self._const(offset))
            weight = self._weight(at.op("Abs", at.op("Sub", rest, self._const(offset))), offset)
            found.append((place, weight))
        if not self.given.get("exclude_outside"):
            return found
        last = at.op("Sub", at.cast(self.extent, _F64), self._const(1))
        kept = []
        for place, weight in found:
            kept.append(at.op("Where", self._is_outside(place, last), self._const(0), weight))
        total = reduce(lambda a, b: at.op("Add", a, b), kept)
        return [(p, at.op("Div", w, total)) for (p, _), w in zip(found, kept, strict=True)]

    def _weight(self, away: Value, offset: int) -> Value:
        """The weight of an item by its distance."""
        at = self.at
        if self.given["mode"] == "linear":
            return at.op("Sub", self._const(1), away)
        a = self.given.get("cubic_coeff_a", -0.75)
        near = offset in (0, 1)
        factors = (a + 2, -(a + 3), 0, 1) if near else (a, -5 * a, 8 * a, -4 * a)
        total = self._const(factors[0])
        for factor in factors[1:]:
            total = at.op("Add", at.op("Mul", total, away), self._const(factor))
        return total
