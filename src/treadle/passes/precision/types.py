"""Replaces an element type in types, constants and attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle import ops
from treadle.ir import (
    Attribute,
    Constant,
    DType,
    Kind,
    Leaf,
    Literal,
    Optional,
    Sequence,
    SparseArray,
    Tensor,
    Type,
)

_SAY_A_TYPE = ("to", "dtype", "output_dtype", "output_datatype")
"""Attributes that hold the number of an element type."""

_GREATEST = {DType.FLOAT16: 65504.0, DType.BFLOAT16: 3.3895313892515355e38}
_NUMBERS = {"value_float": (), "value_floats": (-1,)}


def has(type_: Type | None, dtype: DType) -> bool:
    """Whether a tensor, or the elements of a sequence or optional, have this element type."""
    match type_:
        case Tensor(found):
            return found is dtype
        case Sequence(element) | Optional(element):
            return has(element, dtype)
    return False


def changed(type_: Type | None, old: DType, new: DType) -> Type | None:
    """The type with the new element type instead of the old one."""
    match type_:
        case Tensor(found) if found is old:
            return replace(type_, dtype=new)
        case Sequence(element) | Optional(element):
            return replace(type_, element=changed(element, old, new))
    return type_


def cast(array: np.ndarray, new: DType) -> np.ndarray:
    """Cast the array; finite numbers beyond the new type's greatest become that number."""
    if new in (DType.FLOAT32, DType.FLOAT64):
        return array.astype(new.numpy)
    most = _GREATEST[new]
    finite = np.isfinite(array)
    return np.where(finite, np.clip(array, -most, most), array).astype(new.numpy)


def constant(old: Constant, new: DType) -> Literal:
    """Convert the data of a constant."""
    return Literal(cast(old.array, new), new)


def attributes(leaf: Leaf, old: DType, new: DType) -> dict[str, Attribute]:
    """The attributes of a leaf with the new type instead of the old one."""
    return dict(_attribute(name, each, old, new) for name, each in leaf.attributes.items())


def _attribute(name: str, each: Attribute, old: DType, new: DType) -> tuple[str, Attribute]:
    value = each.value
    if name in _SAY_A_TYPE and value == ops.element_to_proto(old):
        return name, replace(each, value=ops.element_to_proto(new))
    if isinstance(value, Literal) and value.dtype is old:
        return name, replace(each, value=Literal(cast(value.array, new), new))
    if isinstance(value, SparseArray) and value.values.dtype is old:
        values = Literal(cast(value.values.array, new), new)
        return name, replace(each, value=replace(value, values=values))
    if name in _NUMBERS and old is DType.FLOAT32:
        array = cast(np.array(value, np.float32).reshape(_NUMBERS[name]), new)
        return "value", Attribute("value", Kind.TENSOR, Literal(array, new))
    return name, each
