"""Adapters for axes that became inputs, axes that may be negative, and Split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treadle.ir import Leaf, Value
from treadle.passes.versions.adapters.computed_axes import (
    reduced_in_the_run,
    squeezed_in_the_run,
    unsqueezed_in_the_run,
)
from treadle.passes.versions.adapters.steps import first, having, operand, without
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.table import Adapted, down, up

_REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd"
    " ReduceSumSquare"
)
_IN_THE_RUN = {"Squeeze": squeezed_in_the_run, "Unsqueeze": unsqueezed_in_the_run}
_ELEMENTWISE = {
    "ReduceL1": ("Abs",),
    "ReduceL2": ("Abs",),
    "ReduceLogSum": ("Log",),
    "ReduceLogSumExp": ("Exp", "Log"),
}
"""The elementwise part of a reduction over no axes; other reductions return the operand."""


@up("ReduceSum Squeeze Unsqueeze", 13)
@up(_REDUCTIONS, 18)
def axes_to_input(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the attribute `axes` into the second input."""
    axes = at.attributes(step).get("axes")
    if not axes and step.op != "Unsqueeze":
        return without(step, "axes")
    return replace(without(step, "axes"), operands=(first(step), at.ints(*(axes or ()))))


@down("ReduceSum Squeeze Unsqueeze", 13)
@down(_REDUCTIONS, 18)
def axes_to_attribute(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the second input into the attribute `axes`, if it is constant."""
    x, given = first(step), at.attributes(step)
    if _is_computed(at, step):
        return _IN_THE_RUN.get(step.op, reduced_in_the_run)(at, step)
    axes = _axes(at, step, operand(step, 1))
    if axes is None and given.get("noop_with_empty_axes"):
        return _reduced_over_nothing(at, step, x)
    step = without(replace(step, operands=(x,)), "noop_with_empty_axes")
    return step if axes is None else having(step, axes=axes)


def _is_computed(at: Rewriter, step: Leaf) -> bool:
    axes = operand(step, 1)
    return axes is not None and at.array(axes) is None and not _is_all(at, step, axes)


def _is_all(at: Rewriter, step: Leaf, axes: Value) -> bool:
    """Whether the number of axes equals the rank."""
    shape = at.shape(first(step))
    return step.op.startswith("Reduce") and shape is not None and at.dim(axes, 0) == len(shape)


def _axes(at: Rewriter, step: Leaf, axes: Value | None) -> list[int] | None:
    """The axes; None for the default ones."""
    if axes is None or (at.array(axes) is None and _is_all(at, step, axes)):
        return None
    found = [int(axis) for axis in at.constant_of(axes, "axes").reshape(-1)]
    return found or None


def _reduced_over_nothing(at: Rewriter, step: Leaf, x: Value) -> Value:
    if step.op == "ReduceSumSquare":
        return at.op("Mul", x, x)
    for op in _ELEMENTWISE.get(step.op, ()):
        x = at.op(op, x)
    return x if step.op in _ELEMENTWISE else at.op("Identity", x)


@down(f"ArgMax ArgMin Compress Concat Flatten Gather ReduceSum Split {_REDUCTIONS} Squeeze", 11)
def positive_axes(at: Rewriter, step: Leaf) -> Adapted:
    """Before opset 11 axes count from the front."""
    given = at.attributes(step)
    if step.op in ("Squeeze", "Unsqueeze") or step.op.startswith("Reduce"):
        axes = given.get("axes")
        if not axes or min(axes) >= 0:
            return step
        return having(step, axes=[axis % at.rank(first(step)) for axis in axes])
    axis = given.get("axis")
    if axis is None or axis >= 0:
        return step
    return having(step, axis=axis % (at.rank(first(step)) + (step.op == "Flatten" and axis == 0)))


@down("Unsqueeze", 11)
def positive_new_axes(at: Rewriter, step: Leaf) -> Adapted:
    """Before opset 11 axes count from the front, here those of the result."""
    axes: Sequence[int] = at.attributes(step)["axes"]
    if min(axes, default=0) >= 0:
        return step
    x = first(step)
    if at.shape(x) is None and max(axes) < 0:
        return _unsqueezed_from_the_end(at, x, axes)
    rank = at.rank(x) + len(axes)
    return having(step, axes=[axis % rank for axis in axes])


def _unsqueezed_from_the_end(at: Rewriter, x: Value, axes: Sequence[int]) -> Value:
    """New axes of a tensor of any rank, by inserting ones into its shape, the last one first."""
    shape, one = at.op("Shape", x), at.ints(1)
    for axis in sorted(axes, reverse=True):
        if axis == -1:
            shape = at.concat(shape, one)
            continue
        ends = at.slice(shape, 0, axis + 1, 0), at.slice(shape, axis + 1, 2**31, 0)
        shape = at.concat(ends[0], one, ends[1])
    return at.op("Reshape", x, shape)


@down("OneHot", 11)
def positive_depth_axis(at: Rewriter, step: Leaf) -> Adapted:
    """Before opset 11 an axis counts from the front, except for -1, the default."""
    axis = at.attributes(step)["axis"]
    return step if axis >= -1 else having(step, axis=axis % (at.rank(first(step)) + 1))


@up("Split", 13)
def split_to_input(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the attribute `split` into the second input."""
    split = at.attributes(step).get("split")
    operands = (first(step), at.ints(*split)) if split else (first(step),)
    return replace(without(step, "split"), operands=operands)


@down("Split", 13)
def split_to_attribute(at: Rewriter, step: Leaf) -> Adapted:
    """Turn the second input into the attribute `split`, if it is constant."""
    x, split = first(step), operand(step, 1)
    step = replace(step, operands=(x,))
    if split is None:
        return step
    array = at.array(split)
    if array is None and len(step.results) > 1:
        return _pieces(at, step, x, split)
    lengths = at.constant_of(split, "split") if array is None else array
    return having(step, split=[int(length) for length in lengths])


def _pieces(at: Rewriter, step: Leaf, x: Value, split: Value) -> list[Value | None]:
    """Split by lengths computed at run time, as Slices."""
    axis = at.attributes(step)["axis"]
    ends: list[Value] = []
    pieces: list[Value | None] = []
    for position in range(len(step.results)):
        length = at.op("Gather", split, at.ints(position))
        start = ends[-1] if ends else at.ints(0)
        ends.append(at.op("Add", start, length))
        pieces.append(at.op("Slice", x, start, ends[-1], at.ints(axis)))
    return pieces


@up("Split", 18)
def split_evenly_up(at: Rewriter, step: Leaf) -> Adapted:
    """Set `num_outputs` for equal pieces."""
    return step if operand(step, 1) else having(step, num_outputs=len(step.results))


@down("Split", 18)
def split_evenly(at: Rewriter, step: Leaf) -> Adapted:
    """Turn `num_outputs` into lengths: equal ones, of which the last may be shorter."""
    x, count = first(step), len(step.results)
    if operand(step, 1) is not None:
        return without(step, "num_outputs")
    axis = at.attributes(step)["axis"]
    extent = at.dim(x, axis)
    step = without(step, "num_outputs")
    if isinstance(extent, int):
        each = -(-extent // count)
        lengths = [min(each, max(extent - k * each, 0)) for k in range(count)]
        return step if extent % count == 0 else replace(step, operands=(x, at.ints(*lengths)))
    whole = at.extent(x, axis)
    each_ = at.op("Div", at.op("Add", whole, at.ints(count - 1)), at.ints(count))
    before = at.op("Mul", each_, at.const(np.arange(count, dtype=np.int64)))
    # the rest for each piece: between 0 and the full length
    left = at.op("Max", at.op("Sub", whole, before), at.ints(0))
    return replace(step, operands=(x, at.op("Min", left, each_)))
