"""Finds the values of a block that are sequences or optionals, and their element types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from treadle import ir
from treadle.ir import Block, Branch, Leaf, Loop, Operands, Step, Tensor, Value
from treadle.jit.host.sequence_layout import OPERATORS, SequenceLayout
from treadle.jit.kernel.node_builder import NATIVE


@dataclass(eq=False, slots=True)
class ElementTypes:
    """Union-find over a block's lists and optionals: values of one kind are in one set.

    `extents` are the extents that a run has for names.
    """

    extents: Mapping[ir.Dim, int]
    found: dict[Value, Value] = field(default_factory=dict)
    facts: dict[Value, list[ir.Type]] = field(default_factory=dict)
    claims: dict[Value, list[ir.Type]] = field(default_factory=dict)

    @classmethod
    def of(cls, block: Block, extents: Mapping[ir.Dim, int]) -> ElementTypes:
        """Collect the facts from the steps of the block and its bodies."""
        kinds = cls(extents)
        for value in (*block.params, *block.results):
            kinds._meet(value)
        kinds._hear(block)
        for visit in ir.walk_block(block):
            kinds._read(visit.step)
            for _, body in ir.bodies(visit.step):
                kinds._hear(body)
        return kinds

    def kind(self, value: Value | None) -> SequenceLayout | None:
        """The layout of the value; None for a tensor, and if it is unknown."""
        if value is None or value not in self.found:
            return None
        first = self._first(value)
        facts = self.facts.get(first, [])
        if not any(map(_is_told, facts)):
            facts = [*facts, *self.claims.get(first, [])]
        inner = [fact.element if isinstance(fact, ir.Sequence) else fact for fact in facts]
        tensors = [fact for fact in inner if isinstance(fact, Tensor)]
        dtypes = {fact.dtype for fact in tensors if fact.dtype is not None}
        shapes = [fact.shape for fact in tensors if fact.shape is not None]
        if len(dtypes) != 1 or not dtypes <= NATIVE or len({*map(len, shapes)}) != 1:
            return None
        known = [[self.extents.get(dim, dim) for dim in shape] for shape in shapes]
        shape = tuple(dims[0] if len({*dims}) == 1 else None for dims in zip(*known, strict=True))
        is_sequence = any(isinstance(fact, ir.Sequence) for fact in facts)
        return SequenceLayout(is_sequence, Tensor(dtypes.pop(), shape))

    def _read(self, step: Step) -> None:
        for value in (*step.results, *ir.reads(step)):
            self._meet(value)
        match step:
            case Leaf() if step.op in OPERATORS and not step.domain:
                self._read_leaf(step)
            case Loop():
                view = ir.ports(step)
                for port in view.carried:
                    self._alike((port.initial, port.param, port.next, port.result))
                for inner in view.invariants:
                    self._alike((inner.operand, inner.param))
            case Branch():
                self._alike_each(step.operands, step.then.params, step.otherwise.params)
                self._alike_each(step.results, step.then.results, step.otherwise.results)

    def _read_leaf(self, leaf: Leaf) -> None:
        first, result = (leaf.operands or (None,))[0], leaf.results[0]
        if leaf.op in ("Identity", "SequenceErase", "SequenceInsert", "Optional"):
            self._alike((first, result))
        if leaf.op == "OptionalGetElement":
            self._alike((first, result))
        if leaf.op == "SequenceInsert":
            self._learn(first, leaf.operands[1])
        if leaf.op == "SequenceAt":
            self._learn(first, result)
        if leaf.op == "SequenceConstruct":
            for operand in leaf.operands:
                self._learn(result, operand)

    def _hear(self, block: Block) -> None:
        """Use the declared types of a block's params and results where nothing else is known."""
        ends = zip(block.results, block.claims, strict=bool(block.claims))
        said = [*((value, value.declared) for value in block.params),
                *((value, claim.type) for value, claim in ends)]  # fmt: skip
        for value, type_ in said:
            if value is not None and value in self.found and type_ is not None:
                self.claims.setdefault(self._first(value), []).append(_ranked(type_))

    def _alike_each(self, *values: Operands) -> None:
        for same in zip(*values, strict=True):
            self._alike(same)

    def _meet(self, value: Value | None) -> None:
        if value is None or value in self.found or not _is_composed(value):
            return
        self.found[value] = value
        type_ = _inner(value.type)
        if type_ is not None:
            self.facts.setdefault(self._first(value), []).append(type_)

    def _learn(self, value: Value | None, element: Value | None) -> None:
        """Record that the element is one of the list's."""
        type_ = element.type if element is not None else None
        if value is not None and value in self.found and isinstance(type_, Tensor):
            known = self.facts.setdefault(self._first(value), [])
            known.append(ir.Sequence(type_))

    def _alike(self, values: Iterable[Value | None]) -> None:
        """Record that the values have one kind; for an optional of a tensor, its type is known."""
        present = [value for value in values if value is not None]
        for value in present:
            self._meet(value)
        roots = [self._first(value) for value in present if value in self.found]
        for value in present:
            if roots and value not in self.found and value.type is not None:
                self.facts.setdefault(roots[0], []).append(value.type)
        for root in roots[1:]:
            one, other = self._first(roots[0]), self._first(root)
            if one is not other:
                self.found[other] = one
                for known in (self.facts, self.claims):
                    known.setdefault(one, []).extend(known.pop(other, []))

    def _first(self, value: Value) -> Value:
        while self.found[value] is not value:
            value = self.found[value]
        return value


def _is_composed(value: Value) -> bool:
    return isinstance(value.type, ir.Sequence | ir.Optional)


def _inner(type_: ir.Type | None) -> ir.Type | None:
    """The element type of an optional."""
    while isinstance(type_, ir.Optional):
        type_ = type_.element
    return type_


def _ranked(type_: ir.Type) -> ir.Type:
    """The trusted part of a declared type: without extents, whose checks would cost runs."""
    match _inner(type_):
        case Tensor(dtype, tuple() as shape):
            return Tensor(dtype, (None,) * len(shape))
        case ir.Sequence(Tensor(dtype, tuple() as shape)):
            return ir.Sequence(Tensor(dtype, (None,) * len(shape)))
    return type_


def _is_told(fact: ir.Type) -> bool:
    """Whether the rank of the elements is known."""
    element = fact.element if isinstance(fact, ir.Sequence) else fact
    return isinstance(element, Tensor) and element.shape is not None
