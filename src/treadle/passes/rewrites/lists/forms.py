"""The tensors that stand for each list and optional: the same for all values that meet.

Lists meet where one is the other with an element more or less, in the carried values of a loop, and
in the results of an If. All elements that any of them ever holds decide their form together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeGuard

from treadle.ir import (
    Block,
    Branch,
    Dim,
    DType,
    Leaf,
    Loop,
    Optional,
    Sequence,
    Step,
    Tensor,
    Type,
    Value,
    operator_of,
    ports,
    reads,
)
from treadle.passes.obstacles import Obstacles
from treadle.passes.rewrites.paths import marked_path
from treadle.passes.simplify.captures import all_steps
from treadle.passes.simplify.context import PassContext

_HINT = "give the elements as one tensor"
_SOURCES = ("SequenceEmpty", "SplitToSequence")
_JOINS = ("SequenceInsert", "SequenceErase", "Identity", "Optional", "OptionalGetElement")
_READERS = ("SequenceAt", "SequenceLength", "ConcatFromSequence", "OptionalHasElement")
OPERATORS = frozenset(("SequenceConstruct", *_SOURCES, *_JOINS, *_READERS))
"""The operators on lists and optionals that have a form in tensors."""


class Parts(NamedTuple):
    """The tensors of one list or optional.

    `content`: [count, *extents], the elements padded with zeros at the end of each axis, or the
    value of an optional tensor. `lengths`: int64 [count, rank], the shape of each element; None if
    all have the shape of the form. `present`: bool scalar of an optional.
    """

    content: Value
    lengths: Value | None = None
    present: Value | None = None

    @property
    def values(self) -> tuple[Value, ...]:
        """The tensors there are, in order."""
        return tuple(value for value in self if value is not None)


class Form(NamedTuple):
    """The form of a list or optional; `dims` are the extents of an element, None if they vary."""

    dtype: DType
    dims: tuple[int | None, ...]
    is_list: bool
    is_optional: bool

    @property
    def is_ragged(self) -> bool:
        """Whether the elements need lengths."""
        return self.is_list and None in self.dims

    def new(self, name: str) -> Parts:
        """New values for a list of this name."""
        content = Tensor(self.dtype, (None, *self.dims) if self.is_list else None)
        lengths = Tensor(DType.INT64, (None, len(self.dims)))
        return Parts(
            Value(name, content),
            Value(f"{name}@lengths", lengths) if self.is_ragged else None,
            Value(f"{name}@present", Tensor(DType.BOOL, ())) if self.is_optional else None,
        )


def is_list(type_: Type | None) -> bool:
    """Whether a value of this type is a list or an optional."""
    return isinstance(type_, Sequence | Optional)


def element_of(type_: Type | None) -> Type | None:
    """The type of the tensors that a list, an optional, or an optional list holds."""
    while isinstance(type_, Sequence | Optional):
        type_ = type_.element
    return type_


class _Element(NamedTuple):
    """The type of an element, and the step that gives it to a list; `op` is "" for an input."""

    path: str
    op: str
    type: Type | None

    def __str__(self) -> str:
        return f"{self.op} gives an element" if self.op else "an input gives elements"


@dataclass(slots=True)
class _Group:
    """Lists that meet: their elements, and the types of what the empty ones may hold."""

    name: str
    path: str
    elements: list[_Element] = field(default_factory=list)
    empties: list[Type | None] = field(default_factory=list)
    has_sequence: bool = False

    def take(self, other: _Group) -> None:
        self.elements += other.elements
        self.empties += other.empties
        self.has_sequence |= other.has_sequence

    def dtype(self) -> DType | None:
        types = (*(each.type for each in self.elements), *self.empties)
        found = (type_.dtype for type_ in types if isinstance(type_, Tensor))
        return next((dtype for dtype in found if dtype is not None), None)

    def ranks(self) -> set[int | None]:
        return {_rank(each.type) for each in self.elements}

    def dims(self) -> tuple[int | None, ...]:
        """The extents that all elements have; () for an optional of several ranks."""
        types = [each.type for each in self.elements]
        shapes = [t.shape for t in types if isinstance(t, Tensor) and t.shape is not None]
        if len(self.ranks()) != 1 or not shapes:
            return ()
        return tuple(_common(extents) for extents in zip(*shapes, strict=True))

    def tell_why_not(self, told: Obstacles) -> None:
        """Every step that keeps the lists from having a form joins the obstacles."""
        what = f"{self.name}, a list or an optional"
        if self.dtype() is None:
            told.add(self.path, f"the element type of {what}, is not known", _HINT)
        ranks = self.ranks() - {None}
        words = " and ".join(map(str, sorted(rank for rank in ranks if rank is not None)))
        for each in self.elements:
            if not isinstance(each.type, Tensor | None):
                told.add(each.path, f"{each} that is no tensor to {what}", _HINT)
            elif self.has_sequence and _rank(each.type) is None:
                told.add(each.path, f"{each} of unknown rank to {what}", _HINT)
            elif self.has_sequence and len(ranks) > 1:
                rank = _rank(each.type)
                told.add(
                    each.path,
                    f"{each} of rank {rank} to {what}, whose elements have ranks {words}",
                    _HINT,
                )


def _rank(type_: Type | None) -> int | None:
    shape = type_.shape if isinstance(type_, Tensor) else None
    return None if shape is None else len(shape)


def _common(extents: tuple[Dim, ...]) -> int | None:
    first = extents[0]
    return first if isinstance(first, int) and all(each == first for each in extents) else None


class Forms:
    """Finds the form of every list of an open block."""

    def __init__(self, at: PassContext) -> None:
        self._at = at
        self._above: dict[Value, Value] = {}
        self._groups: dict[Value, _Group] = {}

    @classmethod
    def of(cls, block: Block, at: PassContext, told: Obstacles) -> Forms:
        """The forms of all lists; obstacles are those without one, and operators without one."""
        made = cls(at)
        for param in filter(made.has, block.params):
            made._join(param, "main")
            type_ = element_of(at.type(param))
            made._groups[made._root(param)].elements.append(_Element("main", "", type_))
        for step in all_steps(block):
            made._look(step, told)
        for group in made._groups.values():
            group.tell_why_not(told)
        return made

    def has(self, value: Value | None) -> TypeGuard[Value]:
        """Whether the value is a list or an optional."""
        return value is not None and is_list(self._at.type(value))

    def form(self, value: Value) -> Form:
        """The form of a list or optional."""
        type_ = self._at.type(value)
        group = self._groups[self._root(value)]
        dtype = group.dtype()
        assert dtype is not None, "an unknown element type is an obstacle"
        inner = type_.element if isinstance(type_, Optional) else type_
        is_optional = isinstance(type_, Optional)
        return Form(dtype, group.dims(), isinstance(inner, Sequence), is_optional)

    def _look(self, step: Step, told: Obstacles) -> None:
        path = marked_path(step)
        for value in filter(self.has, (*reads(step), *step.results)):
            self._join(value, path)
        match step:
            case Leaf(domain="", op=op) if op in OPERATORS:
                self._look_at_leaf(step)
            case Loop():
                for port in ports(step).carried:
                    self._meet(path, port.initial, port.param, port.next, port.result)
            case Branch():
                both = zip(step.results, step.then.results, step.otherwise.results, strict=True)
                for values in both:
                    self._meet(path, *values)
            case _ if any(map(self.has, (*reads(step), *step.results))):
                told.add(path, f"{operator_of(step)} reads or gives a list or an optional", _HINT)

    def _look_at_leaf(self, step: Leaf) -> None:
        result, path = step.results[0] if step.results else None, marked_path(step)
        first = step.operands[0] if step.operands else None
        if self.has(result) and self.has(first):
            self._meet(path, first, result)
        if not self.has(result):
            return
        group = self._groups[self._root(result)]
        if step.op == "SequenceEmpty" or first is None:
            group.empties.append(element_of(self._at.type(result)))
            return
        given: list[Type | None] = []
        if step.op == "SplitToSequence":
            given = [element_of(self._at.type(result))]
        elif step.op == "SequenceConstruct" or (step.op == "Optional" and not self.has(first)):
            given = [self._at.type(value) for value in step.operands]
        elif step.op == "SequenceInsert":
            given = [self._at.type(step.operands[1])]
        group.elements += [_Element(path, step.op, type_) for type_ in given]

    def _join(self, value: Value, path: str) -> None:
        group = self._groups.setdefault(self._root(value), _Group(value.name, path))
        type_ = self._at.type(value)
        inner = type_.element if isinstance(type_, Optional) else type_
        group.has_sequence |= isinstance(inner, Sequence)

    def _meet(self, path: str, *values: Value | None) -> None:
        lists = list(filter(self.has, values))
        for value in lists:
            self._join(value, path)
        for other in lists[1:]:
            kept, root = self._root(lists[0]), self._root(other)
            if root is not kept:
                self._above[root] = kept
                self._groups[kept].take(self._groups.pop(root))

    def _root(self, value: Value) -> Value:
        path = [value]
        while path[-1] in self._above:
            path.append(self._above[path[-1]])
        self._above.update((each, path[-1]) for each in path[:-1])
        return path[-1]
