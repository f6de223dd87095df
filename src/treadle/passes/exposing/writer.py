"""Writes steps for exposing: leaves of the model's opset, with unique names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from treadle import ops
from treadle.ir import (
    Attribute,
    Block,
    Branch,
    Constant,
    DType,
    FreshNames,
    Info,
    Leaf,
    Literal,
    Loop,
    Model,
    Operands,
    Role,
    Stacked,
    Step,
    Tensor,
    Type,
    Value,
    attribute,
    block_values,
    bodies,
    walk_block,
)


def names_of(model: Model) -> FreshNames:
    """The names of the values of a model, its bodies included."""
    names = FreshNames(value.name for value in block_values(model.main))
    for visit in walk_block(model.main):
        for _, body in bodies(visit.step):
            names.taken.update(value.name for value in block_values(body))
    return names


class Writer:
    """Collects the steps and constants that are added to one block."""

    def __init__(self, names: FreshNames, opset: int) -> None:
        self.names, self.opset = names, opset
        self.steps: list[Step] = []
        self.made: set[Value | None] = set()
        self.constants: list[Constant] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], Value] = {}

    def inner(self) -> Writer:
        """A writer for a body inside this block."""
        return Writer(self.names, self.opset)

    def add(self, step: Step) -> None:
        """Append a step."""
        self.steps.append(step)
        self.made.update(step.results)

    def version(self, op: str) -> int:
        """The version of a standard operator in the model's opset."""
        version = ops.since_version("", op, self.opset)
        assert version is not None, f"opset {self.opset} has no {op}"
        return version

    def value(self, hint: str, type_: Type | None = None) -> Value:
        """A new value, named after the hint."""
        return Value(self.names.fresh(hint), type_)

    def constant(self, array: np.ndarray) -> Value:
        """A constant; equal constants are shared."""
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = (str(array.dtype), array.shape, content)
        if key not in self._known:
            literal = Literal.of(array)
            value = self.value("exposed_constant", Tensor(literal.dtype, array.shape))
            self.constants.append(Constant(value, literal))
            self._known[key] = value
        return self._known[key]

    def leaf(
        self, op: str, *operands: Value, result: Value | None = None, **attributes: object
    ) -> Value:
        """A leaf with one result."""
        made = result or self.value(f"exposed_{op.lower()}")
        named = {name: _attribute(name, value) for name, value in attributes.items()}
        version = self.version(op)
        info = Info(op=op, version=version)
        self.add(Leaf("", op, version, operands, (made,), named, info=info))
        return made

    def scalar(self, value: Value) -> Value:
        """The one element of a tensor of rank 0 or 1, as a scalar."""
        return self.leaf("Reshape", value, self.constant(np.zeros(0, np.int64)))

    def row(self, value: Value) -> Value:
        """The one element of a tensor of rank 0 or 1, as a vector."""
        return self.leaf("Reshape", value, self.constant(np.array([1])))

    def add_rows(self, table: Value, rows: Value, result: Value | None = None) -> Value:
        """Append rows to a table."""
        return self.leaf("Concat", table, rows, result=result, axis=0)

    def branch(
        self, condition: Value, then: Block, otherwise: Block, operands: Sequence[Value]
    ) -> tuple[Value, ...]:
        """A Branch over two blocks that take one param per operand."""
        results = tuple(self.value("exposed_if") for _ in then.results)
        info = Info(op="If", version=self.version("If"))
        self.add(Branch(condition, then, otherwise, tuple(operands), results, info))
        return results

    def loop(
        self,
        trip: Value,
        body: Block,
        roles: Sequence[Role],
        operands: Operands,
        stacks: Sequence[Stacked] = (),
    ) -> tuple[Value, ...]:
        """A Loop over a body whose results are (None, *carried, *stacked elements)."""
        results = tuple(self.value("exposed_loop") for _ in body.results[1:])
        info = Info(op="Loop", version=self.version("Loop"))
        step = Loop(trip, None, tuple(roles), tuple(operands), body, tuple(stacks), results, info)
        self.add(step)
        return results

    def block(self, params: Iterable[Value], results: Operands) -> Block:
        """The block of the collected steps."""
        return Block(tuple(params), tuple(self.constants), tuple(self.steps), results)


def _attribute(name: str, value: object) -> Attribute:
    if isinstance(value, DType):
        return attribute(name, ops.element_to_proto(value))
    return attribute(name, value)
