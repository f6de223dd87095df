"""Removes symbolic extents from types, since a name relates equal extents of the whole model."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Optional, Sequence, Tensor, Type


def erase_symbols(type_: Type | None) -> Type | None:
    """The type with symbolic extents made unknown."""
    match type_:
        case Tensor(dtype, tuple() as shape):
            return Tensor(dtype, tuple(dim if isinstance(dim, int) else None for dim in shape))
        case Sequence() | Optional():
            return replace(type_, element=erase_symbols(type_.element))
    return type_
