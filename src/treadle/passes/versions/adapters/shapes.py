"""Adapters for operators that move elements: Reshape, Shape, Slice, Pad, Flatten and others."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from treadle.ir import BlockBuilder, DType, Leaf, Tensor, Value, attribute
from treadle.passes.versions.adapters.computed_places import padded, sliced
from treadle.passes.versions.adapters.steps import first, having, operand, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, NoForm, down, up

_FAR = 2**31


@down("Reshape", 14)
def zeros_copy(at: Rewriter, step: Leaf) -> Adapted:
    """Reshape with allowzero=1, where 0 is an extent; before, it always copies the operand's."""
    x, shape = first(step), operand(step, 1)
    assert shape is not None
    if not at.attributes(step)["allowzero"] or _has_no_zero(at, x, shape):
        return without(step, "allowzero")
    array = at.array(shape)
    if array is not None:
        value = np.zeros(1, at.dtype(x).numpy)
        return at.op("ConstantOfShape", shape, value=value)
    return _empty_or_reshaped(at, x, shape)


def _has_no_zero(at: Rewriter, x: Value, shape: Value) -> bool:
    content, known = at.fact(shape).content, at.shape(x)
    if content is None:
        return False
    for axis, entry in enumerate(content):
        copied = known is not None and axis < len(known) and entry is not None
        if isinstance(entry, int) and entry != 0:
            continue
        if not (copied and known is not None and known[axis] == entry):
            return False
    return True


def _empty_or_reshaped(at: Rewriter, x: Value, shape: Value) -> Value:
    """Reshape if no extent is 0, else an empty tensor of that shape."""
    dtype = at.dtype(x)

    def block(name: str, op: str) -> tuple[BlockBuilder, Value, Value]:
        inner = BlockBuilder(name)
        return inner, inner.param(at.names.fresh(x.name)), inner.param(at.names.fresh(shape.name))

    inner, _, wanted = block("empty", "ConstantOfShape")
    leaf = partial(inner.leaf, result=at.names.fresh(f"{at.prefix}/empty"))
    value = {"value": attribute("value", np.zeros(1, dtype.numpy))}
    then = inner.build(leaf("ConstantOfShape", 9, wanted, attributes=value))
    inner, whole, wanted = block("full", "Reshape")
    leaf = partial(inner.leaf, result=at.names.fresh(f"{at.prefix}/full"))
    otherwise = inner.build(leaf("Reshape", 13, whole, wanted))
    count = at.reduce("ReduceProd", shape, [0], keepdims=False)
    empty = at.op("Equal", count, at.const(np.array(0)))
    return at.branch(empty, then, otherwise, (x, shape))[0]


@down("Shape", 15)
def part_of_shape(at: Rewriter, step: Leaf) -> Adapted:
    """Turn `start` and `end` into a Slice."""
    given = at.attributes(step)
    start, end = given.get("start", 0), given.get("end", _FAR)
    plain = without(step, "start", "end")
    if (start, end) == (0, _FAR):
        return plain
    return at.slice(at.op("Shape", first(step)), start, end, 0)


@up("Slice", 10)
def slice_by_inputs(at: Rewriter, step: Leaf) -> Adapted:
    """Turn starts, ends and axes into inputs."""
    given = at.attributes(step)
    lists = [given["starts"], given["ends"], *([given["axes"]] if "axes" in given else [])]
    operands = (first(step), *(at.ints(*numbers) for numbers in lists))
    return replace(without(step, "starts", "ends", "axes"), operands=operands)


@down("Slice", 10)
def slice_by_attributes(at: Rewriter, step: Leaf) -> Adapted:
    """Turn starts, ends and axes into attributes, if they are constant."""
    x = first(step)
    names = ("starts", "ends", "axes", "steps")
    numbers = [value for value in step.operands[1:] if value is not None]
    if any(at.array(value) is None for value in numbers[2:]):
        return sliced(at, step)
    if any(at.array(value) is None for value in numbers[:2]):
        return _by_mask(at, step)
    lists = {
        name: [int(n) for n in at.constant_of(value, name).reshape(-1)]
        for name, value in zip(names, step.operands[1:], strict=False)
        if value is not None
    }
    steps = lists.pop("steps", [])
    if any(each != 1 for each in steps):
        along = lists.get("axes", range(len(steps)))
        if all(isinstance(at.dim(x, axis), int) for axis in along):
            return _strided(at, x, lists, steps)
        return sliced(at, step)
    axes = lists.get("axes")
    if axes is not None and min(axes, default=0) < 0:
        lists["axes"] = [at.axis(x, axis) for axis in axes]
    return having(replace(step, operands=(x,)), **lists)


