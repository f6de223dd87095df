"""Operations of the kernel IR that are plain data: numbers, names and arrays.

Operations with dims, nodes or blocks are in `ir`, which has the grammar and names all operations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Input:
    """Operand `position` of the region."""

    position: int


@dataclass(frozen=True, eq=False, slots=True)
class Constant:
    """A tensor known beforehand."""

    array: np.ndarray


@dataclass(frozen=True, slots=True)
class Empty:
    """A tensor without elements: a sequence before its first insertion.

    Its shape may be a guess.
    """


@dataclass(frozen=True, slots=True)
class DimOf:
    """The extent along `axis` of result `number` of the operand: a Loop, Branch or HostCall.

    Without an operand: of carried value `number` of its home loop.
    """

    number: int
    axis: int


@dataclass(frozen=True, slots=True)
class Guard:
    """If the operand is false the kernel fails, and another engine must run the region.

    `is_of_shapes` marks a guard that compares extents; a narrower signature makes it unnecessary.
    """

    is_of_shapes: bool = False


@dataclass(frozen=True, slots=True)
class Iota:
    """np.arange of the only extent."""


@dataclass(frozen=True, slots=True)
class InductionVar:
    """The iteration number."""


@dataclass(frozen=True, slots=True)
class CarriedArg:
    """Carried value `number` of the loop at the start of an iteration."""

    number: int


@dataclass(frozen=True, slots=True)
class ScanSlice:
    """operand.take(counter, axis), counted from the end when `reverse`."""

    axis: int
    reverse: bool


@dataclass(frozen=True, slots=True)
class Elementwise:
    """A scalar function of the elements of its operands, which broadcast as in numpy."""

    function: str


@dataclass(frozen=True, slots=True)
class Reshape:
    """The elements of the operand in row-major order."""


@dataclass(frozen=True, slots=True)
class Concat:
    """np.concatenate(operands, axis)."""

    axis: int


@dataclass(frozen=True, slots=True)
class Reduce:
    """A reduction over `axes` of the operand; the shape says whether they are kept as ones."""

    function: str
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MatMul:
    """np.matmul of operands of rank 2 or more.

    With `of_bytes`, an int32 of the left operand is four uint8, one of the right operand four int8,
    and their product the sum of the products of these.
    """

    of_bytes: bool = False


@dataclass(frozen=True, slots=True)
class FlatNonzero:
    """np.flatnonzero; its extent is the number of true elements."""


@dataclass(frozen=True, slots=True)
class ArgTopK:
    """np.argsort(operand, axis, kind="stable")[:extent] of integers."""

    axis: int


@dataclass(frozen=True, slots=True)
class Take:
    """np.take(data, indices, axis).

    An index out of range fails, a negative one counts from the end. `is_in_range`: every index is
    known to be neither.
    """

    axis: int
    is_in_range: bool = False


@dataclass(frozen=True, slots=True)
class Cumulative:
    """result[i] = function(result[i - 1], operand[i]) along the axis.

    `exclusive`: of operand[i - 1]; the first element is the neutral one.
    """

    function: str
    axis: int
    exclusive: bool


@dataclass(frozen=True, slots=True)
class Result:
    """Result `number` of the operand: a Loop, Branch or HostCall."""

    number: int
