"""Rows as vectors: whether neighbouring elements of a value can be read, or computed, as a vector.

`codegen/ops/row_values.py` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import Elementwise, Node, ScanSlice, View
from treadle.jit.kernel.scalar_functions import FUNCTIONS
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.storage import Storage


def has_row(
    node: Node,
    axis: int,
    order: MemoryOrder,
    inline: set[Node],
    kinds: Collection[Storage] = (Storage.BUFFER,),
) -> bool:
    """Whether elements along an axis are read as vectors; adds the nodes that are computed.

    `kinds` are those whose elements are stored where they are read; registers are read only from a
    known number on.
    """
    if node.shape[axis] == 1:
        return True
    kind = order.storage.storage_of[node]
    if kind is not Storage.INLINE:
        if kind is Storage.REGISTERS or kind not in kinds:
            return kind in kinds and node.size == node.shape[axis]
        is_last = axis == len(node.shape) - 1
        is_row = order.has_rows(node) if is_last else order.has_neighbours(node, axis)
        return is_row and node.dtype not in SIXTEEN_BIT_FLOATS
    if isinstance(node.op, Elementwise):
        dtypes = tuple(operand.dtype for operand in node.operands)
        if not FUNCTIONS[node.op.function].has_vector_form(dtypes, node.dtype):
            return False
        inline.add(node)
    along = row_axes(node, axis)
    return along is not None and all(
        own is None or has_row(operand, own, order, inline, kinds)
        for operand, own in zip(node.operands, along, strict=True)
    )


def row_axes(node: Node, axis: int) -> Sequence[int | None] | None:
    """The axis along which each operand is read for a row of a node that is computed inline.

    None for an operand of which one element is read; None instead of all if a row is no row of
    the operand.
    """
    match node.op:
        case Elementwise():
            before = [len(node.shape) - len(operand.shape) for operand in node.operands]
            return [axis - each if axis >= each else None for each in before]
        case ScanSlice(sliced, _):
            return [axis + (axis >= sliced)]
        case View(axes):
            own = [k for k, read in enumerate(axes) if any(axis == n for n, _ in read.terms)]
            if not own:
                return [None]
            is_row = len(own) == 1 and (axis, 1) in axes[own[0]].terms
            return own if is_row else None
    return None
