"""Checks of computed indices that no iteration needs.

An index is known to be in range where the ranges of whole numbers say so (value_ranges.py). One
that rises or falls with the iteration of a counted loop is checked by a guard before the loop, its
first and its last value; and so are indices from an array that no iteration changes, all of them.

    loop of n                          guard: k < 9, k + n - 1 < 9
      row = take of data, k + i        loop of n
                                         row = take in range of data, k + i

A run in which the guard fails, since an index counts from the end, or is out of range, is another
engine's; the kernel made then assumes nothing. Without checks, bodies are straight code.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Constant,
    Elementwise,
    Gather,
    Guard,
    InductionVar,
    Kernel,
    Loop,
    Node,
    Number,
    Reduce,
    Reshape,
    ScanSlice,
    Scatter,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.rebuild import Rebuild, copied, new_axes, write_loop
from treadle.jit.kernel.rewrite import rewritten_once
from treadle.jit.kernel.traversal import all_nodes, is_inside
from treadle.jit.schedule.access import affine_value
from treadle.jit.schedule.algebra.integers.value_ranges import Ranges, ranges_of
from treadle.jit.schedule.rows_in_place import rows_before_updates

_MANY = 2**31
"""More iterations, or larger steps, might wrap around between the first and the last value."""
_FAR = 2**62
_CHECKED_TOGETHER, _FEW = 8, 256
"""The indices in a vector, and so few in an array that checking them takes no time."""
_PASSING = (ScanSlice, View, Reshape, Take, Gather)
"""Operations whose elements are elements of operand 0."""
Checked = tuple[Node, Number]
"""A computed index, and the extent of the axis that it is for."""


def with_early_index_checks(kernel: Kernel, *, may_assume: bool) -> Kernel:
    """The kernel without checks that are not needed; itself if it has none of them.

    `may_assume`: guards may expect that indices are in range.
    """
    nodes = all_nodes(kernel.main)
    readers = [node for node in nodes if _is_checked(node)]
    ranges = (ranges_of(kernel.main) if readers else None) or {}
    proven = {node for node in readers if is_proven(node, ranges)}
    early: dict[Block, dict[_Check, None]] = {}
    loops = {node.op.body: node.op for node in nodes if isinstance(node.op, Loop)}
    guarded = set()
    for node in readers if may_assume else ():
        found = [] if node in proven else _early_checks(node, loops, ranges)
        guarded |= {node} if found else set()
        for body, check in found:
            early.setdefault(body, {})[check] = None
    if not proven and not early:
        return kernel
    in_range = {*proven, *guarded}
    writer = _Writer(in_range, early, rows_before_updates(in_range, nodes))
    rules = {Take: writer.reader, Gather: writer.reader, Scatter: writer.reader, Loop: writer.loop}
    made = rewritten_once(kernel, rules)
    return replace(made, assumes=True) if early else made


def indices(node: Node) -> Sequence[Checked]:
    """The computed indices of a Take, a Gather or a Scatter."""
    match node.op:
        case Take(axis=axis):
            return [(node.operands[1], node.operands[0].shape[axis])]
        case Gather(axes=axes) | Scatter(axes=axes):
            own = node.operands[1 if isinstance(node.op, Gather) else 2 :]
            pairs = zip(axes, node.operands[0].shape, strict=True)
            return [
                (own[position], extent) for position, extent in pairs if isinstance(position, int)
            ]
    return []


def is_proven(node: Node, ranges: Ranges) -> bool:
    """Whether ranges say that every computed index of a node is in range."""
    return all(_is_within(*each, ranges) for each in indices(node))


def _is_checked(node: Node) -> bool:
    """Whether a node in a loop checks indices."""
    is_reader = isinstance(node.op, Take | Gather | Scatter) and not node.op.is_in_range
    return is_reader and _is_in_loop(node)


def _is_within(index: Node, extent: Number, ranges: Ranges) -> bool:
    """Whether the range of an index says that it is in range."""
    low, high = ranges.get(index, (-1, -1))
    return isinstance(extent, int) and low >= 0 and high < extent


@dataclass(frozen=True, slots=True)
class _Check:
    """A guard before a loop asks whether an index stays below an extent.

    `is_array`: every element of an array does; else the values of an index in the loop.
    """

    index: Node
    extent: Number
    is_array: bool


def _early_checks(
    node: Node, loops: Mapping[Block, Loop], ranges: Ranges
) -> list[tuple[Block, _Check]]:
    """The checks of a node's indices before loops, each by the body; none if one is left inside."""
    found: list[tuple[Block, _Check]] = []
    for index, extent in indices(node):
        if _is_within(index, extent, ranges):
            continue
        place = _before_own_loop(index, extent, node, loops) or _array_before(
            index, extent, node, loops
        )
        if place is None:
            return []
        found.append(place)
    is_worth_it = any(
        not check.index.is_single if check.is_array else check.index.home is body
        for body, check in found
    )
    return found if is_worth_it else []


