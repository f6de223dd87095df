"""Plain Python values become what an operator wants: the dtype its schema or its neighbours say.

    Add(float32 array, 3)           3 becomes float32: both are of the schema's type variable T
    Reshape(x, [2, 3])              [2, 3] becomes int64: the only type the schema has for it
    SequenceInsert([a, b], c)       a list of arrays: the schema wants a sequence

numpy's own arrays and scalars keep their dtype.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import InputError
from treadle.feeds import convert
from treadle.ir import DType, Sequence, Tensor, Type, dtype_of

__all__ = ["fitted", "type_of"]

_ONE = 1


def fitted(values: Mapping[str, Any], formals: Mapping[str, ops.Formal]) -> dict[str, Any]:
    """The values as run-time values; InputError where one does not fit the dtype it should have."""
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


def _fitted(value: Any, formal: ops.Formal | None, known: Mapping[str, DType | None]) -> Any:
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple) and _is_sequence(value, formal):
        return [np.asarray(item) for item in value]
    if isinstance(value, np.ndarray | np.generic) or formal is None:
        return np.asarray(value)
    dtype = known.get(formal.variable) or _only(formal)
    return np.asarray(value) if dtype is None else convert(value, Tensor(dtype))


def _is_sequence(value: list[Any] | tuple[Any, ...], formal: ops.Formal | None) -> bool:
    if formal is not None and all(word.startswith("seq(") for word in formal.types):
        return True
    return any(isinstance(item, np.ndarray) for item in value)


def _only(formal: ops.Formal) -> DType | None:
    if len(formal.types) != _ONE:
        return None
    (word,) = formal.types
    inner = word.removeprefix("tensor(").removesuffix(")")
    return ops.element_of_word(inner) if word.startswith("tensor(") else None


def type_of(value: Any) -> Type | None:
    """The type of a run-time value; None where it does not tell, as an empty list does not."""
    if isinstance(value, np.ndarray):
        return Tensor(dtype_of(value.dtype), tuple(value.shape))
    if isinstance(value, list):
        dtypes = {dtype_of(item.dtype) for item in value if isinstance(item, np.ndarray)}
        return Sequence(Tensor(dtypes.pop())) if len(dtypes) == _ONE else None
    return None
