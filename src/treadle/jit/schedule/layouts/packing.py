"""Packing: which invariant matrices of products are copied to an aligned layout, before which loop.

Rows are aligned to vectors, and not a power of two apart, so that no vector crosses a cache line
and rows do not evict each other. A matrix is packed once for all loops that surely run after it:
a copy made on one side of a branch is for that side only, and a copy that a loop of few iterations
skips is for that loop only. A constant is packed when code is made, and is there for all loops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    Constant,
    Kernel,
    Loop,
    MatMul,
    Node,
    ScanSlice,
    View,
    static_shape,
)
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes, inner_blocks
from treadle.jit.schedule.layouts.large_products import is_streamed, panel_columns
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.storage import Storage, stored_transpose

_CACHE_LINE_BYTES = 64
_PAGE_BYTES = 4096
_MIN_PACKED_ELEMENTS = 4096
"""The number of elements below which packing does not pay."""


@dataclass(frozen=True, eq=False, slots=True)
class Packing:
    """A matrix to copy before a loop; `stride`: the elements from one row to the next.

    A constant in panels of `panel` columns has its rows in each of them (large_products.py).

    `products` are those of the loop that would read the matrix as it is stored if the loop runs for
    few iterations, so that no copy is needed then; none if some product always needs it.
    """

    matrix: Node
    stride: int
    products: tuple[Node, ...]
    panel: int = 0

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        shape = ",".join(map(str, static_shape(self.matrix)))
        when = ", unless it runs for few iterations" if self.products else ""
        form = f"panels of {self.panel} columns" if self.panel else f"rows of {self.stride}"
        return f"{self.matrix.dtype}[{shape}] in {form}{when}"


def packings(
    kernel: Kernel, order: MemoryOrder, distributed: Collection[Node], target: Target
) -> Mapping[Node, tuple[Packing, ...]]:
    """The matrices packed before each loop; `distributed` are products of many iterations."""
    facts = _Facts(order, distributed, target)
    return dict(_packings(kernel.main, set(), set(), facts))


@dataclass(frozen=True, eq=False, slots=True)
class _Facts:
    order: MemoryOrder
    distributed: Collection[Node]
    target: Target


def _packings(
    block: Block, there: set[Node], constants: set[Node], facts: _Facts
) -> Iterator[tuple[Node, tuple[Packing, ...]]]:
    """Those of the loops in a block; `there` and `constants` are packed before it."""
    for node in block.nodes:
        inside = set(there)
        if isinstance(node.op, Loop):
            made = tuple(_made(node, there | constants, facts))
            yield node, made
            inside |= {each.matrix for each in made}
            there |= {each.matrix for each in made if not each.products}
            constants |= {each.matrix for each in made if isinstance(each.matrix.op, Constant)}
        for inner in inner_blocks(node):
            own = set(inside) if isinstance(node.op, Branch) else inside
            yield from _packings(inner, own, constants, facts)


def _made(loop: Node, there: Collection[Node], facts: _Facts) -> Iterator[Packing]:
    assert isinstance(loop.op, Loop)
    order, distributed = facts.order, facts.distributed
    inside = list(all_nodes(loop.op.body))
    matrices = dict.fromkeys(_matrices(loop.op, inside, order, distributed))
    for matrix in matrices:
        readers = tuple(node for node in inside if matrix in node.operands)
        panel = _panel(matrix, readers, facts)
        if matrix in there or not (panel or _is_worth_it(matrix, order)):
            continue
        may_skip = all(node in distributed and stored_transpose(node) for node in readers)
        is_made_before = isinstance(matrix.op, Constant) or not may_skip
        stride = _stride(static_shape(matrix)[1], matrix.dtype)
        yield Packing(matrix, stride, () if is_made_before else readers, panel)


def _panel(matrix: Node, readers: Sequence[Node], facts: _Facts) -> int:
    """The columns of the panels that a matrix is stored in; 0: its rows stay whole."""
    is_ahead = any(node in facts.distributed for node in readers)
    is_right = all(isinstance(node.op, MatMul) and node.operands[1] is matrix for node in readers)
    return panel_columns(readers, facts.target) if is_right and not is_ahead else 0


def _matrices(
    loop: Loop, inside: Collection[Node], order: MemoryOrder, distributed: Collection[Node]
) -> Iterator[Node]:
    """The right operands of products in a loop that do not change in it."""
    for node in inside:
        if isinstance(node.op, MatMul) and order.storage.storage_of[node] is Storage.BUFFER:
            right = node.operands[1]
            is_outside = right.home.depth < loop.body.depth
            is_matrix = is_outside and right.is_static and len(right.shape) == 2
            if is_matrix and (node in distributed or not _is_read_as_stored(node, order)):
                yield right


def _is_read_as_stored(product: Node, order: MemoryOrder) -> bool:
    """Whether a product reads the rows of its matrix, or of its transpose, where they are."""
    is_in_rows = is_streamed(product) and order.has_rows(product.operands[1])
    return is_in_rows or stored_transpose(product) is not None


def _is_worth_it(matrix: Node, order: MemoryOrder) -> bool:
    """Whether a matrix is large enough to pack, and its rows are badly aligned."""
    if matrix.dtype in (DType.BOOL, *SIXTEEN_BIT_FLOATS):
        return False
    rows, columns = static_shape(matrix)
    if rows * columns < _MIN_PACKED_ELEMENTS or columns < 2:
        return False
    size = columns * matrix.dtype.numpy.itemsize
    is_turned = isinstance(matrix.op, View | ScanSlice) and not order.has_rows(matrix)
    return is_turned or size % _CACHE_LINE_BYTES != 0 or size % _PAGE_BYTES == 0


def _stride(columns: int, dtype: DType) -> int:
    """The number of elements from one row to the next."""
    lanes = _CACHE_LINE_BYTES // dtype.numpy.itemsize
    stride = -(-columns // lanes) * lanes
    return stride + lanes if stride * dtype.numpy.itemsize % _PAGE_BYTES == 0 else stride