def _before_own_loop(
    index: Node, extent: Number, node: Node, loops: Mapping[Block, Loop]
) -> tuple[Block, _Check] | None:
    """The check of an index that only rises or only falls, before the loop of its node."""
    loop = loops.get(node.home)
    if loop is None or not loop.is_counted or loop.extent is None or loop.extent in (0, 1):
        return None
    is_early = _is_monotonic(index, loop.body) and not is_inside(extent, loop.body)
    return (loop.body, _Check(index, extent, is_array=False)) if is_early else None


def _array_before(
    index: Node, extent: Number, node: Node, loops: Mapping[Block, Loop]
) -> tuple[Block, _Check] | None:
    """The check of all indices of an array, before the outermost loop that reads them from it."""
    path = [index]
    while isinstance(path[-1].op, _PASSING) and _is_in_loop(path[-1]):
        path.append(path[-1].operands[0])
    array = path[-1]
    around = [each for each in node.home.outward() if each.is_loop and each in loops]
    outside = [each for each in around if each.depth > array.home.depth]
    kinds = {each.dtype for each in path}
    if not outside or is_inside(extent, outside[-1]) or not kinds <= {DType.INT64, DType.INT32}:
        return None
    is_whole = not any(isinstance(each.op, Take | Gather | View) for each in path[:-1])
    if isinstance(array.op, Constant) or not (is_whole or _is_short(array, loops[outside[-1]])):
        return None
    return outside[-1], _Check(array, extent, is_array=True)


def _is_in_loop(node: Node) -> bool:
    return any(block.is_loop for block in node.home.outward())


def _is_short(array: Node, loop: Loop) -> bool:
    """Whether checking an array, of which a loop may read a part, takes less than that part."""
    if not array.is_static:
        return False
    most = loop.extent * _CHECKED_TOGETHER if isinstance(loop.extent, int) else 0
    return array.size <= max(most, _FEW)


def _is_monotonic(index: Node, body: Block) -> bool:
    """Whether an index only rises or only falls from iteration to iteration, from 0 or more.

    One whose very first value is known to be negative counts from the end.
    """
    first = affine_value(index)
    if index.dtype is not DType.INT64 or not index.is_single or (first and first.offset < 0):
        return False
    return _steps(index, body) is not None


def _steps(index: Node, body: Block) -> list[Node] | None:
    """The functions from the iteration number to an index, each monotonic; None if others are.

    Only one operand of each is of the iteration, and one of them is a product.
    """
    found: list[Node] = []
    node = index
    while node.home is body and not isinstance(node.op, InductionVar):
        late = [each for each in node.operands if each.home is body]
        is_single = node.dtype is DType.INT64 and node.is_single
        if len(late) != 1 or not is_single or not _is_step(node):
            return None
        found.append(node)
        (node,) = late
    if sum(node.op == Elementwise("mul") for node in found) > 1 or node.dtype is not DType.INT64:
        return None
    return found if node.home is not body or isinstance(node.op, InductionVar) else None


def _is_step(node: Node) -> bool:
    match node.op:
        case View() | Reshape() | Elementwise("add" | "sub" | "mul" | "min" | "max"):
            return True
    return False


@dataclass(frozen=True, eq=False, slots=True)
class _Writer:
    """The rules; `in_range` are nodes without checks, `early` what is checked before each loop."""

    in_range: Collection[Node]
    early: Mapping[Block, Collection[_Check]]
    rows: Collection[Node]

    def reader(self, rebuild: Rebuild, node: Node) -> Node:
        """A Take, Gather or Scatter without checks, or a row as a view; others unchanged."""
        op = node.op
        if node not in self.in_range or not isinstance(op, Take | Gather | Scatter):
            return copied(rebuild, node)
        if node in self.rows and isinstance(op, Take):
            return _row(rebuild, node, op)
        row = node.operands[0]
        if row in self.in_range and _is_element(node, row):
            return _element(rebuild, node, row)
        op = replace(op, is_in_range=True)
        if not isinstance(op, Take):
            op = replace(op, axes=new_axes(rebuild, op.axes))
        return rebuild.builder.add(op, node.dtype, rebuild.shape(node), *rebuild.operands(node))

    def loop(self, rebuild: Rebuild, node: Node) -> Node:
        """A loop, behind the guard of its indices."""
        op = op_of(node, Loop)
        if op.body in self.early:
            holds = _Checks(rebuild, op).write(self.early[op.body])
            rebuild.builder.add(Guard(True), DType.BOOL, (), holds)
        return write_loop(rebuild, node, op)


def _is_element(node: Node, row: Node) -> bool:
    """Whether a Take reads a number of a row that a loop around takes of what does not change."""
    if not (isinstance(node.op, Take) and isinstance(row.op, Take) and node.is_single):
        return False
    if len(row.shape) != 1 or len(row.operands[0].shape) != 2 or not row.operands[1].is_single:
        return False
    return row.operands[0].home.depth < row.home.depth < node.home.depth


