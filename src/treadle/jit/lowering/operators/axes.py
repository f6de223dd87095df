"""Axes of a tensor of known rank, as the operators name them."""

from __future__ import annotations

from collections.abc import Iterable

from treadle.jit.kernel.declined import Declined


def nonnegative_axis(axis: int, rank: int) -> int:
    """The axis counted from the front.

    Raises Declined if it is out of range for the rank: the kernel of interp then decides.
    """
    if not -rank <= axis < rank:
        raise Declined(f"axis {axis} of a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def nonnegative_axes(axes: Iterable[int], rank: int) -> list[int]:
    """The axes counted from the front, each named once; raises Declined otherwise."""
    found = [nonnegative_axis(axis, rank) for axis in axes]
    if len(set(found)) < len(found):
        raise Declined(f"an axis that is named twice: {found}")
    return found
