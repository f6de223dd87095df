"""Matrices that a loop multiplies with and does not change, laid out for it before it begins.

Rows begin where vectors do, and not a power of two apart, so that no vector crosses a line of the
cache and rows do not drive each other out of it. A constant is laid out when the kernel is made.
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.ir import DType
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.place import Place
from treadle.jit.emit.transpose import copy_view
from treadle.jit.emit.types import NARROW
from treadle.jit.kernel_ir import Constant, Contract, Item, Loop, Node, View, extents
from treadle.jit.walk import all_nodes

_LINE = 64
_PAGE = 4096
_LITTLE = 4096


def pack(e: Emitter, loop: Node) -> None:
    """Lay out the matrices that are multiplied with inside, unless it was done further out."""
    for right in _rights(e, loop):
        if right in e.t.packed or not _is_worth_it(e, right):
            continue
        rows, columns = extents(right)
        e.counts["laid_out"] += 1
        stride = _stride(columns, right.dtype)
        if isinstance(right.op, Constant):
            pointer = e.t.slots.laid(right.op.array, stride)
            e.t.packed[right] = Buffer(pointer, right.dtype, (stride, 1), "given", is_dense=False)
            continue
        pointer = e.t.slots.workspace(rows * stride * right.dtype.numpy.itemsize)
        buffer = Buffer(pointer, right.dtype, (stride, 1), e.t.aliases.fresh(), is_dense=False)
        copy_view(e, right, buffer, 0.0, e.t.read)
        e.t.packed[right] = buffer


def _rights(e: Emitter, loop: Node) -> Iterator[Node]:
    assert isinstance(loop.op, Loop)
    for node in all_nodes(loop.op.body):
        if isinstance(node.op, Contract) and e.t.place(node) is Place.BUFFER:
            right = node.operands[1]
            is_outside = right.home.depth < loop.op.body.depth
            if is_outside and right.is_static and len(right.shape) == 2:
                yield right


def _is_worth_it(e: Emitter, right: Node) -> bool:
    """Whether it is large, and lies badly as it is."""
    rows, columns = extents(right)
    if right.dtype in (DType.BOOL, *NARROW) or rows * columns < _LITTLE or columns < 2:
        return False
    size = columns * right.dtype.numpy.itemsize
    is_turned = isinstance(right.op, View | Item) and not e.t.has_rows(right)
    return is_turned or size % _LINE != 0 or size % _PAGE == 0


def _stride(columns: int, dtype: DType) -> int:
    """Elements from one row to the next."""
    lanes = _LINE // dtype.numpy.itemsize
    stride = -(-columns // lanes) * lanes
    return stride + lanes if stride * dtype.numpy.itemsize % _PAGE == 0 else stride
