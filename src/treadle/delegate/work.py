"""Predicts whether a call of a region may take long: products whose operands are known by then."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from treadle import ops
from treadle.ir import Leaf, Tensor, Value
from treadle.plan import Region

Work = Callable[[Mapping[str, object]], float]
_MOST_CHECKED = 8
"""The products of a region that are looked at; the first long one decides."""


class Shaped(NamedTuple):
    """An operand of which only the extents are known."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


def work_of(region: Region, names: Sequence[str]) -> Work | None:
    """A function of a call's feeds that gives the multiplications of its longest product.

    `names` are those of the inputs. None where no product of the region depends on the feeds and
    none is long.
    """
    inputs = dict(zip(region.inputs, names, strict=True))
    products: list[tuple[ops.Count, tuple[str | Shaped, ...]]] = []
    for step in region.steps:
        count = ops.multiplications(step) if isinstance(step, Leaf) else None
        operands = [_operand(value, inputs) for value in step.operands]
        known = tuple(each for each in operands if each is not None)
        if count is None or len(known) < len(operands):
            continue
        if any(isinstance(each, str) for each in known) or _counted(count, known) > ops.FEW:
            products.append((count, known))
    if not products:
        return None

    def work(feed: Mapping[str, object]) -> float:
        return max(
            _counted(count, [feed[each] if isinstance(each, str) else each for each in operands])
            for count, operands in products[:_MOST_CHECKED]
        )

    return work


def _operand(value: Value | None, inputs: Mapping[Value, str]) -> str | Shaped | None:
    """The extents of an operand; the name of an input that has them; None if neither is known."""
    type_ = value.type if value is not None else None
    shape = type_.shape if isinstance(type_, Tensor) else None
    if shape is not None and all(isinstance(extent, int) for extent in shape):
        return Shaped(tuple(extent for extent in shape if isinstance(extent, int)))
    return inputs.get(value) if value is not None else None


def _counted(count: ops.Count, operands: Sequence[object]) -> float:
    with suppress(*ops.MISFITS):  # the kernel itself reports its faulty operands
        return count(operands)
    return 0.0
