"""Packing: which invariant matrices of products are copied to panels, before which loop.

In a panel of few columns (product_tiles.py) the rows follow each other in memory: they are read in
the order of memory, no vector crosses a cache line, and rows do not evict each other. A matrix is
packed once for all loops that surely run after it:
a copy made on one side of a branch is for that side only. A constant is packed when code is made,
and is there for all loops.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    Block,
    Constant,
    Kernel,
    Loop,
    MatMul,
    Node,
    static_shape,
)
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes, inner_blocks
from treadle.jit.schedule.cost_model import COPIED, eighths_of
from treadle.jit.schedule.layouts.memory_order import MemoryOrder
from treadle.jit.schedule.layouts.product_tiles import NO_VECTOR_ROWS, panel_columns
from treadle.jit.schedule.layouts.transposed_operands import stored_transpose
from treadle.jit.schedule.steps.chunks import Chunk, items_in_chunks
from treadle.jit.schedule.steps.copies import Copy, packed_copy
from treadle.jit.schedule.storage import Storage, transposed_axes

_MIN_PACKED_ELEMENTS, _MIN_TURNED_ELEMENTS = 4096, 512
"""The number of elements below which packing does not pay: of rows as they are, and of others."""
_MIN_ITERATIONS, _MIN_ITERATIONS_OF_ROWS, _MANY_ROWS = 10, 4, 16
"""The iterations from which a copy pays: of one row, and of many (measured on Zen 5)."""
_MIN_ITERATIONS_OF_TURNED = 16
"""The iterations from which a transposed copy pays where each product could be dot products: it
takes as long as five of them, and a product with its panels 0.6 of their time."""


@dataclass(frozen=True, eq=False, slots=True)
class Packing:
    """A matrix to copy before a loop, to panels of `panel` columns.

    A loop of fewer than `least` iterations reads it as it is stored, in the same order; `is_maybe`:
    its products are dot products then. `turned`: how a transposition is copied. Of others rows are
    copied `in_rows` as they lie in memory, or else single elements; `chunk`: the panels of a long
    copy between safepoints.
    """

    matrix: Node
    panel: int
    least: int
    turned: Copy | None
    in_rows: bool
    chunk: Chunk | None
    is_maybe: bool

    def __str__(self) -> str:
        """As `explain --schedule` prints it."""
        shape = ",".join(map(str, static_shape(self.matrix)))
        when = f", from {self.least} iterations on" if self.least else ""
        polls = f", a safepoint for every {self.chunk.size} panels" if self.chunk else ""
        return f"{self.matrix.dtype}[{shape}] in panels of {self.panel} columns{when}{polls}"


@dataclass(frozen=True, eq=False, slots=True)
class Packings:
    """The matrices packed before each loop, and the columns of the panels each product reads.

    Those in `maybe` are dot products where the loop is too short for the copy.
    """

    made: Mapping[Node, tuple[Packing, ...]]
    panel_of: Mapping[Node, int]
    maybe: Collection[Node]


def packings(
    kernel: Kernel,
    blocks: Mapping[Block, Sequence[object]],
    order: MemoryOrder,
    distributed: Collection[Node],
    target: Target,
) -> Packings:
    """What is packed; `blocks` have their steps in order, `distributed` are many iterations'."""
    walk = _Walk(blocks, order, distributed, target, {}, {}, {}, set())
    walk.block(kernel.main, {})
    return Packings(walk.made, walk.panel_of, walk.maybe)


_Packed = dict[Node, Packing]


