"""Builds blocks by hand, for tests, passes and formats.

with_x = BlockBuilder("main")
x = with_x.param("x", tensor("float32", 2))
y = with_x.leaf("Add", 14, x, x)
block = with_x.build(y)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from treadle.ir.graph import Block, Branch, Leaf, Loop, Step
from treadle.ir.names import FreshNames
from treadle.ir.roles import Role, Stacked
from treadle.ir.types import Tensor, Type, dtype_of
from treadle.ir.values import Attribute, Constant, Info, Kind, Literal, Scalar, Value


class BlockBuilder:
    """Collects the parts of one block; values without a name get a fresh one."""

    def __init__(self, name: str = "", taken: Sequence[str] = ()) -> None:
        self.name = name
        self._names = FreshNames(taken)
        self._params: list[Value] = []
        self._constants: list[Constant] = []
        self._steps: list[Step] = []

    def fresh(self, hint: str) -> str:
        """A name that no value of this block has: the hint, or the hint with a number."""
        return self._names.fresh(hint)

    def value(self, hint: str, type_: Type | None = None) -> Value:
        """A new value that some step will define."""
        return Value(self.fresh(hint), type_)

    def param(self, name: str, type_: Type | None = None) -> Value:
        """A new parameter."""
        self._params.append(self.value(name, type_))
        return self._params[-1]

    def constant(self, array: np.ndarray, name: str = "constant") -> Value:
        """A new constant."""
        dtype = dtype_of(array.dtype)
        value = self.value(name, Tensor(dtype, tuple(array.shape)))
        self._constants.append(Constant(value, Literal.of(array)))
        return value

    def add(self, step: Step) -> Step:
        """Append a finished step."""
        self._steps.append(step)
        return step

    def leaf(
        self,
        op: str,
        version: int,
        *operands: Value | None,
        domain: str = "",
        result: str = "",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """A leaf with one result."""
        out = self.value(result or op.lower())
        info = Info(domain=domain, op=op, version=version)
        self.add(Leaf(domain, op, version, operands, (out,), attributes or {}, info=info))
        return out

    def branch(
        self, condition: Value, then: Block, otherwise: Block, operands: Sequence[Value] = ()
    ) -> tuple[Value, ...]:
        """A Branch over two blocks that take one param per operand."""
        results = tuple(self.value("branch") for _ in then.results)
        self.add(Branch(condition, then, otherwise, tuple(operands), results, Info(op="If")))
        return results

    def loop(
        self,
        trip: Value | None,
        condition: Value | None,
        body: Block,
        roles: Sequence[Role],
        operands: Sequence[Value | None],
        stacks: Sequence[Stacked] = (),
    ) -> tuple[Value, ...]:
        """A Loop over a body whose results are (next condition, *carried, *stacked elements)."""
        results = tuple(self.value("loop") for _ in body.results[1:])
        self.add(
            Loop(
                trip, condition, tuple(roles), tuple(operands), body, tuple(stacks), results,
                Info(op="Loop"),
            )
        )  # fmt: skip
        return results

    def build(self, *results: Value | None) -> Block:
        """The block, with these results."""
        return Block(
            tuple(self._params),
            tuple(self._constants),
            tuple(self._steps),
            results,
            name=self.name,
        )


_KINDS: Mapping[type, Kind] = {float: Kind.FLOAT, int: Kind.INT, bytes: Kind.STRING}
_LIST_KINDS = {Kind.FLOAT: Kind.FLOATS, Kind.INT: Kind.INTS, Kind.STRING: Kind.STRINGS}


def attribute(name: str, value: object) -> Attribute:
    """Make an attribute of a plain value: number, text, array, or non-empty list of one kind."""
    if isinstance(value, np.ndarray):
        return Attribute(name, Kind.TENSOR, Literal.of(value))
    if isinstance(value, list | tuple):
        items: tuple[Scalar, ...] = tuple(_plain(item) for item in value)
        return Attribute(name, _LIST_KINDS[_KINDS[type(items[0])]], items)
    plain = _plain(value)
    return Attribute(name, _KINDS[type(plain)], plain)


def _plain(value: object) -> Scalar:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bool):
        return int(value)
    assert isinstance(value, int | float | bytes), f"no attribute kind for {type(value)}"
    return value
