"""Wavefronts: a recurrence over a grid, a loop over rows around a Scan, by antidiagonals.

    lane r of a vector computes row i + r, r columns behind lane 0

Lawful where no distance from a cell to one that it is computed from is negative along either loop:
the cell above (1, 0), the one before (0, 1), the one before that (1, 1). The rest are requirements
of the code: the outer loop carries rows that the inner one stacks, and stacks only such rows, some
of them behind a border of numbers; everything else that an inner iteration reads is a scalar of its
row, an element of an invariant of both loops, or carried along the row; its functions have vector
forms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from treadle.ir import DType
from treadle.jit.kernel.element_types import SIXTEEN_BIT_FLOATS
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    CarriedArg,
    Concat,
    Elementwise,
    Gather,
    InductionVar,
    Loop,
    Node,
    Reshape,
    Result,
    ScanSlice,
    Stack,
    Take,
    View,
    op_of,
)
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.dependence import dependence_of
from treadle.jit.schedule.loops.facts import LoopFacts, has_lanes

_GROUP_BYTES, _LEAST_ROWS = 2048, 8
"""The bytes of a value of all rows in work; fewer rows take as long one after the other."""
_LEAST_LANES = 8
"""A vector has at most half as many lanes as a row has elements, but no fewer than these."""
_LEAST_STEPS = 256
"""After that number of steps at least, items of arrays that are still needed are moved."""
_ROW_OPS = InductionVar | ScanSlice | Elementwise | Reshape | CarriedArg | View


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """Rows of cells that the outer loop stacks, each behind a border of these numbers."""

    border: tuple[Node, ...]
    row: Node


@dataclass(frozen=True, eq=False, slots=True)
class Wavefront:
    """A loop over rows and the loop along them; `carried` are the rows that the outer loop carries.

    `lanes` rows are in a vector, and at most `group` in work at once.
    `numbers` are the scalars of the outer body that the inner loop reads, `tables` what the outer
    loop stacks.
    """

    rows: Node
    along: Node
    carried: tuple[Node, ...]
    width: int
    lanes: int
    group: int
    numbers: tuple[Node, ...]
    tables: tuple[Table, ...]

    def __str__(self) -> str:
        return f"wavefront of up to {self.group} rows of {self.width}"

    @property
    def steps(self) -> int:
        """The steps for which there is room for items of arrays, a power of two."""
        return max(_LEAST_STEPS, 1 << (self.group - 1).bit_length())

    @property
    def outer(self) -> Loop:
        """The loop over rows."""
        return op_of(self.rows, Loop)

    @property
    def inner(self) -> Loop:
        """The loop along a row."""
        return op_of(self.along, Loop)

    @property
    def initials(self) -> tuple[Node, ...]:
        """The first values of what the inner loop carries."""
        return self.along.operands[self.inner.heads :]

    def element(self, row: Node) -> Node:
        """The cell that becomes an element of a carried row, or of the row's next value."""
        states = self.outer.states
        after = self.outer.nexts[states.index(row)] if row in states else row
        return self.inner.stacks[op_of(after, Result).number - len(self.inner.states)].element

    @property
    def own(self) -> list[Node]:
        """The nodes of the outer body that do not depend on the loop along the row."""
        stacked = {stack.element for stack in self.outer.stacks}
        return [
            node
            for node in self.outer.body.nodes
            if node is not self.along
            and node.operands[:1] != (self.along,)
            and not (node in stacked and isinstance(node.op, Concat))
        ]


def wavefront_of(facts: LoopFacts) -> Wavefront | str:
    """The grid of a loop over rows, or why it is none."""
    outer = facts.op
    inside = [node for node in outer.body.nodes if isinstance(node.op, Loop | Branch)]
    if len(inside) != 1 or not isinstance(inside[0].op, Loop):
        return "it is not around a single loop"
    if not outer.is_counted:
        return "it has a condition"
    along, inner = inside[0], inside[0].op
    counts = (n for n in (outer.length, outer.extent) if isinstance(n, int))
    if min(counts, default=_LEAST_ROWS) < _LEAST_ROWS:
        return "the rows are few"
    if not _is_plain(inner) or not isinstance(inner.length, int):
        return "the inner loop is no Scan of scalars of known length"
    pairs = zip(outer.states, outer.nexts, strict=True)
    rows = [state for state, after in pairs if _is_row(state, after, along)]
    afters = {outer.nexts[outer.states.index(row)] for row in rows}
    if not rows or len(rows) != len(afters):
        return "it carries no rows of the inner loop"
    tables = tuple(table for stack in outer.stacks if (table := _table(stack, along)) is not None)
    if len(tables) < len(outer.stacks):
        return "it stacks something else than rows of the inner loop, one below the other"
    if not afters.union(table.row for table in tables).issuperset(_rows_of(outer, along)):
        return "it computes with rows of the inner loop"
    lanes, group = _lanes(outer, inner, facts.target)
    initials = along.operands[inner.heads :]
    numbers = tuple(dict.fromkeys(_numbers(inner, initials, outer.body)))
    grid = Wavefront(facts.node, along, tuple(rows), inner.length, lanes, group, numbers, tables)
    if inner.length < 2 * lanes or any(facts.is_in_registers(row) for row in rows):
        return "the rows are short"
    return _obstacle(facts, grid) or grid


