"""The attributes of a leaf as plain Python values, the schema's defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from treadle.ir import Attribute, Literal, Reference
from treadle.ops.schema import schema
from treadle.ops.tensor_protos import decode_string


def attributes_of(attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    """Plain values by name: int, float, str, np.ndarray, SparseArray, a type, or a list of those.

    An attribute that refers to an attribute of a function has no value here.
    """
    return {name: plain_value(attribute) for name, attribute in attributes.items()}


def defaults_of(domain: str, op: str, version: int) -> dict[str, Any]:
    """The plain values of the attributes that have a default in the schema."""
    found = schema(domain, op, version)
    if found is None:
        return {}
    defaults = {n: rule.default for n, rule in found.attributes.items() if rule.default is not None}
    return attributes_of(defaults)


def plain_value(attribute: Attribute) -> Any:
    """The value of one attribute."""
    value = attribute.value
    assert not isinstance(value, Reference), f"{attribute.name} refers to a function's attribute"
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return decode_string(value)
    if isinstance(value, Literal):
        return value.array
    return value
