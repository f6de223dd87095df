"""The scope of a block being written: its builder, and the wires of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from treadle.formats.openvino.write.constant_analysis import Knowledge
from treadle.formats.openvino.write.encoding import show_shape, word_of
from treadle.formats.openvino.write.net_builder import BodyBuilder, Wire
from treadle.formats.openvino.write.pool import Pool
from treadle.formats.openvino.write.refusals import Refusal, Refusals
from treadle.ir import Block, Tensor, Type, Value, show_type


class Missing(Exception):
    """A value was not written because its step was refused, which is reported already."""


@dataclass(slots=True)
class WriteContext:
    """The state shared by all bodies of one model."""

    pool: Pool
    knowledge: Knowledge
    needed: set[Value]
    refusals: Refusals
    write_steps: Callable[[Scope, Block, str], None]


@dataclass(slots=True)
class Scope:
    """One body being written."""

    writing: WriteContext
    draft: BodyBuilder
    wires: dict[Value, Wire] = field(default_factory=dict)
    of_iterator: bool = False
    """Whether it is the body of a TensorIterator, which may hold no other one."""

    def inner(self, *, of_iterator: bool = False) -> Scope:
        """The scope of a body inside."""
        return Scope(self.writing, BodyBuilder(self.writing.pool), of_iterator=of_iterator)

    def wire(self, value: Value) -> Wire:
        """The wire of a value; a constant becomes a layer on first use.

        Raises Missing if it failed.
        """
        found = self.wires.get(value)
        if found is not None:
            return found
        literal = self.writing.knowledge.literals.get(value)
        if literal is None:
            raise Missing
        return self.draft.constant(literal, value.name)

    def needs(self, value: Value | None) -> bool:
        """Whether a result of the model depends on the value."""
        return value in self.writing.needed

    def bind(self, value: Value, wire: Wire) -> None:
        """Bind a value to the output of a layer."""
        type_ = value.type if isinstance(value.type, Tensor) else Tensor()
        self.wires[value] = self.draft.name(wire, value, type_)

    def single(self, value: Value) -> Wire:
        """A one-element value without axes, if it may have any."""
        wire = self.wire(value)
        shape = wire.type.shape
        if shape is not None and len(shape) < 2:
            return wire
        target = self.draft.constant(np.ones(1, np.int64))
        data = {"special_zero": False}
        (made,) = self.draft.layer(
            "Reshape-1", (wire, target), (Tensor(wire.type.dtype, (1,)),), data
        )
        return made

    def condition(self, value: Value | None) -> Wire:
        """A condition: true if there is none."""
        return self.draft.constant(np.array(True)) if value is None else self.single(value)

    def parameter(self, name: str, type_: Type | None) -> Wire:
        """A Parameter layer."""
        said = tensor_of(name, type_)
        data = {"shape": show_shape(said.shape), "element_type": word_of(said.dtype)}
        (wire,) = self.draft.layer("Parameter-1", (), (said,), data, name=name)
        self.draft.parameters.append(wire)
        return wire


def tensor_of(name: str, type_: Type | None) -> Tensor:
    """The type of a value, if OpenVINO can represent it; raises Refusal otherwise."""
    if type_ is not None and not isinstance(type_, Tensor):
        kind = type(type_).__name__.lower()
        hint = "append to a stacked output instead of a list" if kind == "sequence" else ""
        raise Refusal(f"{name} is {show_type(type_)}, and OpenVINO IR holds tensors only", hint)
    if type_ is None or type_.dtype is None:
        raise Refusal(f"the element type of {name} is not known", "declare it")
    if word_of(type_.dtype) is None:
        raise Refusal(f"{name} is {type_}, and OpenVINO has no {type_.dtype}")
    return type_
