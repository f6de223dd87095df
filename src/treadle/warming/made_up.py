"""Generates values of a declared type, reproducibly from a seed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping

import numpy as np

from treadle.errors import InputError
from treadle.ir import Dim, DType, Expression, Optional, Range, Sequence, Symbol, Tensor, Type

__all__ = ["EXTENT", "made_up_value"]

EXTENT = 3
"""The default extent of a symbol."""
_ITEMS = 3


def made_up_value(name: str, type_: Type | None, seed: int, extents: Mapping[str, int]) -> object:
    """A value of the type: normal floats, integers from 0 to 4, three items for a sequence.

    `extents` maps symbols to extents, 3 by default. Raises InputError if the type is not known well
    enough.
    """
    generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
    return _value(name, type_, generator, extents)


def _value(
    name: str, type_: Type | None, generator: np.random.Generator, extents: Mapping[str, int]
) -> object:
    match type_:
        case Sequence(element):
            return [_value(name, element, generator, extents) for _ in range(_ITEMS)]
        case Optional(element):
            return _value(name, element, generator, extents)
        case Tensor(DType() as dtype, tuple() as shape):
            return _tensor(dtype, tuple(_extent(dim, extents) for dim in shape), generator)
    raise InputError(f'"{name}" cannot be generated: the model does not declare its type and rank')


def _tensor(dtype: DType, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    if dtype is DType.STRING:
        words = [f"text {k}" for k in range(math.prod(shape))]
        return np.array(words, dtype=object).reshape(shape)
    if dtype is DType.BOOL:
        return np.asarray(generator.integers(0, 2, shape) == 1)
    if "int" in dtype.value:
        return np.asarray(generator.integers(0, 2 if dtype.bits < 4 else 5, shape)).astype(
            dtype.numpy
        )
    return np.asarray(generator.standard_normal(shape)).astype(dtype.numpy)


def _extent(dim: Dim, extents: Mapping[str, int]) -> int:
    match dim:
        case int():
            return dim
        case Symbol(name):
            return extents.get(name, EXTENT)
        case Expression(terms):
            factors = ((c, [extents.get(s, EXTENT) for s in symbols]) for symbols, c in terms)
            return max(0, sum(c * math.prod(values) for c, values in factors))
        case Range(low, high):
            return max(low, EXTENT if high is None else min(high, EXTENT))
        case None:
            return EXTENT
