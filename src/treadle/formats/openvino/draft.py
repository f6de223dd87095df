"""A block being made of layers: fresh names, leaves of one ONNX opset, what is known of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from treadle import ops
from treadle.ir import (
    Attribute,
    Block,
    Constant,
    DType,
    Info,
    Leaf,
    Literal,
    Step,
    Tensor,
    Type,
    Value,
    attribute,
    reads,
    with_operands,
    with_results,
)

OPSET = 21
"""The ONNX opset layers become leaves of."""


@cache
def _version(op: str) -> int:
    version = ops.since_version("", op, OPSET)
    assert version is not None, f"opset {OPSET} has no {op}"
    return version


class Draft:
    """Collects params, constants and steps; `claims` are the types the file says values have."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.claims: dict[Value, Tensor] = {}
        self.literals: dict[Value, Literal] = {}
        self.params: list[Value] = []
        self.defaults: dict[Value, Literal] = {}
        self.steps: list[Step] = []
        self.origin = Info()
        self._names: dict[str, int] = {}
        self._nodes: dict[str, int] = {}
        self._shared: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    def fresh(self, hint: str) -> str:
        """A name nothing here has: the hint, or the hint with a number."""
        hint = hint or "value"
        number = self._names.get(hint)
        if number is None:
            self._names[hint] = 0
            return hint
        while True:
            number += 1
            name = f"{hint}_{number}"
            if name not in self._names:
                self._names[hint] = number
                self._names[name] = 0
                return name

    def value(self, hint: str, declared: Type | None = None) -> Value:
        """A value some step will define."""
        return Value(self.fresh(hint), declared)

    def param(self, hint: str, declared: Type | None = None) -> Value:
        """A new parameter of the block."""
        value = self.value(hint, declared)
        self.params.append(value)
        if isinstance(declared, Tensor):
            self.claims[value] = declared
        return value

    def literal(self, data: Literal, hint: str) -> Value:
        """A constant of the file."""
        value = self.value(hint)
        self.literals[value] = data
        self.claims[value] = Tensor(data.dtype, tuple(data.array.shape))
        return value

    def constant(self, array: np.ndarray, hint: str = "") -> Value:
        """A constant of ours; a small one is shared by all who want the same."""
        array = np.asarray(array)
        key = (str(array.dtype), array.shape, array.tobytes()) if array.size <= 16 else None
        if key is not None and key in self._shared:
            return self._shared[key]
        value = self.literal(Literal.of(array), hint or f"{self.origin.name}/constant")
        if key is not None:
            self._shared[key] = value
        return value

    def leaves(
        self, op: str, operands: Sequence[Value | None], count: int, given: Mapping[str, object]
    ) -> tuple[Value, ...]:
        """A leaf with `count` results."""
        attributes: dict[str, Attribute] = {
            name: value if isinstance(value, Attribute) else attribute(name, value)
            for name, value in given.items()
            if value is not None
        }
        results = tuple(self.value(f"{self.origin.name}/{op}") for _ in range(count))
        version = _version(op)
        self.steps.append(
            Leaf("", op, version, tuple(operands), results, attributes, info=self.info(op))
        )
        return results

    def info(self, op: str) -> Info:
        """Where a step comes from; the first one of a layer has the layer's name."""
        name = self.origin.name
        while name in self._nodes:
            self._nodes[name] += 1
            name = f"{self.origin.name}/{op}_{self._nodes[name]}"
        self._nodes[name] = 0
        return self.origin if name == self.origin.name else replace(self.origin, name=name)

    def scalar(self, value: Value) -> Value:
        """The value, which has one element, without axes."""
        literal, claim = self.literals.get(value), self.claims.get(value)
        if literal is not None and literal.array.size == 1:
            return self.constant(literal.array.reshape(())) if literal.array.ndim else value
        if claim is not None and claim.shape == ():
            return value
        made = self.leaf("Reshape", value, self.whole())
        self.claims[made] = Tensor(claim.dtype if claim is not None else None, ())
        return made

    def leaf(self, op: str, *operands: Value | None, **attributes: object) -> Value:
        """A leaf with one result."""
        return self.leaves(op, operands, 1, attributes)[0]

    def whole(self, *numbers: int) -> Value:
        """A constant list of int64."""
        return self.constant(np.array(numbers, np.int64))

    def rename(self, since: int, names: Mapping[Value, Value]) -> None:
        """Put other values in the place of some that steps from `since` on define."""
        for k in range(since, len(self.steps)):
            step = with_results(self.steps[k], names)
            self.steps[k] = with_operands(step, names) if len(self.steps) - since > 1 else step

    def build(self, *results: Value | None) -> Block:
        """The block; constants nothing reads are left out."""
        return Block(
            tuple(self.params),
            self._constants(results),
            tuple(self.steps),
            results,
            name=self.name,
        )

    def _constants(self, results: Sequence[Value | None]) -> tuple[Constant, ...]:
        used = {value for step in self.steps for value in reads(step)} | set(results)
        return tuple(
            Constant(value, replace(data, name=value.name))
            for value, data in (self.literals | self.defaults).items()
            if value in used or value in self.defaults
        )


def claim_of(dtype: DType | None, dims: Sequence[int]) -> Tensor:
    """The type a port claims: negative dims are unknown."""
    return Tensor(dtype, tuple(None if dim < 0 else dim for dim in dims))


def cast_to(dtype: DType) -> int:
    """The number that Cast's attribute `to` has for an element type."""
    return int(ops.element_to_proto(dtype))
