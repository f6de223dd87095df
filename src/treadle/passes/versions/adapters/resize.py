"""Adapters for Resize and Upsample: changed operands, or matrices of weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import TreadleError
from treadle.ir import DType, Leaf, Value
from treadle.passes.versions.adapters.computed_resize import resized
from treadle.passes.versions.adapters.steps import first, having, operand, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up

_LARGEST_MATRIX = 1 << 22
_OF_18 = {"antialias": 0, "keep_aspect_ratio_policy": "stretch"}
_UPSAMPLE = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


@up("Resize", 11)
def with_modes(at: Rewriter, step: Leaf) -> Adapted:
    """Express Resize-10 by modes, with a region of interest before the scales."""
    x, scales = step.operands
    return having(
        replace(step, operands=(x, at.const(np.zeros(0, np.float32)), scales)), **_UPSAMPLE
    )


@down("Resize", 19)
def new_modes(at: Rewriter, step: Leaf) -> Adapted:
    """half_pixel_symmetric was added in 19."""
    mode = at.attributes(step)["coordinate_transformation_mode"]
    return _by_matrices(at, step) if mode == "half_pixel_symmetric" else step


@down("Resize", 18)
def all_axes(at: Rewriter, step: Leaf) -> Adapted:
    """Axes, antialiasing and kept aspect ratios were added in 18."""
    given = at.attributes(step)
    plain = without(step, "axes", *_OF_18)
    axes = given.get("axes")
    if any(given[name] != usual for name, usual in _OF_18.items()):
        return _by_matrices(at, step)
    if axes is None or [axis % at.rank(first(step)) for axis in axes] == list(
        range(at.rank(first(step)))
    ):
        return plain
    roi, scales = operand(step, 1), operand(step, 2)
    if roi is not None or at.array(scales) is None:
        return _by_matrices(at, step)
    whole = np.ones(at.rank(first(step)), np.float32)
    whole[axes] = at.array(scales)
    return replace(plain, operands=(first(step), None, at.const(whole)))


@down("Resize", 13)
def all_operands(at: Rewriter, step: Leaf) -> Adapted:
    """The region and the scales may not be left out: pass empty ones."""
    operands = list(step.operands) + [None] * (4 - len(step.operands))
    for position in (1, 2):
        if operands[position] is None:
            operands[position] = at.const(np.zeros(0, np.float32))
    return replace(step, operands=tuple(operands[: 4 if operands[3] else 3]))


@down("Resize", 11)
def no_modes(at: Rewriter, step: Leaf) -> Adapted:
    """Resize-10 has one mode, with constant scales; others become products with matrices."""
    given, scales = at.attributes(step), operand(step, 2)
    usual = given["coordinate_transformation_mode"] == "asymmetric" and (
        given["mode"] == "linear"
        or (given["mode"] == "nearest" and given["nearest_mode"] == "floor")
    )
    array = at.array(scales)
    if not usual or operand(step, 3) is not None or array is None or not array.size:
        return _by_matrices(at, step)
    plain = having(replace(step, attributes={}), mode=given["mode"])
    return replace(plain, operands=(first(step), scales))


@down("Resize", 10)
def as_upsample(at: Rewriter, step: Leaf) -> Adapted:
    """Use Upsample, which cannot reduce an extent."""
    scales = at.array(operand(step, 1))
    if scales is None or (scales < 1).any():
        return _by_matrices(at, step)
    return at.op("Upsample", *step.operands, mode=at.attributes(step)["mode"])


def _by_matrices(at: Rewriter, step: Leaf) -> Value:
    """Resize each axis separately: a Gather for nearest, else a product with the weights."""
    x = first(step)
    shape, result = at.shape(x), at.shape(step.results[0])
    numbers = [value for value in step.operands[1:] if value is not None]
    extents = [n for n in (*(shape or ()), *(result or ())) if isinstance(n, int)]
    is_known = shape is not None and result is not None and len(extents) == 2 * len(shape)
    if shape is None or not is_known or any(at.array(value) is None for value in numbers):
        return resized(at, step)
    rank = len(shape)
    step = _stretched(at, step, extents[:rank], rank)
    for axis in range(rank):
        weights = _weights(at, step, axis, extents[axis], rank)
        if weights is not None:
            x = _along(at, x, axis, weights, rank)
    return x


def _stretched(at: Rewriter, step: Leaf, extents: list[int], rank: int) -> Leaf:
    """Replace sizes that keep an aspect ratio by scales."""
    given, sizes = at.attributes(step), at.array(operand(step, 3))
    policy = given.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch" or sizes is None:
        return step
    axes = [axis % rank for axis in given.get("axes") or range(rank)]
    ratios = sizes / np.array([extents[axis] for axis in axes])
    scale = ratios.min() if policy == "not_larger" else ratios.max()
    scales = at.const(np.full(len(axes), scale, np.float32))
    return replace(without(step, "keep_aspect_ratio_policy"), operands=(*step.operands[:2], scales))


def _weights(at: Rewriter, step: Leaf, axis: int, extent: int, rank: int) -> np.ndarray | None:
    """The weights of the old items for each new item along the axis; None if it is unchanged."""
    if extent * extent > _LARGEST_MATRIX:
        raise NoForm("Resize of an axis whose matrix of weights would be too large")
    others = [1] * rank
    others[axis] = extent
    columns = []
    try:
        run = ops.bind_kernel(without(step, "axes"))
        for index in range(extent):
            unit = np.zeros(others, np.float64)
            unit.reshape(-1)[index] = 1
            columns.append(run([unit, *_arguments(at, step, axis, rank)])[0].reshape(-1))
    except TreadleError as error:
        raise NoForm(f"Resize cannot be computed here: {error}") from None
    weights = np.stack(columns, 1)
    same = weights.shape[0] == extent and np.array_equal(weights, np.eye(extent))
    return None if same else weights


def _arguments(at: Rewriter, step: Leaf, axis: int, rank: int) -> list[Any]:
    """The remaining operands, for a tensor that has extent 1 along the other axes."""
    given = at.attributes(step)
    axes = [a % rank for a in given.get("axes") or range(rank)]
    names = ["roi", "scales", "sizes"] if step.version > 10 else ["scales"]
    made = []
    for name, value in zip(names, step.operands[1:], strict=False):
        array = at.array(value)
        made.append(
            None
            if array is None
            else _of_axis(name, array, axes.index(axis) if axis in axes else None, axis, rank)
        )
    return made


def _of_axis(
    name: str, array: np.ndarray, position: int | None, axis: int, rank: int
) -> np.ndarray:
    if not array.size:
        return array
    if name == "roi":
        whole = np.array([0.0] * rank + [1.0] * rank, array.dtype)
        if position is not None:
            whole[[axis, axis + rank]] = array[[position, position + len(array) // 2]]
        return whole
    whole = np.ones(rank, array.dtype)
    if position is not None:
        whole[axis] = array[position]
    return whole


def _along(at: Rewriter, x: Value, axis: int, weights: np.ndarray, rank: int) -> Value:
    taken = weights.argmax(1)
    if np.array_equal(weights, np.eye(weights.shape[1])[taken]):
        return at.op("Gather", x, at.ints(*taken), axis=axis)
    dtype = at.dtype(x)
    order = [k for k in range(rank) if k != axis] + [axis]
    back = [order.index(k) for k in range(rank)]
    wide = x if dtype in (DType.FLOAT32, DType.FLOAT64) else at.cast(x, DType.FLOAT32)
    moved = at.op("Transpose", wide, perm=order)
    product = at.op("MatMul", moved, at.const(weights.T, at.dtype(wide)))
    return at.cast(at.op("Transpose", product, perm=back), dtype)
