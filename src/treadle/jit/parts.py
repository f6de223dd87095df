"""Lists of elements that differ, and optionals that may be empty, as tensors: their parts.

    sequence   flat, ends, shapes    the elements one after the other, T[N]; where each begins and
                                     the last one ends, int64[n + 1]; their shapes, int64[n, rank]
    optional   there, *parts         whether it has an element, bool; the element, or its parts, of
                                     any value where it has none

A region is written anew with the parts in their place, through its loops and branches. What takes
them apart, puts them together and works on them are leaves of the domain PARTS, under the names of
the standard's operators, each value replaced by its parts: see lower/parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from treadle import ir
from treadle.infer import is_scan
from treadle.ir import Block, Branch, Claim, DType, Leaf, Loop, Operands, Step, Tensor, Value
from treadle.jit.lists import LISTS
from treadle.jit.nodes import NATIVE, Declined

PARTS = "treadle.parts"
APART, TOGETHER = "Apart", "Together"
KNOWN = "known_extents"
_OPERATORS = LISTS | {"Identity"}


def apart(block: Block) -> Block | None:
    """The block with parts for lists and optionals inside; None where it has none to be told of.

    Its params and results stay what they were.
    """
    kinds = _Kinds.of(block)
    writing = _Writing(kinds)
    if not any(kinds.kind(value) for value in kinds.found):
        return None
    begun = [writing.apart(value) for value in block.params if writing.is_split(value)]
    steps = [made for step in block.steps for made in writing.step(step)]
    results = dict.fromkeys(v for v in block.results if v is not None and writing.is_split(v))
    made = [value for value in results if value not in block.params]
    ended = [writing.together(value, value) for value in made]
    return replace(block, steps=(*begun, *steps, *ended))


def tensors(parts: Operands) -> list[Tensor]:
    """The types of parts."""
    types = [part.type for part in parts if part is not None]
    found = [type_ for type_ in types if isinstance(type_, Tensor)]
    assert len(found) == len(parts), "parts are tensors"
    return found


def elements(parts: Operands) -> tuple[DType, int]:
    """The dtype and the rank of the elements of a list of which those are the parts."""
    *_, flat, _, shapes = tensors(parts)
    rank = shapes.shape[1] if shapes.shape is not None else None
    assert flat.dtype is not None
    assert isinstance(rank, int)
    return flat.dtype, rank


def nothing(type_: Tensor) -> np.ndarray:
    """What an empty optional has for the part of this type; of extents nobody knows none."""
    assert type_.dtype is not None
    shape = [dim if isinstance(dim, int) else 0 for dim in type_.shape or ()]
    return np.zeros(shape, type_.dtype.numpy)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a list or an optional is made of: elements of a dtype and shape; None: not known."""

    is_list: bool
    element: Tensor

    @property
    def parts(self) -> dict[str, Tensor]:
        """What there is for an element, or for a list of them, by name."""
        dtype, shape = self.element.dtype, self.element.shape
        if not self.is_list:
            return {"value": Tensor(dtype, shape)}
        rank = len(shape or ())
        whole = DType.INT64
        return {
            "flat": Tensor(dtype, (None,)),
            "ends": Tensor(whole, (None,)),
            "shapes": Tensor(whole, (None, rank)),
        }


@dataclass(eq=False, slots=True)
class _Kinds:
    """The lists and optionals of a block, those of one kind in one set, and what is known of it."""

    found: dict[Value, Value] = field(default_factory=dict)
    facts: dict[Value, list[ir.Type]] = field(default_factory=dict)

    @classmethod
    def of(cls, block: Block) -> _Kinds:
        """What the steps of the block and of its bodies tell."""
        kinds = cls()
        for value in (*block.params, *block.results):
            kinds._meet(value)
        for visit in ir.walk_block(block):
            kinds._read(visit.step)
        return kinds

    def kind(self, value: Value | None) -> Kind | None:
        """What the value is made of; None for a tensor, and where that is not known."""
        if value is None or value not in self.found:
            return None
        facts = self.facts.get(self._first(value), [])
        inner = [fact.element if isinstance(fact, ir.Sequence) else fact for fact in facts]
        tensors = [fact for fact in inner if isinstance(fact, Tensor)]
        dtypes = {fact.dtype for fact in tensors if fact.dtype is not None}
        shapes = [fact.shape for fact in tensors if fact.shape is not None]
        if len(dtypes) != 1 or not dtypes <= NATIVE or len({*map(len, shapes)}) != 1:
            return None
        shape = tuple(dims[0] if len({*dims}) == 1 else None for dims in zip(*shapes, strict=True))
        is_sequence = any(isinstance(fact, ir.Sequence) for fact in facts)
        return Kind(is_sequence, Tensor(dtypes.pop(), shape))

    def _read(self, step: Step) -> None:
        for value in (*step.results, *ir.reads(step)):
            self._meet(value)
        match step:
            case Leaf() if step.op in _OPERATORS and not step.domain:
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

    def _alike_each(self, *values: Operands) -> None:
        for same in zip(*values, strict=True):
            self._alike(same)

    def _meet(self, value: Value | None) -> None:
        if value is None or value in self.found or not _is_composed(value):
            return
        self.found[value] = value
        for type_ in (value.inferred or value.declared,):
            while isinstance(type_, ir.Optional):
                type_ = type_.element
            if type_ is not None:
                self.facts.setdefault(self._first(value), []).append(type_)

    def _learn(self, value: Value | None, element: Value | None) -> None:
        """The element is one of the list's."""
        type_ = element.type if element is not None else None
        if value is not None and value in self.found and isinstance(type_, Tensor):
            known = self.facts.setdefault(self._first(value), [])
            known.append(ir.Sequence(type_))

    def _alike(self, values: Iterable[Value | None]) -> None:
        """The values are of one kind; of a tensor that an optional has, its type is known."""
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
                self.facts.setdefault(one, []).extend(self.facts.pop(other, []))

    def _first(self, value: Value) -> Value:
        while self.found[value] is not value:
            value = self.found[value]
        return value


