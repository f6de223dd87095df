"""AffineGrid before opset 20: the coordinates of all pixels times the matrices."""

from __future__ import annotations

from treadle.ir import Leaf, Value
from treadle.passes.versions.adapters.images import coordinates_in
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.steps import float_for, product_of, two
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down


@down("AffineGrid", 20)
def transformed_pixels(at: Rewriter, step: Leaf) -> Adapted:
    """The product of theta and the columns (x, y, z, 1) of every pixel, x along the last axis."""
    theta, size = two(step)
    dtype, entries = at.dtype(theta), at.dim(size, 0)
    if not isinstance(entries, int):
        raise NoForm("the rank of the image is not known", "declare the shape of the size")
    axes = entries - 2
    wide = float_for(dtype)
    extents = [at.op("Gather", size, at.ints(2 + k)) for k in range(axes)]
    count = product_of(at, extents)
    aligned = bool(at.attributes(step)["align_corners"])
    numbers = coordinates_in(at, places(at, count), extents)
    columns = [
        at.unsqueeze(_coordinate(at, at.cast(n, wide), at.cast(extent, wide), aligned), 1)
        for n, extent in zip(numbers, extents, strict=True)
    ]
    ones = at.full_like(columns[0], 1, wide)
    pixels = at.concat(*reversed(columns), ones, axis=1)
    turned = at.op("Transpose", at.cast(theta, wide), perm=[0, 2, 1])
    made = at.op("MatMul", pixels, turned)
    return at.cast(at.reshape(made, at.extent(theta, 0), *extents, axes), dtype)


def _coordinate(at: Rewriter, number: Value, extent: Value, aligned: bool) -> Value:
    """The place of a pixel between -1 and 1, of the ends' centers if aligned, else of the edges.

    If aligned, an only pixel is at -1.
    """
    one, two_ = at.scalar_like(extent, 1), at.scalar_like(extent, 2)
    gaps = at.op("Max", at.op("Sub", extent, one), one) if aligned else extent
    step = at.op("Div", two_, gaps)
    start = at.scalar_like(extent, -1)
    if not aligned:
        start = at.op("Add", start, at.op("Div", step, two_))
    return at.op("Add", start, at.op("Mul", number, step))
