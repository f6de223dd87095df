"""The leaf being written: access to its operands and attributes, and helpers to add layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle import ops
from treadle.formats.openvino.write.encoding import word_of
from treadle.formats.openvino.write.layer_types import layer_types
from treadle.formats.openvino.write.net_builder import Wire
from treadle.formats.openvino.write.refusals import Refusal
from treadle.formats.openvino.write.scope import Scope
from treadle.ir import DType, Leaf, Shape, Tensor

_FLOATS = frozenset((DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16))
_LARGEST = 2**31 - 1


@dataclass(slots=True)
class OpContext:
    """The argument of an operator's function; `version` is that of the operator's schema."""

    leaf: Leaf
    scope: Scope
    attributes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, leaf: Leaf, scope: Scope) -> OpContext:
        """The leaf with the defaults of its schema."""
        given = ops.attributes_of(leaf.attributes)
        return cls(leaf, scope, ops.defaults_of(leaf.domain, leaf.op, leaf.version) | given)

    @property
    def version(self) -> int:
        """The version of the operator."""
        return self.leaf.version

    # ---- attributes

    def integer(self, name: str, default: int = 0) -> int:
        """An integer."""
        return int(self.attributes.get(name, default))

    def number(self, name: str, default: float = 0.0) -> float:
        """A number."""
        return float(self.attributes.get(name, default))

    def integers(self, name: str) -> list[int] | None:
        """Integers; None if the attribute is left out."""
        given = self.attributes.get(name)
        return None if given is None else [int(item) for item in given]

    def text(self, name: str, default: str = "") -> str:
        """A word."""
        return str(self.attributes.get(name, default))

    # ---- operands

    def has(self, position: int) -> bool:
        """Whether the operand is present."""
        operands = self.leaf.operands
        return position < len(operands) and operands[position] is not None

    def __getitem__(self, position: int) -> Wire:
        value = self.leaf.operands[position] if self.has(position) else None
        if value is None:
            raise Refusal(f"it has no input {position}")
        return self.scope.wire(value)

    def all(self) -> list[Wire]:
        """Every operand."""
        return [self[k] for k in range(len(self.leaf.operands))]

    def array(self, position: int) -> np.ndarray | None:
        """The operand's content, if it is known."""
        value = self.leaf.operands[position] if self.has(position) else None
        literal = None if value is None else self.scope.writing.knowledge.literals.get(value)
        return None if literal is None else literal.array

    def known(self, position: int, what: str) -> np.ndarray:
        """The content of an operand that must be constant."""
        array = self.array(position)
        if array is None:
            raise Refusal(f"{what} (input {position}) is computed, OpenVINO wants a constant")
        return array

    def wholes(self, position: int, what: str) -> list[int]:
        """The integers of an operand that must be constant."""
        return [int(item) for item in self.known(position, what).reshape(-1).tolist()]

    def type(self, position: int) -> Tensor:
        """The type of an operand."""
        value = self.leaf.operands[position] if self.has(position) else None
        type_ = None if value is None else value.type
        array = self.array(position)
        if array is not None and value is not None:
            literal = self.scope.writing.knowledge.literals[value]
            return Tensor(literal.dtype, tuple(array.shape))
        return type_ if isinstance(type_, Tensor) else Tensor()

    def shape(self, position: int) -> Shape | None:
        """The shape of an operand; None if its rank is unknown."""
        return self.type(position).shape

    def extent(self, position: int, axis: int) -> int | None:
        """One extent of an operand, if it is known.

        Raises Refusal if the operand has no such axis.
        """
        shape = self.shape(position)
        if shape is None:
            return None
        if not -len(shape) <= axis < len(shape):
            raise Refusal(f"input {position} has rank {len(shape)}, and no axis {axis}")
        dim = shape[axis]
        return dim if isinstance(dim, int) else None

    def rank(self, position: int) -> int:
        """The rank of an operand, which must be known."""
        shape = self.shape(position)
        if shape is None:
            hint = "declare the shapes of the model's inputs"
            raise Refusal(f"the rank of input {position} is not known, but required here", hint)
        return len(shape)

    def dtype(self, position: int) -> DType:
        """The element type of an operand, which must be known."""
        dtype = self.type(position).dtype
        if dtype is None:
            raise Refusal(f"the element type of input {position} is not known")
        return dtype

    def is_float(self, position: int) -> bool:
        """Whether an operand holds floating-point numbers."""
        return self.dtype(position) in _FLOATS

    def axis(self, name: str = "axis", position: int = 0, default: int = 0) -> int:
        """An axis of an operand, counted from the front."""
        axis = self.integer(name, default)
        return axis if axis >= 0 else axis + self.rank(position)

    def result(self, position: int = 0) -> Tensor:
        """The type of a result."""
        results = self.leaf.results
        value = results[position] if position < len(results) else None
        type_ = None if value is None else value.type
        return type_ if isinstance(type_, Tensor) else Tensor()

    def wants(self, position: int) -> bool:
        """Whether anything reads a result."""
        results = self.leaf.results
        return position < len(results) and self.scope.needs(results[position])

    # ---- new layers

    def layer(self, kind: str, *inputs: Wire, **data: object) -> Wire:
        """Add a layer with one output, whose type follows from its inputs."""
        return self.layers(kind, 1, *inputs, **data)[0]

    def layers(self, kind: str, count: int, *inputs: Wire, **data: object) -> tuple[Wire, ...]:
        """Add a layer with several outputs; a leading `_` avoids a Python keyword."""
        said = {name.removeprefix("_"): value for name, value in data.items()}
        types, said = layer_types(kind.partition("-")[0], inputs, said, count)
        return self.scope.draft.layer(kind, inputs, types, said)

    def constant(self, array: np.ndarray) -> Wire:
        """A Const."""
        return self.scope.draft.constant(array)

    def like(self, position: int, number: float) -> Wire:
        """A scalar of an operand's element type."""
        return self.constant(np.array(number, self.dtype(position).numpy))

    def alike(self, wire: Wire, number: float) -> Wire:
        """A scalar of a wire's element type."""
        dtype = wire.type.dtype
        assert dtype is not None, "an expansion's part has a known element type"
        return self.constant(np.array(number, dtype.numpy))

    def whole(self, *numbers: int) -> Wire:
        """An int64 vector."""
        return self.constant(np.array(numbers, np.int64))

    def scalar(self, number: int) -> Wire:
        """An int64 scalar."""
        return self.constant(np.array(number, np.int64))

    def convert(self, wire: Wire, dtype: DType) -> Wire:
        """Convert to another element type; returns the wire itself if it has it."""
        if wire.type.dtype is dtype:
            return wire
        word = word_of(dtype)
        if word is None:
            raise Refusal(f"OpenVINO has no {dtype}")
        return self.layer("Convert-1", wire, destination_type=word)

    def shape_of(self, position: int) -> Wire:
        """The extents of an operand as int64; a constant if they are known."""
        shape = self.shape(position)
        known = [dim for dim in shape or () if isinstance(dim, int)]
        if shape is not None and len(known) == len(shape):
            return self.whole(*known)
        return self.layer("ShapeOf-3", self[position], output_type="i64")

    def extent_of(self, position: int, axis: int) -> Wire:
        """One extent of an operand as an int64 vector of one."""
        known = self.extent(position, axis)
        if known is not None:
            return self.whole(known)
        return self.layer("Gather-8", self.shape_of(position), self.whole(axis), self.scalar(0),
                          batch_dims=0)  # fmt: skip

    def reshape(self, wire: Wire, *extents: int) -> Wire:
        """Reshape; 0 keeps the extent at its position, -1 is the rest."""
        return self.layer("Reshape-1", wire, self.whole(*extents), special_zero=True)

    def transpose(self, wire: Wire, order: Sequence[int]) -> Wire:
        """Permute the axes; returns the wire itself for the identity."""
        if list(order) == list(range(len(order))):
            return wire
        return self.layer("Transpose-1", wire, self.whole(*order))

    def unsqueeze(self, wire: Wire, *axes: int) -> Wire:
        """Insert axes of extent 1; returns the wire itself for none."""
        return self.layer("Unsqueeze-1", wire, self.whole(*axes)) if axes else wire

    def squeeze(self, wire: Wire, *axes: int) -> Wire:
        """Remove axes of extent 1."""
        return self.layer("Squeeze-1", wire, self.whole(*axes))

    def bounds(self, position: int) -> Wire:
        """An integer operand; a constant is clamped to 32 bits, which OpenVINO would wrap."""
        array = self.array(position)
        if array is None:
            return self[position]
        return self.constant(np.clip(array, -_LARGEST, _LARGEST).astype(np.int64))
