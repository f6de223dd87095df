"""Folds small tensors computed from constants: scales, bounds and trip counts."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from treadle import ops
from treadle.infer.facts import Fact, array_of, literal_fact
from treadle.ir import Leaf, Literal, Tensor

_MOST_ELEMENTS = 64


def fold_constants(leaf: Leaf, facts: Sequence[Fact], expected: Fact) -> Fact | None:
    """The leaf's only result if all operands are small constants, else None."""
    if leaf.op not in ops.EXACT or expected.content is not None or not _is_small(expected):
        return None
    arrays = [
        None if value is None else _small(fact)
        for value, fact in zip(leaf.operands, facts, strict=True)
    ]
    if any(
        array is None and value is not None
        for array, value in zip(arrays, leaf.operands, strict=True)
    ):
        return None
    (result,) = ops.fold(leaf, arrays, _MOST_ELEMENTS) or (None,)
    if not isinstance(result, np.ndarray):
        return None
    found = literal_fact(Literal.of(result))
    return found if found.type == expected.type else None


def _is_small(expected: Fact) -> bool:
    """Whether the result is known to have few elements; its shape alone may ask for gigabytes."""
    shape = expected.type.shape if isinstance(expected.type, Tensor) else None
    if shape is None:
        return False
    known = [dim for dim in shape if isinstance(dim, int)]
    return len(known) == len(shape) and prod(known) <= _MOST_ELEMENTS


def _small(fact: Fact) -> np.ndarray | None:
    if isinstance(fact.literal, Literal) and fact.literal.array.size > _MOST_ELEMENTS:
        return None
    if fact.content is not None and len(fact.content) > _MOST_ELEMENTS:
        return None
    return array_of(fact)
