"""Operators that native code calls out for: what each call does, in Python, with the GIL held."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel_ir import Escape, Node, extents
from treadle.jit.nodes import Declined

Kind = tuple[DType, tuple[int, ...]]


def outside(node: Node) -> Callable[[int], None]:
    """What an Escape calls with the address of its operands' and its results' addresses.

    The operands are read where they are, the results written into memory of the kernel's. Raises
    KernelError where the operator fails, Declined where a result is not what it was taken for.
    """
    op = node.op
    assert isinstance(op, Escape)
    run = ops.prepare(op.leaf)
    kinds = [(operand.dtype, extents(operand)) for operand in node.operands]
    count = len(kinds) + len(op.results)

    def call(address: int) -> None:
        places = (ctypes.c_int64 * count).from_address(address)
        present = iter([_array(*kind, place) for kind, place in zip(kinds, places, strict=False)])
        made = run([next(present) if is_given else None for is_given in op.given])
        for kind, place, value in zip(op.results, places[len(kinds) :], made, strict=True):
            if kind is not None:
                _array(*kind, place)[...] = checked(op, kind, value)

    return call


def _array(dtype: DType, shape: Sequence[int], place: int) -> np.ndarray:
    found: np.ndarray = np.empty(0, dtype.numpy)
    size = int(np.prod(shape, dtype=np.int64)) * found.itemsize
    if not size:
        return found.reshape(shape)
    memory: Any = (ctypes.c_char * size).from_address(place)
    return np.ndarray(shape, dtype.numpy, memory)


def checked(op: Escape, kind: Kind, value: Any) -> np.ndarray:
    """The value, which has the dtype and the shape; Declined where it has not."""
    dtype, shape = kind
    if isinstance(value, np.ndarray) and (value.dtype, value.shape) == (dtype.numpy, shape):
        return value
    name = f"{op.leaf.op}-{op.leaf.version}"
    raise Declined(f"{name} gives {ops.describe(value)}, not {dtype}{list(shape)}")
