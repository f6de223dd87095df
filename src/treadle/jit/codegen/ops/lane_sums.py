"""The sums of the lanes of several vectors, which are added side by side.

    a, b = a0 + a1, b0 + b1, a2 + a3, b2 + b3            the halves of two vectors
    sums = a01 + a23, b01 + b23                          the halves of one

`schedule/steps/short_rows.py` has an example with as many vectors as lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.llvm_types import I32

Combine = Callable[[Any, Any], Any]


def lane_sums(
    builder: FunctionBuilder, count: int, vector: Callable[[int], Any], combine: Combine
) -> Any:
    """A vector whose lane k has the lanes of vector k combined, in any order.

    `vector` emits one of `count` vectors, each when it is needed: few are in registers at a time.
    `count` and the number of lanes are powers of two, `count` the lesser or the same.
    """
    made = _joined(builder, 0, count, vector, combine)
    while made.type.count > count:
        half = made.type.count // 2
        low = _picked(builder, made, made, range(half))
        made = combine(low, _picked(builder, made, made, range(half, 2 * half)))
    return made


def _joined(
    builder: FunctionBuilder, first: int, count: int, vector: Callable[[int], Any], combine: Combine
) -> Any:
    """A vector of partial results of some vectors: in lane k of vector k modulo `count`."""
    if count == 1:
        return vector(first)
    step = count // 2
    left = _joined(builder, first, step, vector, combine)
    right = _joined(builder, first + step, step, vector, combine)
    lanes = range(left.type.count)
    ours = [lane + len(lanes) * (lane // step % 2) for lane in lanes]
    theirs = [(lane ^ step) + len(lanes) * (lane // step % 2) for lane in lanes]
    return combine(_picked(builder, left, right, ours), _picked(builder, left, right, theirs))


def _picked(builder: FunctionBuilder, left: Any, right: Any, places: Sequence[int]) -> Any:
    mask = llvm.Constant(llvm.VectorType(I32, len(places)), list(places))
    return builder.builder.shuffle_vector(left, right, mask)
