"""Loop distribution: products of sliced items with a matrix, for many iterations at once.

    for i in range(n):                         for i in range(0, n, steps):
        y = x[i] @ w              becomes          ys = x[i : i + steps] @ w
        rest of the body                           for each of them: the rest of the body

The rows of the left operand come from one item of an outer tensor, which the iteration number
selects: no iteration waits for the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.jit.kernel.costs import LARGE_MATRIX
from treadle.jit.kernel.ir import Loop, MatMul, Node, Reshape, ScanSlice, Take, View
from treadle.jit.kernel.traversal import stack_of
from treadle.jit.kernel.view_bounds import keeps_order
from treadle.jit.schedule.access import AffineIndex, counter
from treadle.jit.schedule.op_accesses import accesses_of
from treadle.jit.schedule.storage import Storage, StorageMap

_MIN_STEPS, _MAX_STEPS, _MAX_STACKED_STEPS = 8, 64, 16
"""The iterations at once; the last for items that another loop stacks, which may run at the same
time (pipelines.py): two threads run four LSTMs of 128 1.9 times as fast as one, with 64 1.7 times.
"""
_CACHED_ELEMENTS = 32_768
"""The elements of all products that are computed at once."""


@dataclass(frozen=True, eq=False, slots=True)
class Distribution:
    """The nodes from the left operand of a product to the item, and the iterations at once."""

    between: tuple[Node, ...]
    steps: int


def distributed_products(loop: Loop, storage: StorageMap) -> Mapping[Node, Distribution]:
    """The products of a loop's body that are computed for many iterations at once."""
    found = {}
    for node in loop.body.nodes:
        between = _between(node, loop, storage) if isinstance(node.op, MatMul) else ()
        if between:
            is_stacked = stack_of(between[-1].operands[0]) is not None
            most = _MAX_STACKED_STEPS if is_stacked else _MAX_STEPS
            steps = min(max(_CACHED_ELEMENTS // node.size, _MIN_STEPS), most)
            found[node] = Distribution(between, steps)
    return found


def _between(node: Node, loop: Loop, storage: StorageMap) -> tuple[Node, ...]:
    """The nodes between the left operand and the item; () if it does not come from an item."""
    if not has_large_matrix(node, loop) or storage.storage_of[node] is not Storage.BUFFER:
        return ()
    return nodes_to_item(node.operands[0], loop)


def has_large_matrix(node: Node, loop: Loop) -> bool:
    """Whether a product's right operand is a matrix from outside of the loop, and large."""
    right = node.operands[1]
    if not (node.is_static and right.is_static and len(node.shape) == len(right.shape) == 2):
        return False
    return right.home.depth < loop.body.depth and right.size >= LARGE_MATRIX


def nodes_to_item(left: Node, loop: Loop) -> tuple[Node, ...]:
    """The views from a value to the item that it is of, with both; () if it is of none.

    A view in another order that is reshaped is none: its elements are copied before the product.
    """
    found: list[Node] = []
    while left.home is loop.body and isinstance(left.op, ScanSlice | Take | View | Reshape):
        is_turned = isinstance(left.op, View) and not keeps_order(left)
        if is_turned and any(isinstance(each.op, Reshape) for each in found):
            return ()
        found.append(left)
        left = left.operands[0]
    is_from_item = bool(found) and _is_item(found[-1], loop) and left.home is not loop.body
    return tuple(found) if is_from_item and not any(_is_item(n, loop) for n in found[:-1]) else ()


def _is_item(node: Node, loop: Loop) -> bool:
    """Whether it is the item of its operand with the number of the iteration."""
    op = node.op
    if isinstance(op, Take):
        return accesses_of(node)[0][op.axis] == counter(loop.body)
    indices = accesses_of(node)[0] if isinstance(op, ScanSlice) else ()
    return any(isinstance(i, AffineIndex) and loop.body in dict(i.terms) for i in indices)
