"""Packing: invariant matrices of products are copied to an aligned layout before their loop.

Rows are aligned to vectors, and not a power of two apart, so that no vector crosses a cache line
and rows do not evict each other. A constant is packed at compile time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from treadle.ir import DType
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.ops.batched_matmul import runs_briefly
from treadle.jit.codegen.ops.transpose import copy_view
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import Constant, Loop, MatMul, Node, ScanSlice, View, static_shape
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.large_products import is_streamed
from treadle.jit.schedule.storage import Storage, stored_transpose

_CACHE_LINE_BYTES = 64
_PAGE_BYTES = 4096
_MIN_PACKED_ELEMENTS = 4096
"""The number of elements below which packing does not pay."""


def pack_matrices(context: CodegenContext, loop: Node) -> None:
    """Pack the matrices that are multiplied inside the loop, unless an outer loop packed them."""
    for right in _rights(context, loop):
        if right in context.access.packed or not _is_worth_it(context, right):
            continue
        rows, columns = static_shape(right)
        context.counts["laid_out"] += 1
        stride = _stride(columns, right.dtype)
        if isinstance(right.op, Constant):
            pointer = context.access.slots.laid(right.op.array, stride)
            context.access.packed[right] = Buffer(
                pointer, right.dtype, (stride, 1), "given", is_dense=False
            )
            continue
        pointer = context.access.slots.workspace(rows * stride * right.dtype.numpy.itemsize)
        buffer = Buffer(
            pointer, right.dtype, (stride, 1), context.access.aliases.fresh(), is_dense=False
        )
        is_short = _runs_briefly(context, loop, right)
        if is_short is None:
            copy_view(context, right, buffer, 0.0, context.access.read)
        else:
            with context.builder.builder.if_then(context.builder.builder.not_(is_short)):
                copy_view(context, right, buffer, 0.0, context.access.read)
        context.access.packed[right] = buffer


def _runs_briefly(context: CodegenContext, loop: Node, right: Node) -> Any:
    """Whether no product of the loop will read the copy at run time; None if one may."""
    assert isinstance(loop.op, Loop)
    readers = [node for node in all_nodes(loop.op.body) if right in node.operands]
    conditions = [runs_briefly(context, node) for node in readers]
    if not conditions or any(each is None for each in conditions):
        return None
    return reduce(context.builder.builder.and_, conditions)


def _rights(context: CodegenContext, loop: Node) -> Iterator[Node]:
    assert isinstance(loop.op, Loop)
    for node in all_nodes(loop.op.body):
        if isinstance(node.op, MatMul) and context.access.storage_of(node) is Storage.BUFFER:
            right = node.operands[1]
            is_outside = right.home.depth < loop.op.body.depth
            is_matrix = is_outside and right.is_static and len(right.shape) == 2
            if is_matrix and not _is_read_as_stored(context, node):
                yield right


def _is_read_as_stored(context: CodegenContext, node: Node) -> bool:
    """Whether the product reads the rows of its matrix, or of its transpose, where they are."""
    if node in context.schedule.distributed:
        return False
    is_in_rows = is_streamed(node) and context.access.has_rows(node.operands[1])
    return is_in_rows or stored_transpose(node) is not None


def _is_worth_it(context: CodegenContext, right: Node) -> bool:
    """Whether the matrix is large enough to pack, and its rows are badly aligned."""
    rows, columns = static_shape(right)
    if (
        right.dtype in (DType.BOOL, *SIXTEEN_BIT_FLOATS)
        or rows * columns < _MIN_PACKED_ELEMENTS
        or columns < 2
    ):
        return False
    size = columns * right.dtype.numpy.itemsize
    is_turned = isinstance(right.op, View | ScanSlice) and not context.access.has_rows(right)
    return is_turned or size % _CACHE_LINE_BYTES != 0 or size % _PAGE_BYTES == 0


def _stride(columns: int, dtype: DType) -> int:
    """The number of elements from one row to the next."""
    lanes = _CACHE_LINE_BYTES // dtype.numpy.itemsize
    stride = -(-columns // lanes) * lanes
    return stride + lanes if stride * dtype.numpy.itemsize % _PAGE_BYTES == 0 else stride
