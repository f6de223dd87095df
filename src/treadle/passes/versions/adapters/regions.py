"""RoiAlign before opset 10, and at half pixels before opset 16: a loop over the regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.repeat import Turn, repeated
from treadle.passes.versions.adapters.steps import float_for, operand, two, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, down


@down("RoiAlign", 16)
def regions_at_half_pixels(at: Rewriter, step: Leaf) -> Adapted:
    """RoiAlign-10 without the shift by half a pixel, which also changes the least size."""
    if at.attributes(step)["coordinate_transformation_mode"] == "output_half_pixel":
        return without(step, "coordinate_transformation_mode")
    return pooled_regions(at, step)


@down("RoiAlign", 10)
def pooled_regions(at: Rewriter, step: Leaf) -> Value:
    """The mean or maximum of the pixels interpolated at the samples of each bin of each region."""
    x, regions = two(step)
    which, given, dtype = operand(step, 2), at.attributes(step), at.dtype(x)
    assert which is not None, "the operator requires it"
    wide = float_for(dtype)
    pixels = at.op("Transpose", at.cast(x, wide), perm=[0, 2, 3, 1])
    pixels = at.reshape(pixels, at.extent(x, 0), -1, at.extent(x, 1))
    corners = at.op("Mul", at.cast(regions, wide), at.const(given["spatial_scale"], wide))
    is_shifted = given.get("coordinate_transformation_mode") == "half_pixel"
    if is_shifted:
        corners = at.op("Sub", corners, at.const(0.5, wide))
    pooled = given["output_height"], given["output_width"]
    extents = [at.cast(at.extent(x, 2 + axis), wide) for axis in (0, 1)]
    width = at.extent(x, 3)

    def pool(inner: Rewriter, i: Value, _: Sequence[Value]) -> Turn:
        region = inner.op("Gather", corners, i, axis=0)
        image = inner.op("Gather", pixels, inner.op("Gather", which, i, axis=0), axis=0)
        sampling = _Sampling(inner, given["sampling_ratio"], least=0 if is_shifted else 1)
        axes = [sampling.along(region, k, extents[k], pooled[k]) for k in (0, 1)]
        return Turn([], [_pooled(inner, image, width, axes, given["mode"])])

    made = repeated(at, at.squeeze(at.extent(regions, 0), 0), [], pool)[0]
    # without regions the extents of the items are not known
    made = at.reshape(made, at.extent(regions, 0), at.extent(x, 1), *pooled)
    return at.cast(made, dtype)


@dataclass(frozen=True, slots=True)
class _Samples:
    """The samples of all bins along one axis: places and weights of two pixels for each."""

    low: Value
    high: Value
    near: Value
    far: Value
    bins: int
    count: Value
    exists: Value


@dataclass(frozen=True, slots=True)
class _Sampling:
    """How the samples of a region are chosen; ratio 0: as many in a bin as it has pixels."""

    at: Rewriter
    ratio: int
    least: int

    def along(self, region: Value, axis: int, extent: Value, bins: int) -> _Samples:
        """The samples along an axis of the image; the region is (x1, y1, x2, y2)."""
        at, wide = self.at, self.at.dtype(region)
        zero, one = at.const([0.0], wide), at.const([1.0], wide)
        start, end = (at.op("Gather", region, at.ints(k - axis)) for k in (1, 3))
        size = at.op("Sub", end, start)
        size = at.op("Max", size, one) if self.least else size
        each = at.op("Div", size, at.const([float(bins)], wide))
        wanted = at.const([float(self.ratio)], wide) if self.ratio > 0 else at.op("Ceil", each)
        count = at.op("Max", wanted, one)
        total = at.op("Mul", count, at.const([float(bins)], wide))
        number = at.cast(places(at, at.cast(total, DType.INT64)), wide)
        which = at.op("Floor", at.op("Div", number, count))
        rest = at.op("Sub", number, at.op("Mul", which, count))
        within = at.op("Div", at.op("Add", rest, at.const([0.5], wide)), count)
        place = at.op("Add", start, at.op("Mul", at.op("Add", which, within), each))
        outside = at.op("Less", place, at.const([-1.0], wide))
        outside = at.op("Or", outside, at.op("Greater", place, extent))
        place, last = at.op("Max", place, zero), at.op("Sub", extent, one)
        low = at.op("Min", at.op("Floor", place), last)
        high = at.op("Min", at.op("Add", low, one), last)
        far = at.op("Where", at.op("Less", low, last), at.op("Sub", place, low), zero)
        near = at.op("Sub", one, far)
        return _Samples(
            at.cast(low, DType.INT64), at.cast(high, DType.INT64),
            at.op("Where", outside, zero, near), at.op("Where", outside, zero, far),
            bins, at.cast(count, DType.INT64), at.op("Greater", wanted, zero),
        )  # fmt: skip


def _pooled(at: Rewriter, image: Value, width: Value, axes: Sequence[_Samples], mode: str) -> Value:
    """One region, [channels, height, width], from an image [pixels, channels]."""
    rows, columns = axes
    ends = [((s.low, s.near), (s.high, s.far)) for s in axes]
    terms = []
    for (row, above), (column, beside) in product(*ends):
        flat = at.op("Add", at.unsqueeze(at.op("Mul", row, width), 1), column)
        weight = at.op("Mul", at.unsqueeze(above, 1), beside)
        terms.append(at.op("Mul", at.op("Gather", image, flat, axis=0), at.unsqueeze(weight, 2)))
    is_mean = mode == "avg"
    made = reduce(lambda a, b: at.op("Add" if is_mean else "Max", a, b), terms)
    channels = at.extent(image, 1)
    made = at.reshape(made, rows.bins, rows.count, columns.bins, columns.count, channels)
    made = at.reduce("ReduceMean" if is_mean else "ReduceMax", made, [1, 3], keepdims=False)
    exists = at.op("And", rows.exists, columns.exists)
    made = at.op("Where", exists, made, at.scalar_like(made, 0))
    return at.op("Transpose", made, perm=[2, 0, 1])