def _by_mask(at: Rewriter, step: Leaf) -> Value:
    """A slice with bounds computed at run time: keep the items between them by a mask."""
    x, starts, ends = first(step), operand(step, 1), operand(step, 2)
    axes, steps = operand(step, 3), operand(step, 4)
    count = at.dim(starts, 0)
    if starts is None or ends is None or not isinstance(count, int):
        return sliced(at, step)
    if steps is not None and (at.constant_of(steps, "steps") != 1).any():
        return sliced(at, step)
    along = range(count) if axes is None else at.constant_of(axes, "axes")
    for position, axis in enumerate(at.axis(x, int(each)) for each in along):
        extent = at.extent(x, axis)
        ones = at.op("ConstantOfShape", extent, value=np.ones(1, np.int64))
        places = at.squeeze(at.op("NonZero", ones), 0)
        low, high = (_bound(at, each, position, extent) for each in (starts, ends))
        inside = at.op("And", at.op("Not", at.op("Less", places, low)), at.op("Less", places, high))
        x = at.compress(x, inside, axis)
    return x


def _bound(at: Rewriter, bounds: Value, position: int, extent: Value) -> Value:
    bound = at.cast(at.op("Gather", bounds, at.ints(position)), DType.INT64)
    below = at.op("Less", bound, at.ints(0))
    return at.op("Where", below, at.op("Add", bound, extent), bound)


def _strided(at: Rewriter, x: Value, lists: dict[str, list[int]], steps: list[int]) -> Value:
    """A slice with steps, as a Gather of constant indices along each axis."""
    for position, (start, end, step) in enumerate(
        zip(lists["starts"], lists["ends"], steps, strict=True)
    ):
        axis = lists["axes"][position] if "axes" in lists else position
        extent = at.dim(x, axis)
        assert isinstance(extent, int), "looked at before"
        places = range(extent)[slice(*_bounds(start, end, step, extent))]
        x = at.op("Gather", x, at.ints(*places), axis=at.axis(x, axis))
    return x


def _bounds(start: int, end: int, step: int, extent: int) -> tuple[int | None, int | None, int]:
    below = step < 0 and end < -extent
    return start, None if below else end, step


@up("Pad", 11)
def pad_by_inputs(at: Rewriter, step: Leaf) -> Adapted:
    """Turn pads and the value into inputs."""
    given = at.attributes(step)
    operands: tuple[Value, ...] = (first(step), at.ints(*given["pads"]))
    if given["value"]:
        operands += (at.scalar_like(first(step), given["value"]),)
    return replace(without(step, "pads", "value"), operands=operands)


@down("Pad", 11)
def pad_by_attributes(at: Rewriter, step: Leaf) -> Adapted:
    """Turn pads and the value into attributes, if they are constant."""
    value, given = operand(step, 2), operand(step, 1)
    if at.array(given) is None or (value is not None and at.array(value) is None):
        return _surrounded(at, step)
    pads = at.constant_of(given, "pads")
    number = 0.0 if value is None else float(at.constant_of(value, "the padding value").item())
    plain = replace(step, operands=(first(step),))
    return having(plain, pads=[int(n) for n in pads], value=number or None)


def _surrounded(at: Rewriter, step: Leaf) -> Value:
    """Pads computed at run time: blocks of the value before and after, axis by axis."""
    x, pads, value = first(step), operand(step, 1), operand(step, 2)
    if pads is None:
        raise NoForm("an operand is absent")
    mode = at.attributes(step)["mode"]
    if mode != "constant":
        return padded(at, x, pads, mode)
    rank = at.rank(x)
    filled = value if value is not None else at.scalar_like(x, 0)
    for axis in range(rank):
        sides = [
            _block(at, x, filled, at.op("Gather", pads, at.ints(k)), axis)
            for k in (axis, axis + rank)
        ]
        x = at.concat(sides[0], x, sides[1], axis=axis)
    return x


def _block(at: Rewriter, x: Value, filled: Value, extent: Value, axis: int) -> Value:
    """A block of the value, as large as the tensor except along one axis."""
    rank = at.rank(x)
    extents = [extent if k == axis else at.extent(x, k) for k in range(rank)]
    return at.op("Expand", at.reshape(filled, *[1] * rank), at.concat(*extents))


@down("Pad", 18)
def pad_all_axes(at: Rewriter, step: Leaf) -> Adapted:
    """Pads of some axes become pads of all."""
    return _with_all_pads(at, step)


