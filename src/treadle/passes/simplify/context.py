"""PassContext: the facts and the log shared by the simplification passes of one round."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from treadle import ops
from treadle.infer import Fact, array_of, certain_facts
from treadle.ir import (
    Block,
    Constant,
    Dim,
    DType,
    Info,
    Leaf,
    Literal,
    Model,
    Range,
    Shape,
    Step,
    Symbol,
    Tensor,
    Type,
    Value,
    attribute,
)
from treadle.passes.report import Change

_UNKNOWN = Fact()
_LITERALS_SINCE = 4
FEW = 1024
"""The greatest number of elements of a constant that a pass makes or compares."""


@dataclass(frozen=True, slots=True)
class PassContext:
    """One round of passes over an open block; facts of values that are new in it are unknown.

    `literals`: constants may be initializers, which files allow from IR version 4 on. `model`: the
    model at the start of the round.
    """

    facts: Mapping[Value, Fact]
    opset: int
    literals: bool = True
    done: list[Change] = field(default_factory=list)
    model: Model | None = None

    @classmethod
    def of(cls, model: Model) -> PassContext:
        """A round that starts with this closed model."""
        facts = certain_facts(model)
        opset, literals = model.opsets.get("", 1), model.ir_version >= _LITERALS_SINCE
        return cls(facts, opset, literals, model=model)

    def trusting(self) -> PassContext:
        """The same round, assuming that extents of inputs with the same name are equal."""
        if self.model is None or not _share_names(self.model.main.params):
            return self
        return replace(self, facts=certain_facts(self.model, shared=True))

    def note(self, name: str, path: str, done: str) -> None:
        """Record a change."""
        self.done.append(Change(name, path, done))

    def version(self, op: str) -> int | None:
        """The version of a standard operator in the model's opset."""
        return ops.since_version("", op, self.opset)

    def type(self, value: Value | None) -> Type | None:
        """The proven type of a value."""
        return None if value is None else self.facts.get(value, _UNKNOWN).type

    def dtype(self, value: Value | None) -> DType | None:
        """The proven element type of a tensor."""
        type_ = self.type(value)
        return type_.dtype if isinstance(type_, Tensor) else None

    def shape(self, value: Value | None) -> Shape | None:
        """The proven shape of a tensor; a dim that is only known as a range is None."""
        type_ = self.type(value)
        if not isinstance(type_, Tensor) or type_.shape is None:
            return None
        return tuple(None if isinstance(dim, Range) else dim for dim in type_.shape)

    def extents(self, value: Value | None) -> tuple[int, ...] | None:
        """The proven shape if every extent is a number."""
        shape = self.shape(value)
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            return None
        return tuple(dim for dim in shape if isinstance(dim, int))

    def array(self, value: Value | None) -> np.ndarray | None:
        """The value itself if every element is known."""
        if value is None or value not in self.facts:
            return None
        fact = self.facts[value]
        return None if self._shapeless(fact) else array_of(fact)

    def _shapeless(self, fact: Fact) -> bool:
        return fact.literal is None and (
            not isinstance(fact.type, Tensor)
            or fact.type.shape is None
            or not all(isinstance(dim, int) for dim in fact.type.shape)
        )

    def whole(self, value: Value | None) -> int | None:
        """The integer in a known value of one element."""
        array = self.array(value)
        if array is None or array.size != 1 or array.dtype.kind not in "iu":
            return None
        return int(array.reshape(-1)[0])

    def truth(self, value: Value | None) -> bool | None:
        """The bool in a known value of one element."""
        array = self.array(value)
        if array is None or array.size != 1 or array.dtype != np.bool_:
            return None
        return bool(array.reshape(-1)[0])

    def is_single(self, value: Value | None, dtype: DType) -> bool:
        """Whether the value is proven to be one element of this type."""
        extents = self.extents(value)
        return self.dtype(value) is dtype and extents is not None and all(e == 1 for e in extents)

    def constant(self, block: Block, value: Value, array: np.ndarray) -> tuple[Block, list[Step]]:
        """The block with a constant for the value, or a preceding step that makes it."""
        literal = Literal.of(array)
        if self.literals:
            made = Constant(value, literal)
            return _with_constant(block, made), []
        version = self.version("Constant") or 1
        attributes = {"value": attribute("value", array)}
        return block, [
            Leaf("", "Constant", version, (), (value,), attributes, info=Info(op="Constant"))
        ]


def _with_constant(block: Block, constant: Constant) -> Block:
    return replace(block, constants=(*block.constants, constant))


def _share_names(params: Iterable[Value]) -> bool:
    """Whether extents of different inputs have the same name."""
    types = [param.declared for param in params]
    shapes = [type_.shape or () for type_ in types if isinstance(type_, Tensor)]
    names = [dim for shape in shapes for dim in shape if isinstance(dim, Symbol)]
    return len(set(names)) < len(names)


def is_same(left: Dim, right: Dim) -> bool:
    """Whether two extents of values in one scope are proven equal."""
    return left is not None and not isinstance(left, Range) and left == right
