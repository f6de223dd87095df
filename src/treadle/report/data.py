"""Converts any object of treadle to plain data for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np


def as_data(value: object) -> object:
    """Dataclasses and mappings become dicts, arrays nested lists, anything else text.

    Numbers that are not finite become the texts `nan`, `inf` and `-inf`.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case np.ndarray():
            return as_data(value.astype(object).tolist())
        case np.generic():
            return as_data(value.item())
        case Mapping():
            return {str(key): as_data(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [as_data(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_data(getattr(value, field.name)) for field in fields(value)}
    return str(value)
