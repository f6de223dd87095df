"""Shapes and arrangement: Reshape, Transpose, Concat, Split, Slice, Tile. No element changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle.ir import show_array
from treadle.ops.kernels.common import distinct, each_once, positive, whole, whole_list
from treadle.ops.kernels.registry import evaluates


@evaluates("Shape", 1, 13)
def shape_1(x: np.ndarray) -> Any:
    """Shape-1: all dims."""
    return np.array(x.shape, np.int64)


@evaluates("Shape", 15, 19, 21, 23, 24, 25)
def shape(x: np.ndarray, *, start: int = 0, end: int | None = None) -> Any:
    """The dims of a slice of the axes; both ends are clamped."""
    return np.array(x.shape[start:end], np.int64)


@evaluates("Size", 1, 13, 19, 21, 23, 24, 25)
def size(x: np.ndarray) -> Any:
    """The number of elements."""
    return np.array(x.size, np.int64)


@evaluates("Reshape", 5, 13, 14, 19, 21, 23, 24, 25)
def reshape(x: np.ndarray, dims: np.ndarray, *, allowzero: int = 0) -> Any:
    """A dim of 0 keeps the operand's unless `allowzero`, one of -1 takes what is left."""
    wanted = dims.tolist()
    if 0 in wanted and not allowzero:
        wanted = [x.shape[k] if dim == 0 else dim for k, dim in enumerate(wanted)]
    return x.reshape(wanted)


@evaluates("Reshape", 1)
def reshape_1(x: np.ndarray, *, shape: Sequence[int] = ()) -> Any:
    """Reshape-1: the new shape is an attribute."""
    return reshape(x, np.array(shape, np.int64))


@evaluates("Flatten", 1, 9, 11, 13, 21, 23, 24, 25)
def flatten(x: np.ndarray, *, axis: int) -> Any:
    """Flatten to a matrix: the axes before `axis`, and the others."""
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@evaluates("Squeeze", 13, 21, 23, 24, 25)
def squeeze(x: np.ndarray, axes: Any = None) -> Any:
    """Remove the given axes, each of extent 1, or every axis of extent 1."""
    dropped = whole_list(axes)
    return np.squeeze(x) if dropped is None else np.squeeze(x, distinct(dropped, x.ndim))


@evaluates("Squeeze", 1, 11)
def squeeze_1(x: np.ndarray, *, axes: Sequence[int] | None = None) -> Any:
    """Squeeze before opset 13: the axes are an attribute."""
    return squeeze(x, axes)


@evaluates("Unsqueeze", 13, 21, 23, 24, 25)
def unsqueeze(x: np.ndarray, axes: np.ndarray) -> Any:
    """Insert axes of extent 1 at these positions of the result."""
    return _expanded(x, axes.reshape(-1).tolist())


@evaluates("Unsqueeze", 1, 11)
def unsqueeze_1(x: np.ndarray, *, axes: Sequence[int]) -> Any:
    """Unsqueeze before opset 13: the axes are an attribute."""
    return _expanded(x, axes)