def grid_distances(grid: Wavefront) -> set[tuple[int | str, int | str]]:
    """The distances (rows, columns) from a cell to those it is computed from; `?`: unknown."""
    inner, found = grid.inner, set[tuple[int | str, int | str]]()
    flow = dependence_of(inner)
    readers = (n for n in inner.body.nodes if not set(grid.carried).isdisjoint(n.operands))
    rows_read = {node: _shift(node) for node in readers}
    found |= {(1, shift) for shift in rows_read.values()}
    for state, after in zip(inner.states, inner.nexts, strict=True):
        if not any(state in flow.states_of(stack.element) for stack in inner.stacks):
            continue
        shift = rows_read.get(after)
        found.add((0, 1) if shift is None else (1, shift + 1 if isinstance(shift, int) else "?"))
    return found


def _shift(node: Node) -> int | str:
    """How many columns before the iteration's a node reads the row."""
    return 0 if node.op == ScanSlice(0, reverse=False) else "?"


def _is_plain(inner: Loop) -> bool:
    """A Scan that stacks scalars and carries scalars."""
    is_known = not inner.has_trip or inner.extent == inner.length
    if not is_known or not inner.is_counted:
        return False
    is_forward = not any(stack.reverse for stack in inner.stacks)
    values = (*inner.states, *(stack.element for stack in inner.stacks))
    return is_forward and all(
        v.is_static and v.size == 1 and v.dtype not in SIXTEEN_BIT_FLOATS for v in values
    )


def _is_row(state: Node, after: Node, along: Node) -> bool:
    return _is_row_of(after, along) and len(state.shape) == 1


def _rows_of(outer: Loop, along: Node) -> list[Node]:
    """The rows that the inner loop stacks, as far as they are read."""
    found = (node for node in outer.body.nodes if node.operands[:1] == (along,))
    return [node for node in found if _is_row_of(node, along)]


def _is_row_of(node: Node, along: Node) -> bool:
    is_result = isinstance(node.op, Result) and node.operands[0] is along
    return is_result and len(node.shape) == 1


def _table(stack: Stack, along: Node) -> Table | None:
    """The table that a stack is; None if it has not all rows of a kind, one after the other."""
    row, border = stack.element, tuple[Node, ...]()
    if stack.axis != 0 or stack.reverse:
        return None
    if isinstance(row.op, Concat) and row.is_static:
        *numbers, row = row.operands
        border = tuple(numbers)
        if not all(each.is_single for each in border):
            return None
    is_row = _is_row_of(row, along) and op_of(row, Result).number >= len(op_of(along, Loop).states)
    return Table(border, row) if is_row else None


def _lanes(outer: Loop, inner: Loop, target: Target) -> tuple[int, int]:
    """The rows in a vector, and those in work at once."""
    assert isinstance(inner.length, int)
    size = max(stack.element.dtype.numpy.itemsize for stack in inner.stacks)
    lanes, rows = target.vector_bytes // size, _GROUP_BYTES // size
    while 2 * lanes > inner.length and lanes > _LEAST_LANES:
        lanes //= 2
    if isinstance(outer.extent, int):
        rows = min(rows, -(-outer.extent // lanes) * lanes)
    return lanes, rows


def _numbers(inner: Loop, initials: Sequence[Node], body: Block) -> Iterator[Node]:
    """The values of the outer body that the loop along the row reads, one per row."""
    ends = (*inner.nexts, *(stack.element for stack in inner.stacks))
    yield from (value for value in (*initials, *ends) if value.home is body)
    for node in inner.body.nodes:
        if not isinstance(node.op, ScanSlice):
            yield from (operand for operand in node.operands if operand.home is body)


def _obstacle(facts: LoopFacts, grid: Wavefront) -> str:
    """What keeps the grid from being computed by antidiagonals; "" if nothing does."""
    outer, rows = grid.outer, grid.carried
    pairs = zip(outer.states, outer.nexts, strict=True)
    others = [after for state, after in pairs if state not in rows]
    own = [node for node in grid.own if node not in rows]
    late = _after(grid)
    borders = [each for table in grid.tables for each in table.border]
    for node in (*others, *own, *grid.numbers, *borders):
        if not facts.is_in_registers(node):
            return f"{word_of(node)} of the outer loop is an array"
        if node in late or not facts.dependence.states_of(node).isdisjoint(rows):
            return f"{word_of(node)} of the outer loop depends on the row"
    if not all(isinstance(node.op, _ROW_OPS) for node in own):
        return "the outer loop has other operations than scalar ones"
    if any(not n.is_single or n.dtype is DType.BOOL for n in grid.numbers):
        return "the inner loop reads bools or several numbers of the outer one"
    is_item = partial(_is_item, grid=grid)
    rigid = next((node for node in grid.inner.body.nodes if not has_lanes(node, is_item)), None)
    if rigid is not None:
        return f"{word_of(rigid)} has no vector form"
    unlawful = [d for d in grid_distances(grid) if "?" in d or min(map(int, d)) < 0]
    return f"a cell is at distance {unlawful[0]} of one that it reads" if unlawful else ""


def _after(grid: Wavefront) -> set[Node]:
    """The nodes of the outer body that are computed from results of the inner loop."""
    late = {grid.along}
    for node in grid.outer.body.nodes:
        if not late.isdisjoint(node.operands):
            late.add(node)
    return late


def _is_item(op: ScanSlice | Take | Gather, source: Node, grid: Wavefront) -> bool:
    is_outside = source.home.depth < grid.outer.body.depth
    if not isinstance(op, ScanSlice):
        is_number = source.dtype not in (DType.BOOL, *SIXTEEN_BIT_FLOATS)
        return op.is_in_range and is_outside and is_number
    is_list = len(source.shape) == 1 and (source in grid.carried or is_outside)
    return is_list and op == ScanSlice(0, reverse=False)