@dataclass(frozen=True, eq=False, slots=True)
class _Walk:
    """The walk over a kernel in order; `constants` are packed for all that comes later."""

    blocks: Mapping[Block, Sequence[object]]
    order: MemoryOrder
    distributed: Collection[Node]
    target: Target
    constants: _Packed
    made: dict[Node, tuple[Packing, ...]]
    panel_of: dict[Node, int]
    maybe: set[Node]

    def block(self, block: Block, there: _Packed) -> None:
        """The loops and products of a block; the matrices in `there` are packed before it."""
        for node in (step for step in self.blocks[block] if isinstance(step, Node)):
            if isinstance(node.op, MatMul):
                self.product(node, there | self.constants)
            if isinstance(node.op, Loop):
                made = tuple(_made(node, there | self.constants, self))
                self.made[node] = made
                there |= {each.matrix: each for each in made if not each.is_maybe}
                is_constant = (each for each in made if isinstance(each.matrix.op, Constant))
                self.constants.update({each.matrix: each for each in is_constant})
            own = {each.matrix: each for each in self.made.get(node, ()) if each.is_maybe}
            for inner in inner_blocks(node):
                self.block(inner, there | own)

    def product(self, node: Node, there: _Packed) -> None:
        """Have a product read the copy of its matrix, if there is one."""
        found = there.get(node.operands[1])
        if found is not None:
            self.panel_of[node] = found.panel
            self.maybe.update({node} if found.is_maybe else ())


def _made(loop: Node, there: Collection[Node], facts: _Walk) -> Iterator[Packing]:
    assert isinstance(loop.op, Loop)
    readers: dict[Node, list[Node]] = {}
    for node in all_nodes(loop.op.body):
        if isinstance(node.op, MatMul) and _is_packed(node, loop.op, facts):
            readers.setdefault(node.operands[1], []).append(node)
    for matrix, products in readers.items():
        are_dots = all(_is_of_dots(product, facts) for product in products)
        if matrix in there or not _is_worth_it(matrix, are_dots=are_dots):
            continue
        least = _MIN_ITERATIONS_OF_TURNED if are_dots else _least(matrix, products, loop.op, facts)
        rows = [None if node in facts.distributed else node.shape[-2] for node in products]
        panel = panel_columns(matrix, rows, facts.target)
        is_turned = transposed_axes(matrix) is not None
        turned = packed_copy(matrix, facts.order, facts.target.vector_bytes) if is_turned else None
        chunk = None if is_turned else _chunk(matrix, panel)
        yield Packing(matrix, panel, least, turned, facts.order.has_rows(matrix), chunk, are_dots)


def _chunk(matrix: Node, panel: int) -> Chunk | None:
    """The chunks of a long copy."""
    if isinstance(matrix.op, Constant):
        return None
    rows, columns = static_shape(matrix)
    return items_in_chunks(columns // panel, eighths_of(COPIED) * rows * panel)


def _is_packed(product: Node, loop: Loop, facts: _Walk) -> bool:
    """Whether the right operand of a product in a loop does not change, and is better packed."""
    right = product.operands[1]
    is_matrix = right.home.depth < loop.body.depth and right.is_static and len(right.shape) == 2
    if not is_matrix or facts.order.storage.storage_of[product] is not Storage.BUFFER:
        return False
    if not _is_of_dots(product, facts):
        return True
    is_short = isinstance(loop.extent, int) and loop.extent < _MIN_ITERATIONS_OF_TURNED
    return product.home is loop.body and not is_short


def _is_of_dots(product: Node, facts: _Walk) -> bool:
    """Whether a product is dot products with its matrix as it is stored, if that is not packed."""
    return product not in facts.distributed and stored_transpose(product) is not None


def _is_worth_it(matrix: Node, *, are_dots: bool) -> bool:
    rows, columns = static_shape(matrix)
    least = _MIN_TURNED_ELEMENTS if are_dots else _MIN_PACKED_ELEMENTS
    is_large = rows * columns >= least and columns >= 2
    return is_large and matrix.dtype not in NO_VECTOR_ROWS


def _least(matrix: Node, products: Sequence[Node], loop: Loop, facts: _Walk) -> int:
    """The iterations from which a copy pays; 0: it is made in any case."""
    is_inline = facts.order.storage.storage_of[matrix] is Storage.INLINE
    is_stored = not is_inline and facts.order.has_rows(matrix)
    if (
        isinstance(matrix.op, Constant)
        or not is_stored
        or any(product.home is not loop.body for product in products)
    ):
        return 0
    rows = [product.shape[-2] for product in products]
    has_many = any(isinstance(each, int) and each >= _MANY_ROWS for each in rows)
    return _MIN_ITERATIONS_OF_ROWS if has_many else _MIN_ITERATIONS
