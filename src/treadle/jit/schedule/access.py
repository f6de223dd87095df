"""The access algebra: which elements of its operands a node reads, for each of its own elements.

    %c: float32[8,4] = view (i0+1, i1) of %a          reads %a at (i0+1, i1)
    %d: float32[4] = scan slice along 0 of %c         reads %c at (t1, i0)
    %e: float32[8] = reduce add over (1) of %c        reads %c at (i0, *)
    %f: float32[4] = take along 0 of %c at %index     reads %c at (?, i0)

An index is affine in the reader's own index (i0, i1 ...), the counters of the loops around it (t1
is that of a loop in the main block, t2 that of a loop inside it), and dims; or it is every index of
the axis (*), or it depends on data (?). Accesses compose: what a node reads through a view is the
composition of both maps.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Constant,
    Elementwise,
    InductionVar,
    InputDim,
    Node,
    Number,
    Reshape,
    SymbolicDim,
    View,
)

Variable = int | Block | SymbolicDim
"""An axis of the reader's own index, the counter of the loop with that body, or a dim."""
_WHOLE = (DType.INT64, DType.INT32)


class Span(enum.Enum):
    """An index that is no affine function: each index of the axis, or one that depends on data."""

    EVERY = "*"
    COMPUTED = "?"


@dataclass(frozen=True, slots=True)
class AffineIndex:
    """offset + sum(step * variable); no variable twice, no step 0."""

    offset: int = 0
    terms: tuple[tuple[Variable, int], ...] = ()

    def plus(self, other: AffineIndex, factor: int = 1) -> AffineIndex:
        """The sum of this index and `factor` times the other one."""
        steps = dict(self.terms)
        for variable, step in other.terms:
            steps[variable] = steps.get(variable, 0) + factor * step
        terms = sorted(((v, s) for v, s in steps.items() if s), key=_rank)
        return AffineIndex(self.offset + factor * other.offset, tuple(terms))

    @property
    def is_constant(self) -> bool:
        """Whether it is the same number everywhere."""
        return not self.terms


Index = AffineIndex | Span
AccessMap = tuple[Index, ...]
"""The index along each axis of the operand."""


def own(axis: int, offset: int = 0) -> AffineIndex:
    """The reader's own index along an axis, shifted."""
    return AffineIndex(offset, ((axis, 1),))


def counter(body: Block) -> AffineIndex:
    """The iteration number of the loop with this body."""
    return AffineIndex(0, ((body, 1),))


def of_number(number: Number) -> AffineIndex:
    """A number or a dim as an index."""
    if isinstance(number, int):
        return AffineIndex(number)
    return AffineIndex(0, ((number, 1),))


def identity(rank: int) -> AccessMap:
    """The access at the reader's own index."""
    return tuple(own(axis) for axis in range(rank))


def shift_of(access: AccessMap, rank: int) -> tuple[int, ...] | None:
    """The offsets of an access from the own index of a reader of this rank; None if others."""
    places = [each for each in access if isinstance(each, AffineIndex)]
    if [each.terms for each in places] != [own(axis).terms for axis in range(rank)]:
        return None
    return tuple(each.offset for each in places)


def composed(outer: AccessMap, inner: AccessMap) -> AccessMap:
    """The access to an operand's operand: `outer` leads to the operand, `inner` on from there."""
    return tuple(_substituted(index, outer) for index in inner)


def with_counter(access: AccessMap, body: Block, value: Index) -> AccessMap:
    """The access with another index in place of a loop's counter."""
    return tuple(_replaced(index, body, value) for index in access)


def _substituted(index: Index, outer: AccessMap) -> Index:
    if isinstance(index, Span):
        return index
    total = AffineIndex(index.offset)
    spans = set[Span]()
    for variable, step in index.terms:
        value: Index = outer[variable] if isinstance(variable, int) else _variable(variable)
        if isinstance(value, Span):
            spans.add(value)
        else:
            total = total.plus(value, step)
    return widest(spans) if spans else total


def _replaced(index: Index, body: Block, value: Index) -> Index:
    step = dict(index.terms).get(body) if isinstance(index, AffineIndex) else None
    if step is None or isinstance(index, Span):
        return index
    if isinstance(value, Span):
        return value
    return index.plus(counter(body), -step).plus(value, step)


def _variable(variable: Block | SymbolicDim) -> AffineIndex:
    return AffineIndex(0, ((variable, 1),))


def widest(indices: Collection[Index]) -> Span:
    """The span that stands for all of these indices."""
    return Span.COMPUTED if Span.COMPUTED in indices else Span.EVERY


def _rank(term: tuple[Variable, int]) -> tuple[int, int, str]:
    variable, _ = term
    if isinstance(variable, int):
        return 0, variable, ""
    return (1, variable.depth, "") if isinstance(variable, Block) else (2, 0, variable.name)


def affine_value(node: Node) -> AffineIndex | None:
    """The value of an integer scalar as an index; None if it is not affine in loop counters."""
    if node.dtype not in _WHOLE or not node.is_single:
        return None
    match node.op:
        case InductionVar():
            return counter(node.home)
        case InputDim(extent):
            return of_number(extent)
        case Constant(array):
            return AffineIndex(int(array.item()))
        case View() | Reshape() | Elementwise("cast"):
            return affine_value(node.operands[0])
        case Elementwise("add" | "sub" | "mul" as function):
            left, right = map(affine_value, node.operands)
            return None if left is None or right is None else _combined(function, left, right)
    return None


def _combined(function: str, left: AffineIndex, right: AffineIndex) -> AffineIndex | None:
    if function != "mul":
        return left.plus(right, 1 if function == "add" else -1)
    if left.is_constant:
        left, right = right, left
    return AffineIndex().plus(left, right.offset) if right.is_constant else None


def of_view_axis(axis: Axis) -> AffineIndex:
    """The index at which a View reads along one axis."""
    total = of_number(axis.offset)
    for number, step in axis.terms:
        total = total.plus(own(number), step)
    return total


def show_access(access: AccessMap) -> str:
    """An access as text: `(i0+1, t1, *)`."""
    return f"({', '.join(map(_show_index, access))})"


def _show_index(index: Index) -> str:
    if isinstance(index, Span):
        return index.value
    return "".join(_signed(index)).removeprefix("+") or "0"


def _signed(index: AffineIndex) -> Iterator[str]:
    for variable, step in index.terms:
        name = _name(variable)
        yield f"{step:+d}*{name}" if abs(step) != 1 else f"{'-' if step < 0 else '+'}{name}"
    if index.offset:
        yield f"{index.offset:+d}"


def _name(variable: Variable) -> str:
    if isinstance(variable, int):
        return f"i{variable}"
    return f"t{variable.depth}" if isinstance(variable, Block) else variable.name


Accesses = Mapping[Node, frozenset[AccessMap]]
"""The nodes that are read, and where."""
