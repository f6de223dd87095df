"""Writes steps for rewrites in the form of the model's opset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treadle import ops
from treadle.ir import (
    Block,
    Carried,
    DType,
    Info,
    Leaf,
    Loop,
    Role,
    Sliced,
    Stacked,
    Value,
    attribute,
)
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.step_builder import StepBuilder

_AXES_ARE_INPUTS = 13
_SLICE_TAKES_INPUTS = 10
_CLIP_TAKES_INPUTS = 11
_SPLIT_IS_COUNTED = 18


class Writer(StepBuilder):
    """A StepBuilder for operators whose attributes became inputs, and for Scans."""

    def __init__(self, at: PassContext) -> None:
        super().__init__(at)
        self._known: dict[tuple[object, ...], Value] = {}

    def number(self, value: object, dtype: DType) -> Value:
        """A constant of this element type; equal constants are shared."""
        array = np.asarray(value).astype(dtype.numpy)
        key = (dtype, array.shape, array.tobytes())
        if key not in self._known:
            self._known[key] = self.constant(array)
        return self._known[key]

    def ints(self, *numbers: int) -> Value:
        """A constant int64 vector."""
        return self.number(np.array(numbers, np.int64).reshape(-1), DType.INT64)

    def unsqueeze(self, x: Value, axis: int) -> Value:
        """The tensor with a new axis of extent 1."""
        return self._with_axis("Unsqueeze", x, axis)

    def squeeze(self, x: Value, axis: int) -> Value:
        """The tensor without an axis of extent 1."""
        return self._with_axis("Squeeze", x, axis)

    def _with_axis(self, op: str, x: Value, axis: int) -> Value:
        if self.at.opset >= _AXES_ARE_INPUTS:
            return self.leaf(op, x, self.ints(axis))
        return self.leaf(op, x, axes=[axis])

    def slice(self, x: Value, start: int, end: int, axis: int) -> Value:
        """The items from `start` to before `end` along an axis."""
        if self.at.opset >= _SLICE_TAKES_INPUTS:
            return self.leaf("Slice", x, self.ints(start), self.ints(end), self.ints(axis))
        return self.leaf("Slice", x, starts=[start], ends=[end], axes=[axis])

    def item(self, x: Value, position: int, axis: int) -> Value:
        """One item along an axis, the axis removed."""
        return self.squeeze(self.slice(x, position, position + 1, axis), axis)

    def split(self, x: Value, parts: int, axis: int) -> Sequence[Value]:
        """The tensor in equal parts along an axis."""
        results = tuple(Value(f"{x.name}_{k}") for k in range(parts))
        version = self.at.version("Split") or 1
        attributes = {"axis": attribute("axis", axis)}
        if self.at.opset >= _SPLIT_IS_COUNTED:
            attributes["num_outputs"] = attribute("num_outputs", parts)
        info = Info(op="Split", version=version)
        self.steps.append(Leaf("", "Split", version, (x,), results, attributes, info=info))
        return results

    def clip(self, x: Value, low: float, high: float, dtype: DType) -> Value:
        """The tensor within two bounds."""
        if self.at.opset >= _CLIP_TAKES_INPUTS:
            return self.leaf("Clip", x, self.number(low, dtype), self.number(high, dtype))
        return self.leaf("Clip", x, min=low, max=high)

    def cast(self, x: Value, dtype: DType) -> Value:
        """The tensor in another element type."""
        return self.leaf("Cast", x, to=ops.element_to_proto(dtype))

    def full(self, shape: Value, number: object, dtype: DType) -> Value:
        """A tensor of a shape filled with one number."""
        return self.leaf("ConstantOfShape", shape, value=np.array([number], dtype.numpy))

    def scan(
        self,
        body: Block,
        states: Sequence[Value],
        slices: Sequence[tuple[Value, Sliced]],
        stacks: Sequence[Stacked],
    ) -> tuple[Value, ...]:
        """A Scan over an open body with a parameter for each state, then for each slice.

        The body's results are None, the next states, and one element for each of `stacks`.
        """
        roles: list[Role] = [Carried()] * len(states)
        roles += [role for _, role in slices]
        operands = (*states, *(value for value, _ in slices))
        results = tuple(Value("scan") for _ in body.results[1:])
        info = Info(op="Scan", version=self.at.version("Scan") or 0)
        self.steps.append(
            Loop(
                None, None, tuple(roles), operands, body, tuple(stacks), results, info,
                fixed_state=True,
            )
        )  # fmt: skip
        return results
