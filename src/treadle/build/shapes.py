"""The input types that kernels are made for: the model's, completed by the caller's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from treadle.arguments import expect, shown
from treadle.errors import InputError, InputTypeError, did_you_mean
from treadle.ir import (
    Dim,
    Model,
    Symbol,
    Tensor,
    Type,
    Value,
    show_type,
)

__all__ = ["Shape", "expect_shapes", "of_data", "told_types", "types_of_data"]

Shape = tuple[int | str | None, ...]
"""An extent, the name of a dynamic one, or None for one that the model declares."""


def expect_shapes(inputs: Any) -> list[Mapping[str, Shape]]:
    """The shapes given by a caller, one mapping per kernel; raises InputError."""
    if inputs is None:
        return [{}]
    several = [inputs] if isinstance(inputs, Mapping) else inputs
    wanted = 'shapes by the names of inputs, such as {"x": ("n", 2, 16)}, or a list of such'
    expect(several, (list, tuple), "inputs", wanted)
    if not several:
        raise InputError(f"inputs is empty, wanted {wanted}")
    for each in several:
        expect(each, Mapping, "an entry of inputs", wanted)
    return [{name: _shape(name, shape) for name, shape in each.items()} for each in several]


def _shape(name: str, shape: Any) -> Shape:
    if isinstance(shape, np.ndarray):
        return tuple(map(int, shape.shape))
    expect(shape, (list, tuple), f'the shape of "{name}"', 'a tuple such as ("n", 2, 16)')
    for extent in shape:
        is_number = isinstance(extent, int | np.integer) and not isinstance(extent, bool)
        if is_number and extent < 0:
            raise InputError(f'the shape of "{name}" has the extent {extent}, below 0')
        if not (is_number or extent is None or isinstance(extent, str)):
            raise InputTypeError(
                f'the shape of "{name}" has {shown(extent)}, wanted an extent or the name of one'
            )
    return tuple(int(e) if isinstance(e, np.integer) else e for e in shape)


def told_types(values: Sequence[Value], shapes: Mapping[str, Shape]) -> list[Type | None]:
    """The types of inputs with the given extents; raises InputError for contradictions."""
    names = [value.name for value in values]
    for name in shapes:
        if name not in names:
            raise InputError(f'the model has no input "{name}": {did_you_mean(name, names)}')
    return [_told(value, shapes.get(value.name)) for value in values]


def _told(value: Value, shape: Shape | None) -> Type | None:
    known = value.type
    if shape is None or not isinstance(known, Tensor):
        return known
    dims: tuple[Dim, ...] = known.shape if known.shape is not None else (None,) * len(shape)
    if len(dims) != len(shape):
        raise InputError(
            f'the shape of "{value.name}" has {len(shape)} extents, the model says'
            f" {show_type(known)}"
        )
    return Tensor(known.dtype, tuple(map(_extent, [value] * len(dims), dims, shape)))


def _extent(value: Value, dim: Dim, told: int | str | None) -> Dim:
    if isinstance(dim, int):
        if isinstance(told, int) and told != dim:
            raise InputError(
                f'an extent of "{value.name}" is {told}, the model says {show_type(value.type)}'
            )
        return dim
    if told is None:
        return dim
    return Symbol(told) if isinstance(told, str) else told


def of_data(
    model: Model, shapes: Mapping[str, Shape], data: Mapping[str, Any]
) -> Mapping[str, Shape]:
    """The given shapes, and for other inputs those of data."""
    inputs = {value.name for value in model.main.params}
    return {**{name: np.shape(data[name]) for name in data if name in inputs}, **shapes}


def types_of_data(
    values: Sequence[Value],
    types: Sequence[Type | None],
    data: Mapping[str, np.ndarray],
    shapes: Mapping[str, Shape],
) -> list[Type | None]:
    """The types with the extents of data where they are unknown; named ones stay dynamic."""
    return [
        _of_data(known, data[value.name], shapes.get(value.name, ()))
        if value.name in data and isinstance(known, Tensor)
        else known
        for value, known in zip(values, types, strict=True)
    ]


def _of_data(known: Tensor, array: Any, told: Shape) -> Type:
    shape = np.shape(array)
    dims: tuple[Dim, ...] = known.shape if known.shape is not None else (None,) * len(shape)
    if len(dims) != len(shape):
        return known
    named = [isinstance(each, str) for each in told] or [False] * len(dims)
    return Tensor(
        known.dtype,
        tuple(
            dim if isinstance(dim, int) or is_named else extent
            for dim, extent, is_named in zip(dims, shape, named, strict=True)
        ),
    )
