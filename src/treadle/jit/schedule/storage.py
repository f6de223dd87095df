"""Assigns the storage of each value of a kernel.

REGISTERS   one LLVM value for each element: few elements, computed where the node stands
NEST        element by element, in a loop nest that nodes of one shape share
INLINE      not stored: its readers compute it at each index, a Concat piece by piece
BUFFER      in memory, whole, before anything reads it
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treadle.jit.kernel.ir import (
    ArgTopK,
    Branch,
    CarriedArg,
    Concat,
    Constant,
    Elementwise,
    Gather,
    HostCall,
    Iota,
    Kernel,
    Loop,
    MatMul,
    Node,
    Reduce,
    Reshape,
    ScanSlice,
    Scatter,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.traversal import all_nodes, is_run_once, stack_of, yielded
from treadle.jit.kernel.view_bounds import keeps_order
from treadle.jit.schedule.index_set_splitting import (
    has_computed_ends,
    is_split_with,
    reads_few_pieces,
)
from treadle.jit.schedule.layouts.transposed_operands import stored_transpose
from treadle.jit.schedule.layouts.updated_tables import updated_tables
from treadle.jit.schedule.layouts.vector_rows import MIN_ROW, is_product_of_rows, is_row
from treadle.jit.schedule.layouts.windows import filters_windows
from treadle.jit.schedule.nest_size import (
    Inlined,
    cost_of_following,
    inlined,
    is_expensive,
    is_too_much,
)
from treadle.jit.schedule.rows_in_place import memory_of_row
from treadle.jit.schedule.short_reductions import written_out_terms

MAX_SCALARS_PER_VALUE = 16
"""The number of elements of a tensor that are kept in registers."""
MAX_UNROLLED_ELEMENTS = 512
"""The number of elements that a reduction or product into registers may read."""
_MAX_UNROLLED_ROWS = 32
"""The elements of rows whose reduction is one, from which they are vectors."""
MAX_UNROLLED_EXPENSIVE = 96
"""The number of expensive functions of a block that are unrolled."""
_MAX_WRITTEN_OUT = 1024
"""The elements of a block, in all small tensors, whose functions are unrolled."""
_MIN_REREAD_ROWS = 4
"""The rows of a product from which its right matrix is read often enough to be stored."""
_MIN_REREAD, _MAX_REREAD = 64, 1_000_000
"""The elements of a value that is stored because a loop reads it repeatedly."""
TILE = 16
"""The elements along either axis that are transposed together."""


class Storage(enum.Enum):
    """The storage class of a node."""

    REGISTERS = enum.auto()
    NEST = enum.auto()
    INLINE = enum.auto()
    BUFFER = enum.auto()


@dataclass(frozen=True, eq=False, slots=True)
class StorageMap:
    """The storage of every node, its readers, and registers that are also read by index.

    `in_place` are rows in buffers, each with the value whose memory that is.
    """

    storage_of: Mapping[Node, Storage]
    readers: Mapping[Node, tuple[Node, ...]]
    spilled: frozenset[Node]
    in_place: Mapping[Node, Node]


def assign_storage(kernel: Kernel) -> StorageMap:
    """Assign the storage of all nodes of a kernel."""
    readers: dict[Node, list[Node]] = {}
    nodes = list(all_nodes(kernel.main))
    for node in nodes:
        for operand in (*node.operands, *yielded(node)):
            readers.setdefault(operand, []).append(node)
    storage_of: dict[Node, Storage] = {}
    fused: dict[Node, Inlined] = {}
    too_many = _too_many_to_unroll(nodes)
    of_rows = {node.home for node in nodes if is_product_of_rows(node)}
    tables = updated_tables(nodes)
    filters = {
        node.op.body
        for node in nodes
        if isinstance(node.op, Loop) and filters_windows(node.op, kernel)
    }
    for node in reversed(nodes):
        if node.home in filters and not isinstance(node.op, CarriedArg):
            storage_of[node] = Storage.REGISTERS
            continue
        if node in tables:
            storage_of[node] = Storage.BUFFER
            continue
        if isinstance(node.op, Concat) and _is_read_in_pieces(
            node, readers, storage_of, kernel.results
        ):
            storage_of[node] = Storage.INLINE
            continue
        is_vector = node.home in of_rows and is_row(node)
        found = _place(node, readers.get(node, []), storage_of, node in kernel.results, is_vector)
        if found is Storage.INLINE and isinstance(node.op, Elementwise | Reduce):
            fused[node] = inlined(node, readers[node], fused)
            found = Storage.NEST if is_too_much(node, readers[node], fused) else found
        storage_of[node] = Storage.NEST if node in too_many else found
    spilled = {
        operand
        for node in nodes
        for operand in node.operands
        if _reads_by_index(node, operand, storage_of)
    }
    inline = {node for node in nodes if storage_of[node] is Storage.INLINE}
    in_place = {
        node: whole
        for node in nodes
        if storage_of[node] is Storage.BUFFER
        and node not in kernel.results
        and (whole := memory_of_row(node, readers, inline)) is not None
        and storage_of[whole] is Storage.BUFFER
    }
    return StorageMap(
        storage_of,
        {node: tuple(found) for node, found in readers.items()},
        frozenset(spilled),
        in_place,
    )


def _too_many_to_unroll(nodes: Sequence[Node]) -> frozenset[Node]:
    """Functions of small tensors that are too many to be unrolled."""
    found = [node for node in nodes if _is_written_out(node)]
    if sum(node.size for node in found) > _MAX_WRITTEN_OUT:
        return frozenset(found)
    long = [node for node in found if is_expensive(node)]
    return frozenset(long if sum(node.size for node in long) > MAX_UNROLLED_EXPENSIVE else ())


def _is_written_out(node: Node) -> bool:
    return (
        isinstance(node.op, Elementwise)
        and node.is_static
        and 1 < node.size <= MAX_SCALARS_PER_VALUE
    )


def _place(
    node: Node,
    readers: list[Node],
    storage_of: Mapping[Node, Storage],
    is_result: bool,
    is_vector: bool,
) -> Storage:
    """The storage of a node; one that `is_vector` is not taken apart into registers."""
    if isinstance(node.op, Loop | Branch | HostCall):
        return Storage.BUFFER
    is_short = node.is_static and node.size <= MAX_SCALARS_PER_VALUE and not is_vector
    is_small = is_short and not _is_much(node)
    if is_small and (is_result or not _is_read_by_nests(node, readers, storage_of)):
        return Storage.REGISTERS
    if isinstance(node.op, ScanSlice | View | Reshape | Iota):
        is_kept = (
            _is_packed(node, readers)
            or _is_laid_out(node, readers, storage_of)
            or _is_transposed(node, readers)
        )
        return Storage.BUFFER if is_kept else Storage.INLINE
    if isinstance(node.op, Take) and not is_result and _is_taken_inline(node, readers):
        return Storage.INLINE
    if isinstance(node.op, Elementwise) or written_out_terms(node):
        is_fused = not is_result and _is_inlined(node, readers, storage_of)
        return Storage.INLINE if is_fused else Storage.NEST
    return Storage.BUFFER


def _is_taken_inline(node: Node, readers: Sequence[Node]) -> bool:
    """Whether the only reader of elements at indices in range takes them itself, each once."""
    is_list = op_of(node, Take).is_in_range and not node.operands[1].is_single
    if not is_list or len(readers) != 1 or not isinstance(readers[0].op, Elementwise):
        return False
    return readers[0].home is node.home and readers[0].shape == node.shape


def _is_read_by_nests(
    node: Node, readers: Sequence[Node], storage_of: Mapping[Node, Storage]
) -> bool:
    """Whether only loop nests read a small view: they read its source, and no copy is needed."""
    return (
        isinstance(node.op, View)
        and node.size > 1
        and bool(readers)
        and all(
            isinstance(reader.op, Elementwise) and storage_of[reader] is not Storage.REGISTERS
            for reader in readers
        )
    )


def _is_inlined(node: Node, readers: Sequence[Node], storage_of: Mapping[Node, Storage]) -> bool:
    """Whether readers compute the node: its only one, or several that write out reductions."""
    if len(set(readers)) > 1 and (is_expensive(node) or not isinstance(node.op, Elementwise)):
        return False
    return bool(readers) and all(
        reader.home is node.home and _takes_inline(node, reader, storage_of) for reader in readers
    )


def _is_read_in_pieces(
    join: Node,
    readers: Mapping[Node, Sequence[Node]],
    storage_of: Mapping[Node, Storage],
    results: Sequence[Node],
) -> bool:
    """Whether only Elementwises read the Concat, at their own index, or one through a Concat.

    All Concats that an Elementwise reads so split its nest; there must be few pieces. Several read
    the operands again, so none of these is computed.
    """
    own = dict.fromkeys(readers.get(join, ()))
    is_short = join.is_static and join.size <= MAX_SCALARS_PER_VALUE
    is_short = is_short or join.shape[op_of(join, Concat).axis] == 1  # read at 0, in any operand
    if not own or join in results or is_short:
        return False
    if any(reader.home is not join.home for reader in own):
        return False
    if len(own) > 1 and any(_is_computed(operand) for operand in join.operands):
        return False
    first = next(iter(own))
    if isinstance(first.op, Concat):
        return is_split_with(join, first, readers) and storage_of[first] is Storage.INLINE

    def is_inline(node: Node) -> bool:
        if node in storage_of:
            return isinstance(node.op, Concat) and storage_of[node] is Storage.INLINE
        return node is join or is_split_with(node, join, readers)

    alone = cost_of_following(join, readers)
    for reader in own:
        is_own = isinstance(reader.op, Elementwise) and reader.shape == join.shape
        if not is_own or storage_of[reader] is not Storage.NEST:
            return False
        if not reads_few_pieces(reader, is_inline, alone):
            return False
    return True


def _is_computed(node: Node) -> bool:
    """Whether a node may be computed by those that read it."""
    return isinstance(node.op, Elementwise | Reduce | Concat | Iota)


def _takes_inline(node: Node, reader: Node, storage_of: Mapping[Node, Storage]) -> bool:
    if isinstance(reader.op, Reduce):
        return True
    if isinstance(reader.op, Concat):
        return storage_of[reader] is Storage.INLINE
    is_inline = storage_of.get(reader) is Storage.INLINE and isinstance(reader.op, Elementwise)
    return is_inline and reader.shape == node.shape


def _is_packed(node: Node, readers: list[Node]) -> bool:
    """Whether a view with gaps is worth a copy: it is read repeatedly."""
    if not isinstance(node.op, View) or not _has_gaps(node):
        return False
    return any(_reads_often(reader, node) for reader in readers)


def _is_laid_out(node: Node, readers: list[Node], storage_of: Mapping[Node, Storage]) -> bool:
    """Whether a view is reshaped: finding an element by its own index would take divisions."""
    if not isinstance(node.op, View) or not node.is_static or keeps_order(node):
        return False
    return any(
        isinstance(each.op, Reshape) and storage_of[each] is Storage.INLINE for each in readers
    )


def _is_transposed(node: Node, readers: list[Node]) -> bool:
    """Whether a transposition of many columns is made as a whole: loops slice it, or stack it."""
    axes = transposed_axes(node)
    if axes is None:
        return False
    is_sliced = any(
        isinstance(each.op, ScanSlice) and each.op.axis == axes[0] and each.home is not node.home
        for each in readers
    )
    return is_sliced or (bool(readers) and stack_of(node.operands[0]) is not None)


def transposed_axes(node: Node) -> tuple[int, int] | None:
    """The axis of a view along which its source is contiguous, and its own last axis.

    None if both are the same axis, or too short for tiles. Axes of extent 1 do not count.
    """
    if not isinstance(node.op, View):
        return None
    own = [axis for axis, extent in enumerate(node.shape) if extent != 1]
    read = [
        axis
        for extent, axis in zip(node.operands[0].shape, node.op.axes, strict=True)
        if extent != 1
    ]
    if len(own) < 2 or not read or [step for _, step in read[-1].terms] != [1]:
        return None
    pair = read[-1].terms[0][0], own[-1]
    is_apart = sum(pair[0] == number for axis in read for number, _ in axis.terms) == 1
    is_long = all(not isinstance(e, int) or e >= TILE for e in (node.shape[k] for k in pair))
    return pair if is_apart and is_long and pair[0] != pair[1] else None


def _has_gaps(view: Node) -> bool:
    """Whether elements along its last axis are not contiguous in the source."""
    op, last = op_of(view, View), len(view.shape) - 1
    steps = [(k, step) for k, axis in enumerate(op.axes) for n, step in axis.terms if n == last]
    return bool(steps) and steps != [(len(op.axes) - 1, 1)]


def _reads_often(reader: Node, node: Node) -> bool:
    if isinstance(reader.op, MatMul) and reader.operands[1] is node:
        if stored_transpose(reader) is not None:
            return False
        return reader.home is not node.home or _has_many_rows(reader)
    if not isinstance(reader.op, Elementwise | Reduce) or is_run_once(reader, node.home):
        return False
    if not node.is_static:
        return len(node.shape) == 1
    return _MIN_REREAD <= node.size <= _MAX_REREAD


def _has_many_rows(product: Node) -> bool:
    rows = product.shape[-2]
    return not isinstance(rows, int) or rows >= _MIN_REREAD_ROWS


def _is_much(node: Node) -> bool:
    """Whether few elements take so much work, or have such places, that they must be a loop."""
    if isinstance(node.op, Concat):
        return has_computed_ends(node)
    if isinstance(node.op, Reduce):
        source = node.operands[0]
        is_row = node.size >= MIN_ROW and len(source.shape) - 1 not in node.op.axes
        most = _MAX_UNROLLED_ROWS if is_row else MAX_UNROLLED_ELEMENTS
        return node.size > 1 and source.is_static and source.size > most
    if not isinstance(node.op, MatMul):
        return False
    inner = node.operands[0].shape[-1]
    return not isinstance(inner, int) or node.size * inner > MAX_UNROLLED_ELEMENTS


def _reads_by_index(node: Node, operand: Node, storage_of: Mapping[Node, Storage]) -> bool:
    if storage_of[operand] is not Storage.REGISTERS or operand.size <= 1:
        return False
    if isinstance(operand.op, Constant) or isinstance(node.op, Loop | Branch):
        return False
    if isinstance(node.op, View) and not all(isinstance(a.offset, int) for a in node.op.axes):
        return True
    return storage_of[node] is not Storage.REGISTERS or isinstance(
        node.op, ScanSlice | Take | Gather | Scatter | ArgTopK
    )
