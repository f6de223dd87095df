"""The layer being read: access to its operands and attributes, and helpers to add leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from treadle.formats.openvino.block_builder import LayerBlockBuilder, cast_to
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.elements import WIDENED, element_type
from treadle.formats.openvino.records import Layer
from treadle.ir import DType, Shape, Value

_TRUTHS = {"true": True, "1": True, "false": False, "0": False, "yes": True, "no": False}
_FLOATS = frozenset(
    (DType.FLOAT32, DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16)
)  # fmt: skip
_Number = TypeVar("_Number", int, float)
_NUMBERS: dict[type, tuple[int, str]] = {int: (24, "a whole number"), float: (60, "a number")}
"""The length that a number in text must stay below, and its name in messages."""


@dataclass(slots=True)
class LayerContext:
    """The argument of an operator's function; `version` is the operator's, not the file's opset."""

    layer: Layer
    version: int
    operands: tuple[Value, ...]
    draft: LayerBlockBuilder

    # ---- attributes

    def text(self, name: str, default: str | None = None, *choices: str) -> str:
        """A word in lower case; must be one of the choices, if there are any."""
        value = self.layer.data.get(name, default)
        if value is None:
            raise IrError("CF905", f"it has no attribute {name}")
        value = value.strip().lower()
        if choices and value not in choices:
            raise IrError("CF909", f'{name} is "{value[:40]}", wanted {" or ".join(choices)}')
        return value

    def truth(self, name: str, default: bool | None = None) -> bool:
        """A bool: true, True, 1 ..."""
        word = self.text(name, None if default is None else str(default))
        if word not in _TRUTHS:
            raise IrError("CF905", f'{name} is "{word[:40]}", wanted true or false')
        return _TRUTHS[word]

    def integer(self, name: str, default: int | None = None) -> int:
        """An integer."""
        return _parsed(int, name, self.text(name, None if default is None else str(default)))

    def number(self, name: str, default: float | None = None) -> float:
        """A number."""
        return _parsed(float, name, self.text(name, None if default is None else repr(default)))

    def integers(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """A comma list of integers."""
        if name not in self.layer.data and default is not None:
            return list(default)
        return [_parsed(int, name, word) for word in self._words(name)]

    def numbers(self, name: str) -> list[float]:
        """A comma list of numbers; empty if it is left out."""
        return [_parsed(float, name, word) for word in self._words(name)] if self.has(name) else []

    def words(self, name: str, default: Sequence[str]) -> list[str]:
        """A comma list of words."""
        return (self._words(name) if self.has(name) else []) or list(default)

    def has(self, name: str) -> bool:
        """Whether the file has the attribute."""
        return name in self.layer.data

    def element(self, name: str, default: str | None = None) -> DType:
        """An element type."""
        word = self.text(name, default)
        kind = element_type(word)
        if kind is None or word in WIDENED:
            raise IrError(
                "CF909", f'{name} is "{word[:40]}", for which opset 21 has no element type'
            )
        return kind.dtype

    def _words(self, name: str) -> list[str]:
        text = self.text(name, "")
        return [word.strip() for word in text.split(",")] if text else []

    # ---- operands

    def __getitem__(self, position: int) -> Value:
        if position >= len(self.operands):
            count = len(self.operands)
            raise IrError("CF909", f"it has {count} inputs, at least {position + 1} are wanted")
        return self.operands[position]

    def get(self, position: int) -> Value | None:
        """The operand; None if the layer has no such input."""
        return self.operands[position] if position < len(self.operands) else None

    def array(self, position: int) -> np.ndarray | None:
        """The operand's content, if it is constant."""
        literal = self.draft.literals.get(self[position])
        return None if literal is None else literal.array

    def known(self, position: int, what: str) -> np.ndarray:
        """The content of an operand that must be constant."""
        array = self.array(position)
        if array is None:
            hint = "fold it to a Const: ONNX takes it as an attribute"
            raise IrError("CF909", f"{what} (input {position}) is not constant", hint)
        return array

    def wholes(self, position: int, what: str) -> list[int]:
        """The integers of an operand that must be constant."""
        return _integers_of(self.known(position, what), position)

    def scalar(self, position: int, what: str) -> float:
        """The one number of an operand that must be constant."""
        array = self.known(position, what)
        if array.size != 1:
            raise IrError("CF909", f"{what} (input {position}) has {array.size} elements, wanted 1")
        return float(array.reshape(-1)[0])

    def axis(self, position: int) -> int:
        """The axis in an operand that must be constant."""
        self.scalar(position, "the axis")
        return self.wholes(position, "the axis")[0]

    def shape(self, position: int) -> Shape | None:
        """The shape of an operand; None if its rank is unknown."""
        return self.draft.type_of(self[position]).shape

    def rank(self, position: int) -> int:
        """The rank of an operand."""
        return self.rank_of(self[position], f"input {position}")

    def rank_of(self, value: Value, what: str) -> int:
        """The rank of a value, which must be known."""
        shape = self.draft.type_of(value).shape
        if shape is None:
            raise IrError("CF909", f"the rank of {what} is not known, but required here")
        return len(shape)

    def dtype(self, position: int) -> DType:
        """The element type of an operand."""
        dtype = self.draft.type_of(self[position]).dtype
        if dtype is None:
            raise IrError("CF909", f"the element type of input {position} is not known")
        return dtype

    def is_float(self, position: int) -> bool:
        """Whether an operand holds floating-point numbers."""
        return self.dtype(position) in _FLOATS

    # ---- new leaves

    def leaf(self, op: str, *operands: Value | None, **attributes: object) -> Value:
        """A leaf with one result."""
        return self.draft.leaf(op, *operands, **attributes)

    def leaves(
        self, op: str, count: int, *operands: Value | None, **attributes: object
    ) -> tuple[Value, ...]:
        """A leaf with several results."""
        return self.draft.leaves(op, operands, count, attributes)

    def constant(self, array: np.ndarray) -> Value:
        """A constant."""
        return self.draft.constant(array)

    def like(self, position: int, number: float) -> Value:
        """A scalar constant of an operand's element type."""
        return self.constant(np.array(number, self.dtype(position).numpy))

    def whole(self, *numbers: int) -> Value:
        """A constant int64 vector."""
        return self.draft.whole(*numbers)

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value in another element type."""
        return self.leaf("Cast", value, to=cast_to(dtype))

    def int64(self, position: int) -> Value:
        """An operand as int64."""
        array = self.array(position)
        if array is not None:
            value = self[position]
            return value if array.dtype == np.int64 else self.constant(array.astype(np.int64))
        if self.draft.type_of(self[position]).dtype is DType.INT64:
            return self[position]
        return self.cast(self[position], DType.INT64)

    def list64(self, position: int) -> Value:
        """An integer operand as an int64 vector; a scalar becomes a vector of one."""
        array = self.array(position)
        if array is not None:
            return self.whole(*_integers_of(array, position))
        value = self.int64(position)
        shape = self.shape(position)
        if shape is not None and len(shape) == 1:
            return value
        return self.leaf("Reshape", value, self.whole(-1))

    def transpose(self, value: Value, permutation: Sequence[int]) -> Value:
        """Permute the axes; returns the value itself for the identity permutation."""
        if list(permutation) == list(range(len(permutation))):
            return value
        return self.leaf("Transpose", value, perm=list(permutation))


def _integers_of(array: np.ndarray, position: int) -> list[int]:
    try:
        return [int(item) for item in array.reshape(-1).tolist()]
    except (OverflowError, TypeError, ValueError):
        reason = f"input {position} holds a number that is no integer"
        raise IrError("CF909", reason) from None


def _parsed(kind: type[_Number], name: str, text: str) -> _Number:
    longest, wanted = _NUMBERS[kind]
    try:
        if len(text) < longest:
            return kind(text)
    except ValueError:
        pass
    raise IrError("CF905", f'{name} is "{text[:40]}", wanted {wanted}')