def _with_all_pads(at: Rewriter, step: Leaf) -> Leaf:
    axes, pads = operand(step, 3), operand(step, 1)
    if axes is None or pads is None:
        return replace(step, operands=step.operands[:3])
    rank = at.rank(first(step))
    if at.array(axes) is None:
        return replace(
            step, operands=(first(step), _spread_pads(at, pads, axes, rank), *step.operands[2:3])
        )
    places = [int(axis) % rank for axis in at.constant_of(axes, "axes")]
    behind = [index + rank for index in places]
    sparse = np.zeros((len(places) * 2, rank * 2), np.int64)
    sparse[range(len(places) * 2), [*places, *behind]] = 1
    array = at.array(pads)
    if array is not None:
        whole = at.ints(*(array.reshape(-1) @ sparse))
    else:
        row = at.unsqueeze(pads, 0)
        whole = at.squeeze(at.op("MatMul", row, at.const(sparse)), 0)
    return replace(step, operands=(first(step), whole, *step.operands[2:3]))


def _spread_pads(at: Rewriter, pads: Value, axes: Value, rank: int) -> Value:
    """Expand pads of axes computed at run time to all axes."""
    wide = at.cast(axes, DType.INT64)
    below = at.op("Less", wide, at.ints(0))
    wide = at.op("Where", below, at.op("Add", wide, at.ints(rank)), wide)
    same = at.op("Equal", at.unsqueeze(wide, 1), at.const(np.arange(rank)))
    rows = at.reshape(pads, 2, -1)
    return at.reshape(at.op("MatMul", rows, at.cast(same, DType.INT64)), -1)


@down("Pad", 19)
def no_wrap(at: Rewriter, step: Leaf) -> Adapted:
    """The mode `wrap`: the added items are those at the other end."""
    if at.attributes(step)["mode"] != "wrap":
        return step
    x, rank = first(step), at.rank(first(step))
    axes = operand(step, 3)
    if at.array(operand(step, 1)) is None or (axes is not None and at.array(axes) is None):
        whole = _with_all_pads(at, step).operands[1]
        assert whole is not None, "Pad has pads"
        return padded(at, x, whole, "wrap")
    pads = at.constant_of(operand(step, 1), "pads").reshape(-1)
    places = range(rank) if axes is None else at.constant_of(axes, "axes")
    for position, axis in enumerate(int(index) % rank for index in places):
        x = _wrapped(at, x, axis, int(pads[position]), int(pads[position + len(pads) // 2]))
    return x


def _wrapped(at: Rewriter, x: Value, axis: int, before: int, behind: int) -> Value:
    extent = at.dim(x, axis)
    if not isinstance(extent, int) or extent == 0:
        raise NoForm("Pad wraps around an axis whose extent is not known", "fix the extent")
    if not (before or behind):
        return x
    kept = np.arange(extent)[max(-before, 0) : extent + min(behind, 0)]
    if not kept.size:
        raise NoForm("Pad wraps around an axis of which nothing is left")
    places = np.pad(kept, (max(before, 0), max(behind, 0)), mode="wrap")
    return at.op("Gather", x, at.const(places.astype(np.int64)), axis=axis)


@down("DepthToSpace", 11)
@down("SpaceToDepth", 28)
def columns_first(at: Rewriter, step: Leaf) -> Adapted:
    """The mode CRD: columns before depth."""
    given = at.attributes(step)
    if given["mode"] == "DCR":
        return without(step, "mode")
    return _moved(at, first(step), given["blocksize"], to_space=step.op == "DepthToSpace")


def _moved(at: Rewriter, x: Value, size: int, *, to_space: bool) -> Value:
    shape = at.shape(x)
    if shape is None or len(shape) != 4 or not all(isinstance(dim, int) for dim in shape[1:]):
        raise NoForm("the mode CRD of an image whose size is not known", "fix its size")
    _, c, h, w = (dim if isinstance(dim, int) else 0 for dim in shape)
    if to_space:
        parts = at.reshape(x, 0, c // size**2, size, size, h, w)
        moved = at.op("Transpose", parts, perm=[0, 1, 4, 2, 5, 3])
        return at.reshape(moved, 0, c // size**2, h * size, w * size)
    parts = at.reshape(x, 0, c, h // size, size, w // size, size)
    moved = at.op("Transpose", parts, perm=[0, 1, 3, 5, 2, 4])
    return at.reshape(moved, 0, c * size**2, h // size, w // size)


@down("ConstantOfShape", 20)
def cast_fill(at: Rewriter, step: Leaf) -> Adapted:
    """Cast a fill value of bfloat16 from float32."""
    given = at.attributes(step).get("value")
    type_ = at.fact(step.results[0]).type
    if given is None or not isinstance(type_, Tensor) or type_.dtype is not DType.BFLOAT16:
        return step
    filled = at.op("ConstantOfShape", first(step), value=given.astype(np.float32))
    return at.cast(filled, DType.BFLOAT16)