def _known(kind: Kind) -> dict[str, ir.Attribute]:
    """The extents of the elements of a list as an attribute, -1 for one that is not known."""
    extents = [dim if isinstance(dim, int) else -1 for dim in kind.element.shape or ()]
    return {KNOWN: ir.attribute(KNOWN, extents)} if kind.is_list and extents else {}


def _is_composed(value: Value) -> bool:
    return isinstance(value.type, ir.Sequence | ir.Optional)


@dataclass(eq=False, slots=True)
class _Writing:
    """What has been written: the parts of every list and optional met so far."""

    kinds: _Kinds
    made: dict[Value, tuple[Value, ...]] = field(default_factory=dict)

    def is_split(self, value: Value | None) -> bool:
        """Whether the value is known by its parts."""
        return self.kinds.kind(value) is not None

    def parts(self, value: Value | None) -> tuple[Value | None, ...]:
        """The parts of a list or an optional; of anything else itself."""
        kind = self.kinds.kind(value)
        if value is None or kind is None:
            return (value,)
        if value not in self.made:
            types = kind.parts
            if isinstance(value.type, ir.Optional):
                types = {"there": Tensor(DType.BOOL, ()), **types}
            self.made[value] = tuple(
                Value(f"{value.name}.{name}", None, type_) for name, type_ in types.items()
            )
        return self.made[value]

    def all_parts(self, values: Iterable[Value | None]) -> tuple[Value | None, ...]:
        """Those of several values."""
        return tuple(part for value in values for part in self.parts(value))

    def apart(self, value: Value) -> Leaf:
        """The step that takes a value apart."""
        kind = self.kinds.kind(value)
        assert kind is not None, "what is taken apart is of a kind"
        return Leaf(PARTS, APART, 1, (value,), self.parts(value), _known(kind))

    def together(self, value: Value, result: Value) -> Leaf:
        """The step that puts the parts of a value together."""
        return Leaf(PARTS, TOGETHER, 1, self.parts(value), (result,))

    def step(self, step: Step) -> Iterator[Step]:
        """The step with the parts in their place."""
        concerned = any(map(self.is_split, (*step.results, *ir.reads(step))))
        match step:
            case Loop():
                yield self._loop(step)
            case Branch():
                yield self._branch(step)
            case Leaf() if not concerned:
                yield step
            case Leaf() if step.op in _OPERATORS and not step.domain:
                yield self._leaf(step)
            case _ if concerned:
                raise Declined(f"{ir.operator_of(step)} of a list")
            case _:
                yield step

    def _leaf(self, leaf: Leaf) -> Leaf:
        """The operator of parts; of what is no optional, though it might be, no word is said."""
        op, operands = leaf.op, self.all_parts(leaf.operands)
        first = leaf.operands[0] if leaf.operands else None
        is_optional = first is not None and isinstance(first.type, ir.Optional)
        if op == "OptionalHasElement":
            operands = operands[:1] if is_optional else ()
        if op == "OptionalGetElement" and not is_optional:
            op = "Identity"
        results = self.all_parts(leaf.results)
        kinds = map(self.kinds.kind, (*leaf.operands, *leaf.results))
        given = {**leaf.attributes, **_known(next(filter(None, kinds)))}
        return replace(
            leaf, domain=PARTS, op=op, operands=operands, results=results, attributes=given
        )

    def _block(self, block: Block) -> Block:
        params = [part for part in self.all_parts(block.params) if part is not None]
        steps = [made for step in block.steps for made in self.step(step)]
        claims = [
            claim if not self.is_split(value) else Claim()
            for claim, value in zip(block.claims, block.results, strict=bool(block.claims))
            for _ in self.parts(value)
        ]
        results = self.all_parts(block.results)
        return replace(
            block, params=tuple(params), steps=tuple(steps), results=results, claims=tuple(claims)
        )

    def _branch(self, step: Branch) -> Branch:
        for given in zip(step.results, step.then.results, step.otherwise.results, strict=True):
            self._expect_alike(given)
        return replace(
            step,
            then=self._block(step.then),
            otherwise=self._block(step.otherwise),
            operands=self.all_parts(step.operands),
            results=self.all_parts(step.results),
        )

    def _loop(self, step: Loop) -> Loop:
        view = ir.ports(step)
        if is_scan(step) and any(self.is_split(port.param) for port in view.carried):
            raise Declined("a state of a Scan that is no tensor")
        for port in view.carried:
            self._expect_alike((port.initial, port.next, port.param, port.result))
        pairs = zip(step.roles, step.body.params, strict=True)
        roles = [role for role, param in pairs for _ in self.parts(param)]
        return replace(
            step,
            roles=tuple(roles),
            operands=self.all_parts(step.operands),
            body=self._block(step.body),
            results=(*self._last(view), *step.results[len(view.carried) :]),
        )

    def _expect_alike(self, values: Operands) -> None:
        """There are as many parts of each that is there."""
        counts = {len(self.parts(value)) for value in values if value is not None}
        if len(counts) > 1:
            raise Declined("a list that comes or goes")

    def _last(self, view: ir.Ports) -> Iterator[Value | None]:
        """What carried values end as, an absent value for each part of what nobody reads."""
        for port in view.carried:
            parts = self.parts(port.param)
            yield from (None,) * len(parts) if port.result is None else self.parts(port.result)
