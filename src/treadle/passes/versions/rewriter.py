"""Rewriter: builds the steps that replace one step, in one opset, and infers their types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from treadle import ops
from treadle.infer import Fact, IncrementalInference, array_of
from treadle.ir import (
    Attribute,
    Block,
    Branch,
    Constant,
    Dim,
    DType,
    FreshNames,
    Info,
    Leaf,
    Literal,
    Loop,
    Reference,
    Role,
    Scalar,
    Shape,
    Stacked,
    Step,
    Tensor,
    Value,
    attribute,
    clone_with_new_values,
    map_bodies,
    typed,
)
from treadle.passes.versions.no_form import NoForm

_AXES_ARE_INPUTS = {"ReduceSum": 13, "Squeeze": 13, "Unsqueeze": 13}
_REDUCTIONS_TAKE_AXES = 18
_SLICE_TAKES_INPUTS = 10
_CONSTANTS_HAVE_PLAIN_ATTRIBUTES = 12


class Names(FreshNames):
    """Names that no value of the model has; the second of a name is number 2."""

    def __init__(self, taken: Iterable[str]) -> None:
        super().__init__(taken, first=2)


@dataclass(slots=True)
class Rewriter:
    """Collects the steps and constants that replace one step at `path`, in one opset.

    `facts` knows every value of the model, and the new values as they are added.
    """

    facts: IncrementalInference
    names: Names
    opset: int
    path: str
    prefix: str
    steps: list[Step] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)

    # facts of values

    def fact(self, value: Value | None) -> Fact:
        """The complete fact about a value."""
        return self.facts.fact(value)

    def dtype(self, value: Value | None) -> DType:
        """The element type of a tensor; raises NoForm if it is unknown."""
        type_ = self.fact(value).type
        if not isinstance(type_, Tensor) or type_.dtype is None:
            raise NoForm(f"the element type of {_name(value)} is not known", "declare it")
        return type_.dtype

    def shape(self, value: Value | None) -> Shape | None:
        """The shape, as far as it is known."""
        type_ = self.fact(value).type
        return type_.shape if isinstance(type_, Tensor) else None

    def rank(self, value: Value | None) -> int:
        """The rank of a tensor; raises NoForm if it is unknown."""
        shape = self.shape(value)
        if shape is None:
            raise NoForm(f"the rank of {_name(value)} is not known", "declare its shape")
        return len(shape)

    def axis(self, value: Value | None, axis: int) -> int:
        """An axis counted from the start; the rank matters for one counted from the end only."""
        return axis if axis >= 0 else axis % self.rank(value)

    def dim(self, value: Value | None, axis: int) -> Dim:
        """The extent of an axis, as far as it is known."""
        shape = self.shape(value)
        return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None

    def array(self, value: Value | None) -> np.ndarray | None:
        """The content of a constant tensor, else None."""
        return None if value is None else array_of(self.fact(value))

    def constant_of(self, value: Value | None, what: str) -> np.ndarray:
        """The content of a constant tensor; raises NoForm if it is computed at run time."""
        array = self.array(value)
        if array is None:
            raise NoForm(f"{what} is computed in the run", f"make {what} a constant")
        return array

    def attributes(self, step: Leaf) -> dict[str, Any]:
        """The attributes as plain values with defaults; raises NoForm for a reference."""
        for name, each in step.attributes.items():
            if isinstance(each.value, Reference):
                raise NoForm(f"{name} is an attribute of the function", "inline the function")
        defaults = ops.defaults_of(step.domain, step.op, step.version)
        return defaults | ops.attributes_of(step.attributes)

    # new steps and values

    def value(self, hint: str) -> Value:
        """A new value."""
        return Value(self.names.fresh(f"{self.prefix}/{hint}"))

    def const(self, array: object, dtype: DType | None = None, hint: str = "constant") -> Value:
        """A constant of the block."""
        made = np.asarray(array, None if dtype is None else dtype.numpy)
        value = self.value(hint)
        literal = Literal.of(made) if dtype is None else Literal(made, dtype)
        self.constants.append(Constant(replace(value), literal))
        value = self.constants[-1].value
        self.facts.constant(value, literal)
        return value

    def ints(self, *numbers: int) -> Value:
        """A constant int64 vector."""
        return self.const(np.array(numbers, np.int64).reshape(-1))

    def op(self, op: str, *operands: Value | None, **attributes: object) -> Value:
        """The result of an operator; attributes that are None are left out."""
        return self.ops(op, 1, *operands, **attributes)[0]

    def ops(
        self, op: str, count: int, *operands: Value | None, **attributes: object
    ) -> tuple[Value, ...]:
        """The results of an operator with several."""
        results = tuple(self.value(op.lower()) for _ in range(count))
        version = ops.since_version("", op, self.opset)
        if version is None:
            raise NoForm(f"opset {self.opset} has no {op}")
        named = {
            name: each if isinstance(each, Attribute) else attribute(name, each)
            for name, each in attributes.items()
            if each is not None
        }
        self.add(Leaf("", op, version, operands, results, named, info=self.info(op, version)))
        return results

    def info(self, op: str, version: int, domain: str = "") -> Info:
        """The origin of a new step."""
        path = f"{self.path}/{op.lower()}_{len(self.steps)}"
        return Info(domain=domain, op=op, version=version, path=path)

    def add(self, step: Step) -> None:
        """Append a finished step; values of its bodies get inferred types."""
        self.facts.add(step, f"{step.info.path}@{self.opset}")
        if isinstance(step, Leaf) and not step.blocks:
            self.steps.append(step)
            return
        self.steps.append(map_bodies(step, lambda _, body: self._with_types(body)))

    def _with_types(self, body: Block) -> Block:
        def known(value: Value) -> Value:
            made = typed(value, self.fact(value).type)
            self.facts.same(made, value)
            return made

        return clone_with_new_values(body, known)

    def loop(
        self,
        trip: Value | None,
        body: Block,
        roles: Sequence[Role],
        operands: Sequence[Value | None],
        stacks: Sequence[Stacked] = (),
    ) -> tuple[Value, ...]:
        """A Loop or Scan over a closed body; see ir.Loop."""
        results = tuple(self.value("loop") for _ in body.results[1:])
        op = "Loop" if trip is not None else "Scan"
        version = ops.since_version("", op, self.opset) or 1
        info = self.info(op, version)
        operands, roles = tuple(operands), tuple(roles)
        self.add(Loop(trip, None, roles, operands, body, tuple(stacks), results, info))
        return results

    def branch(
        self, condition: Value, then: Block, otherwise: Block, operands: Sequence[Value]
    ) -> tuple[Value, ...]:
        """An If over two closed blocks with the same operands."""
        results = tuple(self.value("chosen") for _ in then.results)
        info = self.info("If", ops.since_version("", "If", self.opset) or 1)
        self.add(Branch(condition, then, otherwise, tuple(operands), results, info))
        return results

    # operators whose form depends on the opset

    def _axes(self, op: str, x: Value, axes: Sequence[int] | None, **attributes: Any) -> Value:
        since = _AXES_ARE_INPUTS.get(op, _REDUCTIONS_TAKE_AXES)
        if axes is None:
            return self.op(op, x, **attributes)
        if self.opset >= since:
            return self.op(op, x, self.ints(*axes), **attributes)
        return self.op(op, x, axes=list(axes), **attributes)

    def squeeze(self, x: Value, *axes: int) -> Value:
        """The tensor without these axes of extent 1."""
        return self._axes("Squeeze", x, axes)

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """The tensor with new axes of extent 1."""
        return self._axes("Unsqueeze", x, axes) if axes else x

    def reduce(self, op: str, x: Value, axes: Sequence[int] | None, keepdims: bool = True) -> Value:
        """A reduction over constant axes, or over all."""
        return self._axes(op, x, axes, keepdims=int(keepdims))

    def slice(self, x: Value, start: int, end: int, axis: int, step: int = 1) -> Value:
        """A constant slice along one axis."""
        if self.opset >= _SLICE_TAKES_INPUTS:
            bounds = [self.ints(n) for n in (start, end, axis)]
            return self.op("Slice", x, *bounds, *([self.ints(step)] if step != 1 else []))
        if step != 1:
            raise NoForm("Slice has no steps before opset 10")
        return self.op("Slice", x, starts=[start], ends=[end], axes=[axis])

    def cast(self, x: Value, dtype: DType) -> Value:
        """The tensor in another element type; itself if it has that type."""
        if self.dtype(x) is dtype:
            return x
        return self.op("Cast", x, to=ops.element_to_proto(dtype))

    def shape_of(self, x: Value) -> Value:
        """The run-time shape, an int64 vector; a constant if it is known."""
        shape = self.shape(x)
        if shape is not None and all(isinstance(dim, int) for dim in shape):
            return self.ints(*(dim for dim in shape if isinstance(dim, int)))
        return self.op("Shape", x)

    def extent(self, x: Value, axis: int) -> Value:
        """The run-time extent of one axis, an int64 vector of one entry."""
        dim = self.dim(x, axis)
        if isinstance(dim, int):
            return self.ints(dim)
        return self.op("Gather", self.shape_of(x), self.ints(axis))

    def concat(self, *parts: Value, axis: int = 0) -> Value:
        """Concatenate the parts along an axis; returns a single part itself."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def reshape(self, x: Value, *shape: Value | int) -> Value:
        """Reshape to constant and computed extents."""
        if all(isinstance(each, int) for each in shape):
            return self.op("Reshape", x, self.ints(*(n for n in shape if isinstance(n, int))))
        parts = [self.ints(n) if isinstance(n, int) else n for n in shape]
        return self.op("Reshape", x, self.concat(*parts))

    def compress(self, x: Value, kept: Value, axis: int) -> Value:
        """The items along an axis for which `kept` is true; their number is known at run time."""
        result = self.op("Compress", x, kept, axis=axis)
        shape = self.shape(x)
        if shape is not None:
            dims = tuple(None if k == axis else dim for k, dim in enumerate(shape))
            self.facts.know(result, Tensor(self.dtype(x), dims))
        return result

    def scalar_like(self, x: Value, number: Scalar) -> Value:
        """A constant scalar of a tensor's element type."""
        return self.const(np.array(number), self.dtype(x))

    def full_like(self, x: Value, number: object, dtype: DType) -> Value:
        """A tensor filled with one number, in the shape of another one."""
        value = np.array([number], dtype.numpy)
        return self.op("ConstantOfShape", self.shape_of(x), value=value)


def _name(value: Value | None) -> str:
    return "an absent operand" if value is None else f'"{value.name}"'