def _element(rebuild: Rebuild, node: Node, row: Node) -> Node:
    """A number of a row as an element of the matrix."""
    builder, axis = rebuild.builder, op_of(row, Take).axis
    indices = [rebuild.nodes[each.operands[1]] for each in (row, node)]
    places = [builder.reshape(each, rebuild.shape(node)) for each in indices]
    op = Gather((0, 1) if axis == 0 else (1, 0), is_in_range=True)
    return builder.add(op, node.dtype, rebuild.shape(node), rebuild.nodes[row.operands[0]], *places)


def _row(rebuild: Rebuild, node: Node, op: Take) -> Node:
    """A row at a computed index as a view of its data."""
    data, index = rebuild.operands(node)
    rank, at = len(index.shape), rebuild.builder.number(rebuild.builder.reshape(index, ()))
    moved = [k if k < op.axis else k - 1 + rank for k in range(len(data.shape))]
    axes = [Axis(at) if k == op.axis else Axis(0, ((moved[k], 1),)) for k in range(len(data.shape))]
    return rebuild.builder.view(data, rebuild.shape(node), axes)


@dataclass(frozen=True, eq=False, slots=True)
class _Checks:
    """Writes the conditions under which the indices of a loop are in range, before the loop."""

    rebuild: Rebuild
    op: Loop
    conditions: list[Node] = field(default_factory=list)

    def write(self, checks: Collection[_Check]) -> Node:
        """Whether all are, or there is no iteration."""
        for check in checks:
            (self._expect_every if check.is_array else self._expect_ends)(check)
        builder, zero = self.rebuild.builder, self.number(0)
        holds = reduce(partial(builder.map, "and"), self.conditions)
        if self.op.extent is None:
            return holds
        return builder.map("or", builder.map("less_equal", self.trips, zero), holds)

    @property
    def trips(self) -> Node:
        """The number of iterations."""
        return self.rebuild.builder.dim(self.rebuild.number(self.op.extent))

    def number(self, number: int) -> Node:
        """A constant."""
        return self.rebuild.builder.scalar(number, DType.INT64)

    def _room(self, check: _Check) -> Node:
        return self.rebuild.builder.dim(self.rebuild.number(check.extent))

    def _expect_every(self, check: _Check) -> None:
        """Every element of an array is in range: the greatest one is, as an unsigned number."""
        builder, array = self.rebuild.builder, self.rebuild.nodes[check.index]
        unsigned = builder.map("cast", array, dtype=DType.UINT64)
        axes = tuple(range(len(array.shape)))
        greatest = (
            builder.add(Reduce("max", axes), DType.UINT64, (), unsigned) if axes else unsigned
        )
        self._expect_below(greatest, self._room(check))

    def _expect_ends(self, check: _Check) -> None:
        """The first and the last value of an index are in range."""
        first = self.number(0)
        last = self.rebuild.builder.map("sub", self.trips, self.number(1))
        for counter in (first, last):
            self._expect_below(self._at(check.index, counter), self._room(check))
        self._expect_no_wrapping(check.index, first)

    def _expect_no_wrapping(self, index: Node, first: Node) -> None:
        """Numbers behind a product, a minimum or a maximum are so few and small that none wraps."""
        steps = [each for each in _steps(index, self.op.body) or () if not _only_adds(each)]
        for step in steps:
            for operand in step.operands:
                is_factor = step.op == Elementwise("mul") and operand.home is not self.op.body
                self._expect_magnitude_below(self._at(operand, first), _MANY if is_factor else _FAR)
        if steps:
            self._expect_magnitude_below(self.trips, _MANY)

    def _at(self, node: Node, counter: Node) -> Node:
        """The value of an index in the iteration of this number."""
        builder = self.rebuild.builder
        if node.home is not self.op.body:
            return builder.reshape(self.rebuild.nodes[node], ())
        if isinstance(node.op, InductionVar):
            return counter
        operands = [self._at(operand, counter) for operand in node.operands]
        return operands[0] if len(operands) == 1 else builder.map(_function(node), *operands)

    def _expect_below(self, number: Node, room: Node) -> None:
        """A number is in range, compared as an unsigned one."""
        builder, unsigned = self.rebuild.builder, DType.UINT64
        found = builder.map("less", builder.cast(number, unsigned), builder.cast(room, unsigned))
        self.conditions.append(found)

    def _expect_magnitude_below(self, number: Node, limit: int) -> None:
        """A number is less than `limit` away from 0."""
        builder = self.rebuild.builder
        moved = builder.map("add", number, builder.scalar(limit, DType.INT64))
        self._expect_below(moved, builder.scalar(2 * limit - 1, DType.INT64))


def _only_adds(step: Node) -> bool:
    return isinstance(step.op, View | Reshape) or _function(step) in ("add", "sub")


def _function(node: Node) -> str:
    return op_of(node, Elementwise).function
