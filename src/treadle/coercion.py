"""Converts plain Python values for an operator: to the dtype of its schema or other operands.

    Add(float32 array, 3)           3 becomes float32: both have the schema's type variable T
    Reshape(x, [2, 3])              [2, 3] becomes int64: the only type the schema has for it
    SequenceInsert([a, b], c)       a list of arrays: the schema wants a sequence

numpy's own arrays and scalars keep their dtype.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from treadle import ops
from treadle.arguments import expect, shown
from treadle.errors import InputError, InputTypeError, did_you_mean
from treadle.feeds import convert
from treadle.ir import DType, Kind, Sequence, Tensor, Type, dtype_of

__all__ = ["coerce_inputs", "expect_attribute", "fitted_attributes", "type_of"]

_ONE = 1
_SINGLE = {Kind.FLOAT: "number", Kind.INT: "whole number", Kind.STRING: "text"}
_LISTS = {Kind.FLOATS: "number", Kind.INTS: "whole number", Kind.STRINGS: "text"}


def coerce_inputs(values: Mapping[str, Any], formals: Mapping[str, ops.Formal]) -> dict[str, Any]:
    """Convert the values to run-time values; raises InputError if one does not fit its dtype."""
    known = {
        formals[name].variable: dtype_of(value.dtype)
        for name, value in values.items()
        if name in formals and isinstance(value, np.ndarray | np.generic)
    }
    made = {}
    for name, value in values.items():
        try:
            made[name] = _fitted(value, formals.get(name), known)
        except InputError as fault:
            raise InputError(f'input "{name}": {fault}') from None
    return made


def _array(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  border: lists, and __array__ of the caller's object
        raise InputError(f"{shown(value)} does not become an array: {error}") from None


def _fitted(value: Any, formal: ops.Formal | None, known: Mapping[str, DType | None]) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple) and _is_sequence(value, formal):
        return [_array(item) for item in value]
    if isinstance(value, np.ndarray | np.generic) or formal is None:
        return _array(value)
    dtype = known.get(formal.variable) or _only(formal)
    return _array(value) if dtype is None else convert(value, Tensor(dtype))


def _is_sequence(value: list[Any] | tuple[Any, ...], formal: ops.Formal | None) -> bool:
    if formal is not None and all(word.startswith("seq(") for word in formal.types):
        return True
    return any(isinstance(item, np.ndarray) for item in value)


def _only(formal: ops.Formal) -> DType | None:
    if len(formal.types) != _ONE:
        return None
    (word,) = formal.types
    type_ = ops.tensor_of_string(word)
    return None if type_ is None else type_.dtype


def fitted_attributes(
    attributes: Mapping[str, Any], rules: Mapping[str, ops.AttributeRule], operator: str
) -> dict[str, Any]:
    """Convert attributes to the kinds in an operator's schema: an integer is accepted for a float.

    Raises InputTypeError for an unknown attribute, or one of another kind.
    """
    return {
        name: _attribute(name, value, rules, operator)
        for name, value in attributes.items()
        if value is not None
    }


def _attribute(name: str, value: Any, rules: Mapping[str, ops.AttributeRule], operator: str) -> Any:
    if name not in rules:
        expect_attribute(name, rules, operator)
    kind = rules[name].kind
    single = _SINGLE.get(kind)
    if single is not None:
        return _of_kind(value, single, f"{name} of {operator}")
    each = _LISTS.get(kind)
    if each is None or not isinstance(value, list | tuple | np.ndarray):
        if each is not None and not _is_message(value):
            expect(value, (list, tuple, np.ndarray), f"{name} of {operator}", f"a list of {each}s")
        return value
    items = value.tolist() if isinstance(value, np.ndarray) else value
    return [_of_kind(item, each, f"an item of {name} of {operator}") for item in items]


def expect_attribute(name: str, known: Collection[str], operator: str) -> None:
    """Raise InputTypeError for an attribute that an operator does not have."""
    if name not in known:
        raise InputTypeError(f'{operator} has no attribute "{name}", {did_you_mean(name, known)}')


def _of_kind(value: Any, kind: str, what: str) -> Any:
    if _is_message(value):
        return value
    if kind == "number" and isinstance(value, int | float | np.integer | np.floating):
        return float(value)
    if kind == "whole number" and isinstance(value, int | np.integer | np.bool_):
        return int(value)
    if kind == "text" and isinstance(value, str | bytes):
        return value
    raise InputTypeError(f"{what} is {shown(value)}, wanted a {kind}")


def _is_message(value: object) -> bool:
    """Whether it is already an attribute in onnx's form."""
    return hasattr(value, "SerializeToString")


def type_of(value: Any) -> Type | None:
    """The type of a run-time value; None if it is ambiguous, as for an empty list."""
    if isinstance(value, np.ndarray):
        return Tensor(dtype_of(value.dtype), tuple(value.shape))
    if isinstance(value, list):
        dtypes = {dtype_of(item.dtype) for item in value if isinstance(item, np.ndarray)}
        return Sequence(Tensor(dtypes.pop())) if len(dtypes) == _ONE else None
    return None
