"""Adapters for Fourier and other linear transforms of known size: constant matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

import numpy as np

from treadle import ops
from treadle.errors import TreadleError
from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.images import blocks_in_image
from treadle.passes.versions.adapters.masks import places
from treadle.passes.versions.adapters.repeat import chosen
from treadle.passes.versions.adapters.steps import (
    first,
    float_for,
    having,
    operand,
    two,
    without,
)
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up

_LARGEST_MATRIX = 1 << 22


@up("DFT", 20)
def axis_to_input(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the attribute `axis` into an input."""
    axis = at.const(np.array(at.attributes(step)["axis"]))
    return replace(without(step, "axis"), operands=(first(step), operand(step, 1), axis))


@down("DFT", 20)
def axis_to_attribute(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the input `axis` into an attribute, 1 by default; Ifs choose a computed one."""
    value, rank = operand(step, 2), at.rank(first(step))
    array = np.array(-2) if value is None else at.array(value)
    if array is None and value is not None:
        return _transform_along(at, step, value, rank)
    axis = int(at.constant_of(value, "axis").item()) if array is None else int(array.item())
    return having(replace(step, operands=step.operands[:2]), axis=axis % rank)


def _transform_along(at: Rewriter, step: Leaf, axis: Value, rank: int) -> Value:
    """The transform along the axis that the run gives; the last axis has the parts of numbers."""
    given = {name: at.attributes(step)[name] for name in ("inverse", "onesided")}
    given_length = operand(step, 1)
    wide = at.reshape(at.cast(axis, DType.INT64), 1)
    below = at.op("Less", wide, at.ints(0))
    wide = at.op("Where", below, at.op("Add", wide, at.ints(rank)), wide)
    axes = [
        k
        for k in range(rank - 1)
        if at.dim(first(step), k) != 1 or given_length or not _is_real(given)
    ]
    if not axes:
        raise NoForm("a transform of length 0 along every axis")
    # an axis that is out of range, or along which no transform is possible, ends the run
    numbers = at.ints(*(k if k in axes else rank for k in range(rank - 1)))
    wide = at.op("Gather", numbers, wide, axis=0)
    wide = at.op("Gather", at.ints(*range(rank - 1)), wide, axis=0)

    def along(left: Sequence[int], inner: Rewriter) -> Value:
        def here(at: Rewriter) -> Value:
            return at.op("DFT", first(step), given_length, axis=left[0], **given)

        if len(left) == 1:
            return here(inner)
        is_here = inner.reshape(inner.op("Equal", wide, inner.ints(left[0])))
        return chosen(inner, is_here, here, partial(along, left[1:]))

    return along(axes, at)


@down("DFT", 17)
def transform(at: Rewriter, step: Leaf) -> Adapted:
    """Real and imaginary parts times cosines and sines."""
    x, given = first(step), at.attributes(step)
    rank, axis = at.rank(x), given["axis"]
    axis %= rank
    length, parts = at.dim(x, axis), at.dim(x, -1)
    wanted = operand(step, 1)
    size = length if wanted is None else int(at.constant_of(wanted, "dft_length").item())
    if wanted is None and _is_real(given) and isinstance(length, int):
        size = 2 * (length - 1)
    if not isinstance(length, int) or not isinstance(size, int) or not isinstance(parts, int):
        raise NoForm("a Fourier transform of a length that is not known", "fix its extents")
    if size < 1:
        raise NoForm("a transform of length 0")
    matrix = _matrix(length, size, parts, given)
    return _by_matrix(at, x, matrix, (axis, rank - 1), matrix.shape[2:])


def _matrix(length: int, size: int, parts: int, given: Mapping[str, int]) -> np.ndarray:
    """The weights of each input entry in each result: [length, parts, bins, 2 or 1]."""
    if _is_real(given):
        return _real_matrix(length, size, parts)
    used = min(length, size)
    sign, scale = (1, 1 / size) if given["inverse"] else (-1, 1.0)
    bins = size // 2 + 1 if given["onesided"] else size
    angle = sign * 2 * np.pi * np.outer(np.arange(used), np.arange(bins)) / size
    cosine, sine = np.cos(angle) * scale, np.sin(angle) * scale
    matrix = np.zeros((length, parts, bins, 2))
    matrix[:used, 0] = np.stack([cosine, sine], -1)
    if parts == 2:
        matrix[:used, 1] = np.stack([-sine, cosine], -1)
    return matrix


def _is_real(given: Mapping[str, int]) -> bool:
    """Whether it gives real numbers of the half of a spectrum: the onesided inverse transform."""
    return bool(given["onesided"] and given["inverse"])


def _real_matrix(length: int, size: int, parts: int) -> np.ndarray:
    """The same for the onesided inverse: bins but the first and the middle one count twice."""
    bins = min(length, size // 2 + 1)
    angle = 2 * np.pi * np.outer(np.arange(bins), np.arange(size)) / size
    counts = np.array([1 if k in (0, size / 2) else 2 for k in range(bins)])[:, None] / size
    matrix = np.zeros((length, parts, size, 1))
    matrix[:bins, 0, :, 0] = np.cos(angle) * counts
    if parts == 2:
        matrix[:bins, 1, :, 0] = -np.sin(angle) * counts
    return matrix


def _by_matrix(
    at: Rewriter, x: Value, matrix: np.ndarray, axes: Sequence[int], shape: Sequence[int]
) -> Value:
    """The product over some axes of the operand; the results take their positions."""
    rank, dtype = at.rank(x), at.dtype(x)
    if matrix.size > _LARGEST_MATRIX:
        raise NoForm("the matrix of a transform would be too large")
    rest = [k for k in range(rank) if k not in axes]
    order = [*rest, *axes]
    moved = x if order == sorted(order) else at.op("Transpose", x, perm=order)
    kept = [at.extent(moved, k) for k in range(len(rest))]
    flat = at.reshape(moved, *kept, prod(matrix.shape[: len(axes)]))
    weights = matrix.reshape(-1, prod(shape))
    work = float_for(dtype)
    made = at.op("MatMul", at.cast(flat, work), at.const(weights, work))
    made = at.reshape(at.cast(made, dtype), *kept, *shape)
    back = [order.index(k) for k in range(rank)]
    return made if back == sorted(back) else at.op("Transpose", made, perm=back)


@down("STFT", 17)
def short_transforms(at: Rewriter, step: Leaf) -> Adapted:
    """Gather each frame, weight it by the window, and transform it."""
    signal, given = first(step), at.attributes(step)
    window, parts, given_step = operand(step, 2), at.dim(signal, 2), operand(step, 1)
    if not isinstance(parts, int) or given_step is None:
        raise NoForm("how many parts a number has is not known", "fix the last extent")
    size = _frame_size(at, window, operand(step, 3))
    hop = at.reshape(at.cast(given_step, DType.INT64), 1)
    count = at.op("Div", at.op("Sub", at.extent(signal, 1), size), hop)
    starts = at.op("Mul", places(at, at.op("Add", count, at.ints(1))), hop)
    where = at.op("Add", at.unsqueeze(starts, 1), places(at, size))
    frames = at.op("Gather", signal, where, axis=1)
    if window is not None:
        frames = at.op("Mul", frames, at.unsqueeze(window, 1))
    known = at.array(size)
    if known is None:
        return _by_computed_waves(at, frames, size, parts, bool(given["onesided"]))
    length = int(known.item())
    matrix = _matrix(length, length, parts, {**given, "inverse": 0})
    return _by_matrix(at, frames, matrix, (2, 3), matrix.shape[2:])


def _frame_size(at: Rewriter, window: Value | None, length: Value | None) -> Value:
    """The length of a frame, int64[1]."""
    if length is not None:
        array = at.array(length)
        if array is not None:
            return at.ints(int(array.item()))
        return at.reshape(at.cast(length, DType.INT64), 1)
    if window is None:
        raise NoForm("neither a window nor a frame length is given")
    return at.extent(window, 0)


def _by_computed_waves(
    at: Rewriter, frames: Value, size: Value, parts: int, onesided: bool
) -> Value:
    """The transform of [batch, frames, size, parts] by cosines and sines of the run."""
    dtype = at.dtype(frames)
    work = float_for(dtype)
    bins = size
    if onesided:
        bins = at.op("Add", at.op("Div", size, at.ints(2)), at.ints(1))
    turns = at.op("Mul", at.unsqueeze(places(at, size), 1), places(at, bins))
    turns = at.op("Sub", turns, at.op("Mul", at.op("Div", turns, size), size))
    turns = at.op("Div", at.cast(turns, DType.FLOAT64), at.cast(size, DType.FLOAT64))
    angle = at.op("Mul", turns, at.const(2 * np.pi, DType.FLOAT64))
    cosine, sine = (at.cast(at.op(op, angle), work) for op in ("Cos", "Sin"))
    columns = [at.op("Gather", at.cast(frames, work), at.const(np.array(k)), axis=3)
               for k in range(parts)]  # fmt: skip
    real, imaginary = at.op("MatMul", columns[0], cosine), at.op("MatMul", columns[0], sine)
    imaginary = at.op("Neg", imaginary)
    if parts == 2:
        real = at.op("Add", real, at.op("MatMul", columns[1], sine))
        imaginary = at.op("Add", imaginary, at.op("MatMul", columns[1], cosine))
    made = at.concat(at.unsqueeze(real, 3), at.unsqueeze(imaginary, 3), axis=3)
    return at.cast(made, dtype)


@down("Col2Im", 18)
def placed_blocks(at: Rewriter, step: Leaf) -> Adapted:
    """Add every column at the position of its block, by a matrix if the extents are known."""
    x = first(step)
    count, sizes = at.dim(x, 2), [at.array(operand(step, k)) for k in (1, 2)]
    if not isinstance(count, int) or sizes[0] is None or sizes[1] is None:
        return blocks_in_image(at, step)
    block = int(sizes[1].prod())
    if (block * count) ** 2 > _LARGEST_MATRIX:
        return blocks_in_image(at, step)
    units = np.eye(block * count).reshape(block * count, block, count)
    try:
        images = ops.bind_kernel(step)([units.astype(np.float32), *sizes])[0]
    except TreadleError as error:
        raise NoForm(f"Col2Im cannot be computed here: {error}") from None
    channels = at.reshape(x, at.extent(x, 0), -1, block * count)
    weights = images.reshape(block * count, -1)
    made = at.op("MatMul", channels, at.const(weights, at.dtype(x)))
    return at.reshape(made, at.extent(x, 0), -1, *map(int, sizes[0]))


@down("ConvInteger", 10)
def exact_convolution(at: Rewriter, step: Leaf) -> Adapted:
    """A convolution in float32, whose sums stay in the range of exact integers."""
    x, weights = two(step)
    shape = at.shape(weights)
    terms = prod(n if isinstance(n, int) else 1 << 30 for n in (shape or (1 << 30,))[1:])
    if terms * 255 * 255 >= 1 << 24:
        raise NoForm("a sum of this many products is not exact in float32")
    zeros = [operand(step, 2), operand(step, 3)]
    wide = []
    for value, zero in zip((x, weights), zeros, strict=True):
        each = at.cast(value, DType.FLOAT32)
        if zero is not None:
            low = at.cast(zero, DType.FLOAT32)
            if at.shape(zero) and value is weights:
                low = at.unsqueeze(low, *range(1, at.rank(weights)))
            each = at.op("Sub", each, low)
        wide.append(each)
    return at.cast(at.op("Conv", *wide, **dict(step.attributes)), DType.INT32)
