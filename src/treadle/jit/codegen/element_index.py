"""Indices of elements: constant ones, and the index in a broadcast operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from treadle.jit.codegen.buffer import Flat, Indices
from treadle.jit.kernel.ir import Node


def is_known(index: Indices) -> bool:
    """Whether every number of the index is a constant."""
    each = (index.value,) if isinstance(index, Flat) else index
    return all(isinstance(one, int) for one in each)


def element_of(array: np.ndarray, index: Indices) -> Any:
    """The element of a constant at an index of constants."""
    if array.size == 1:
        return array.reshape(-1)[0]
    return array.reshape(-1)[index.value] if isinstance(index, Flat) else array[index]


def broadcast_index(operand: Node, index: Indices) -> Indices:
    """The index of the element that an operand broadcasts to an index of the result."""
    if isinstance(index, Flat):
        return (0,) * len(operand.shape) if operand.is_single else index
    own = index[len(index) - len(operand.shape) :]
    return tuple(0 if e == 1 else i for e, i in zip(operand.shape, own, strict=True))
