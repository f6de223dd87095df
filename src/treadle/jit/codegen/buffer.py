"""Buffers: elements in memory, and the index of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from treadle.ir import DType
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.heap_buffer import HeapBuffer


class Flat(NamedTuple):
    """The index of an element in row-major order."""

    value: Index


Indices = tuple[Index, ...] | Flat


@dataclass(frozen=True, eq=False, slots=True)
class Buffer:
    """Elements in memory; `strides` count elements, `scope` is the alias scope.

    `owner` is the heap buffer that holds the memory, if there is one. A matrix in panels of `panel`
    columns has strides for the number of the panel, the row, and the column in the panel.
    """

    pointer: Any
    dtype: DType
    strides: tuple[Index, ...]
    scope: str
    owner: HeapBuffer | None = None
    panel: int = 0


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of row-major order."""
    return tuple(accumulate(shape[:0:-1], int.__mul__, initial=1))[::-1] if shape else ()


def by_stride(
    builder: FunctionBuilder, buffer: Buffer, index: tuple[Index, ...]
) -> Iterator[tuple[Index, Index]]:
    """Each number of an index and its stride: in panels those of the panel, the row, the column."""
    if buffer.panel:
        row, column = index
        panel, own = builder.split(column, buffer.panel)
        index = panel, row, own
    return zip(index, buffer.strides, strict=True)