def _expanded(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    rank = x.ndim + len(axes)
    places = {positive(axis, rank) for axis in axes}
    if len(places) != len(axes):
        raise ValueError(f"axes {list(axes)} name one axis twice")
    dims = iter(x.shape)
    return x.reshape([1 if axis in places else next(dims) for axis in range(rank)])


@evaluates("Transpose", 1, 13, 21, 23, 24, 25)
def transpose(x: np.ndarray, *, perm: Sequence[int] | None = None) -> Any:
    """Permute the axes; reverse them if no permutation is given."""
    return np.transpose(x, perm)


@evaluates("Concat", 4, 11, 13)
def concat(*operands: np.ndarray, axis: int) -> Any:
    """Concatenate the operands along an axis."""
    return np.concatenate(operands, axis)


@evaluates("Concat", 1)
def concat_1(*operands: np.ndarray, axis: int | None = None) -> Any:
    """Concat-1: the axis is 1 by default."""
    return np.concatenate(operands, 1 if axis is None else axis)


@evaluates("Split", 13, 18)
def split(
    x: np.ndarray, lengths: Any = None, *, axis: int, num_outputs: int | None = None, outputs: int
) -> tuple[np.ndarray, ...]:
    """Split into pieces of these lengths, or equal ones.

    The last of `num_outputs` may be smaller.
    """
    extent = x.shape[positive(axis, x.ndim)]
    pieces = whole_list(lengths)
    if not pieces:
        ends = [*_starts(extent, num_outputs or outputs, is_even=num_outputs is None), extent]
    else:
        if min(pieces) < 0:
            raise ValueError(f"the split {pieces} has a negative length")
        ends = [0, *np.cumsum(pieces).tolist()]
        if ends[-1] != extent:
            raise ValueError(f"the split {pieces} does not sum to the axis's extent, {extent}")
    return tuple(np.split(x, ends[1:-1], axis))


def _starts(extent: int, count: int, *, is_even: bool) -> list[int]:
    each = -(-extent // count)
    if each * (count - 1) > extent or (is_even and each * count != extent):
        rest = "" if is_even else ", even with a smaller last one"
        raise ValueError(f"an axis of {extent} cannot be split into {count} equal parts{rest}")
    return [each * k for k in range(count)]


@evaluates("Split", 2, 11)
def split_2(
    x: np.ndarray, *, split: Sequence[int] | None = None, axis: int, outputs: int
) -> tuple[np.ndarray, ...]:
    """Split before opset 13: the lengths are an attribute."""
    return _split(x, split, axis, outputs)


@evaluates("Split", 1)
def split_1(
    x: np.ndarray,
    lengths: np.ndarray | None = None,
    *,
    split: Sequence[int] | None = None,
    axis: int | None = None,
    outputs: int,
) -> tuple[np.ndarray, ...]:
    """Split-1: the lengths are an attribute or an operand; the axis is 0 by default."""
    return _split(x, lengths if split is None else split, axis or 0, outputs)


def _split(x: np.ndarray, lengths: Any, axis: int, outputs: int) -> tuple[np.ndarray, ...]:
    return split(x, lengths, axis=axis, outputs=outputs)


@evaluates("Slice", 10, 11, 13)
def slice_(
    x: np.ndarray, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> np.ndarray:
    """x[start:end:step] of each axis given, as Python slices a list.

    With a negative step, a start before the first item is clamped to it, unlike in Python.
    """
    begin, stop = whole_list(starts) or [], whole_list(ends) or []
    where = whole_list(axes)
    stride = whole_list(steps) or [1] * len(begin)
    index = [slice(None)] * x.ndim
    for axis, low, high, step in zip(
        range(len(begin)) if where is None else each_once(where, x.ndim),
        begin,
        stop,
        stride,
        strict=True,
    ):
        first = max(low, -x.shape[axis]) if step < 0 else low
        index[axis] = slice(first, high, step)
    return x[tuple(index)] if index else x


@evaluates("Slice", 1)
def slice_1(
    x: np.ndarray, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Any:
    """Slice before opset 10: everything is an attribute; steps are 1."""
    return slice_(x, starts, ends, axes)


@evaluates("Expand", 8, 13)
def expand(x: np.ndarray, dims: np.ndarray) -> Any:
    """Broadcast the operand and the shape against each other."""
    result = np.empty(np.broadcast_shapes(x.shape, tuple(dims.tolist())), x.dtype)
    result[...] = x
    return result


@evaluates("Tile", 6, 13)
def tile(x: np.ndarray, repeats: np.ndarray) -> Any:
    """The tensor repeated along each axis."""
    return np.tile(x, repeats.tolist()) if x.ndim else x


@evaluates("Tile", 1)
def tile_1(x: np.ndarray, tiles: np.ndarray, axis: np.ndarray) -> Any:
    """Tile-1: the tensor repeated along one axis."""
    repeats = [1] * x.ndim
    repeats[whole(axis)] = whole(tiles)
    return np.tile(x, repeats)


@evaluates("Trilu", 14)
def triangle(x: np.ndarray, k: np.ndarray | None = None, *, upper: int) -> Any:
    """The upper or lower triangle of the last two axes, zeros elsewhere."""
    most = sum(x.shape[-2:])  # further away lies no element, and numpy takes 64 bits of a sum
    diagonal = 0 if k is None else max(-most, min(whole(k), most))
    return np.triu(x, diagonal) if upper else np.tril(x, diagonal)


@evaluates("DepthToSpace", 1, 11, 13, 28)
def depth_to_space(x: np.ndarray, *, blocksize: int, mode: str = "DCR") -> Any:
    """Blocks of the channels become blocks of the plane; DCR: the block is the outer part."""
    n, c, h, w = x.shape
    depth = c // blocksize**2
    if mode == "DCR":
        blocks = x.reshape(n, blocksize, blocksize, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, depth, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, depth, h * blocksize, w * blocksize)


@evaluates("SpaceToDepth", 1, 13, 28)
def space_to_depth(x: np.ndarray, *, blocksize: int, mode: str = "DCR") -> Any:
    """The reverse of DepthToSpace."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // blocksize, blocksize, w // blocksize, blocksize)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.transpose(order).reshape(n, c * blocksize**2, h // blocksize, w // blocksize)


@evaluates("ReverseSequence", 10, 28)
def reverse_sequence(
    x: np.ndarray, lengths: np.ndarray, *, batch_axis: int, time_axis: int
) -> np.ndarray:
    """Reverse the first lengths[b] time steps of batch b; the rest is unchanged."""
    extent, count = x.shape[time_axis], x.shape[batch_axis]
    if lengths.shape != (count,):
        raise ValueError(f"the lengths are {show_array(lengths)}, wanted one for each of {count}")
    if ((lengths < 0) | (lengths > extent)).any():
        raise ValueError(f"a length is not in the range 0 to {extent}")
    result = x.copy()
    source, target = (np.moveaxis(each, (batch_axis, time_axis), (0, 1)) for each in (x, result))
    for batch, length in enumerate(lengths.tolist()):
        target[batch, :length] = source[batch, :length][::-1]
    return result
