"""Builds a block from layers: fresh names, leaves of one ONNX opset, inferred types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

import numpy as np

from treadle import ops
from treadle.formats.openvino.elements import element_type
from treadle.formats.openvino.variables import Assigned, Variable
from treadle.infer import IncrementalInference
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
"""The ONNX opset of the leaves that layers become."""
_NONE: Mapping[str, Any] = {}


@cache
def _version(op: str) -> int:
    version = ops.since_version("", op, OPSET)
    assert version is not None, f"opset {OPSET} has no {op}"
    return version


class LayerBlockBuilder:
    """Collects params, constants and steps; `claims` are the types the file declares.

    `origin` is the current layer, `named` the result of an operator that becomes a single leaf.
    """

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path
        self.claims: dict[Value, Tensor] = {}
        self._types = IncrementalInference()
        self.literals: dict[Value, Literal] = {}
        self.params: list[Value] = []
        self.defaults: dict[Value, Literal] = {}
        self.steps: list[Step] = []
        self.variables: dict[str, Variable] = {}
        self.read_values: dict[str, Value] = {}
        self.assigned: dict[str, Assigned] = {}
        self.origin = Info()
        self.named: Mapping[str, str] = _NONE
        self._names: dict[str, int] = {}
        self._nodes: dict[str, int] = {}
        self._shared: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    def fresh(self, hint: str) -> str:
        """A name that is not used here: the hint, or the hint with a number."""
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
        self.know(value, declared if isinstance(declared, Tensor) else Tensor())
        return value

    def know(self, param: Value, type_: Tensor) -> None:
        """Record the type of a param."""
        self._types.know(param, type_)

    def type_of(self, value: Value) -> Tensor:
        """The inferred type of a value; the declared one if inference knows nothing."""
        self._types.follow(self.steps)
        found, claim = self._types.of(value), self.claims.get(value, Tensor())
        if not isinstance(found, Tensor):
            return claim
        dtype = found.dtype if found.dtype is not None else claim.dtype
        return Tensor(dtype, found.shape if found.shape is not None else claim.shape)

    def literal(self, data: Literal, hint: str) -> Value:
        """A constant of the file."""
        value = self.value(hint)
        self.literals[value] = data
        self._types.constant(value, data)
        return value

    def constant(self, array: np.ndarray, hint: str = "") -> Value:
        """A new constant; small equal ones are shared."""
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
        hint = self.named.get(op) or f"{self.origin.name}/{op}"
        results = tuple([self.value(hint) for _ in range(count)])
        attributes = _attributes(given) if given else _NONE
        self.steps.append(
            Leaf(
                "", op, _version(op), tuple(operands), results, attributes, _NONE, (), self.info(op)
            )
        )
        return results

    def info(self, op: str) -> Info:
        """The origin of a step; the first step of a layer has the layer's name."""
        name = self.origin.name
        while name in self._nodes:
            self._nodes[name] += 1
            name = f"{self.origin.name}/{op}_{self._nodes[name]}"
        self._nodes[name] = 0
        return self.origin if name == self.origin.name else replace(self.origin, name=name)

    def scalar(self, value: Value) -> Value:
        """Reshape a one-element value to a scalar."""
        literal = self.literals.get(value)
        if literal is not None and literal.array.size == 1:
            return self.constant(literal.array.reshape(())) if literal.array.ndim else value
        if self.type_of(value).shape == ():
            return value
        return self.leaf("Reshape", value, self.whole())

    def leaf(self, op: str, *operands: Value | None, **attributes: object) -> Value:
        """A leaf with one result."""
        return self.leaves(op, operands, 1, attributes)[0]

    def whole(self, *numbers: int) -> Value:
        """A constant int64 vector."""
        return self.constant(np.array(numbers, np.int64))

    def rename(self, since: int, names: Mapping[Value, Value]) -> None:
        """Replace values that steps from `since` on define by other values."""
        if since == len(self.steps) - 1:
            self.steps[since] = _giving(self.steps[since], names)
            since += 1
        for k in range(since, len(self.steps)):
            step = _giving(self.steps[k], names)
            self.steps[k] = with_operands(step, names)
        for old, new in names.items():
            self._types.same(new, old)

    def build(self, *results: Value | None) -> Block:
        """The block, without unused constants."""
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


def _attributes(given: Mapping[str, object]) -> dict[str, Attribute]:
    return {
        name: value if isinstance(value, Attribute) else attribute(name, value)
        for name, value in given.items()
        if value is not None
    }


def _giving(step: Step, names: Mapping[Value, Value]) -> Step:
    """The step with other results; a leaf is rebuilt directly, which is several times faster."""
    if not isinstance(step, Leaf):
        return with_results(step, names)
    results = tuple([names.get(v, v) if v is not None else None for v in step.results])
    return Leaf(
        step.domain,
        step.op,
        step.version,
        step.operands,
        results,
        step.attributes,
        step.blocks,
        step.captures,
        step.info,
    )


@lru_cache(maxsize=4096)
def claim_of(precision: str, dims: tuple[int, ...]) -> Tensor:
    """The type declared by a port: negative dims are unknown, and no dims may mean undeclared."""
    kind = element_type(precision)
    shape = tuple(None if dim < 0 else dim for dim in dims) if dims else None
    return Tensor(kind.dtype if kind else None, shape)


def cast_to(dtype: DType) -> int:
    """The value of Cast's attribute `to` for an element type."""
    return int(ops.element_to_proto(dtype))
