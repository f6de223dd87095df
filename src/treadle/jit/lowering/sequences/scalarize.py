"""Rewrites a region so that sequences and optionals become their component arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from treadle import ir
from treadle.ir import Block, Branch, Declaration, DType, Leaf, Loop, Operands, Step, Tensor, Value
from treadle.jit.host.sequence_layout import OPERATORS, PACK, PARTS_DOMAIN, UNPACK, known_layout
from treadle.jit.kernel.declined import Declined
from treadle.jit.lowering.sequences.element_types import ElementTypes


def scalarize_sequences(block: Block, extents: Mapping[ir.Dim, int]) -> Block | None:
    """Replace lists and optionals inside the block by their parts; None if it has none.

    Its params and results are unchanged. `extents` are the extents that a run has for names.
    """
    kinds = ElementTypes.of(block, extents)
    writing = _Scalarizer(kinds)
    if not any(kinds.kind(value) for value in kinds.found):
        return None
    begun = [writing.scalarized(value) for value in block.params if writing.is_split(value)]
    steps = [made for step in block.steps for made in writing.step(step)]
    results = dict.fromkeys(v for v in block.results if v is not None and writing.is_split(v))
    made = [value for value in results if value not in block.params]
    ended = [writing.together(value, value) for value in made]
    return replace(block, steps=(*begun, *steps, *ended))


@dataclass(eq=False, slots=True)
class _Scalarizer:
    """The state of the rewrite: the parts of every list and optional so far."""

    kinds: ElementTypes
    made: dict[Value, tuple[Value, ...]] = field(default_factory=dict)

    def is_split(self, value: Value | None) -> bool:
        """Whether the value is replaced by its parts."""
        return self.kinds.kind(value) is not None

    def parts(self, value: Value | None) -> tuple[Value | None, ...]:
        """The parts of a list or an optional; any other value itself."""
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

    def scalarized(self, value: Value) -> Leaf:
        """The step that splits a value into its parts."""
        kind = self.kinds.kind(value)
        assert kind is not None, "a split value has a kind"
        return Leaf(PARTS_DOMAIN, UNPACK, 1, (value,), self.parts(value), known_layout(kind))

    def together(self, value: Value, result: Value) -> Leaf:
        """The step that joins the parts of a value."""
        return Leaf(PARTS_DOMAIN, PACK, 1, self.parts(value), (result,))

    def step(self, step: Step) -> Iterator[Step]:
        """The step over parts."""
        concerned = any(map(self.is_split, (*step.results, *ir.reads(step))))
        match step:
            case Loop():
                yield self._loop(step)
            case Branch():
                yield self._branch(step)
            case Leaf() if not concerned:
                yield step
            case Leaf() if step.op in OPERATORS and not step.domain:
                yield self._leaf(step)
            case _ if concerned:
                raise Declined(
                    f"{ir.operator_of(step)} of a sequence or an optional has no native code"
                )
            case _:
                yield step

    def _leaf(self, leaf: Leaf) -> Leaf:
        """The operator on parts; a value that might be an optional but is a tensor stays."""
        op, operands = leaf.op, self.all_parts(leaf.operands)
        first = leaf.operands[0] if leaf.operands else None
        is_optional = first is not None and isinstance(first.type, ir.Optional)
        if op == "OptionalHasElement":
            operands = operands[:1] if is_optional else ()
        if op == "OptionalGetElement" and not is_optional:
            op = "Identity"
        results = self.all_parts(leaf.results)
        kinds = map(self.kinds.kind, (*leaf.operands, *leaf.results))
        given = {**leaf.attributes, **known_layout(next(filter(None, kinds)))}
        return replace(
            leaf, domain=PARTS_DOMAIN, op=op, operands=operands, results=results, attributes=given
        )

    def _block(self, block: Block) -> Block:
        params = [part for part in self.all_parts(block.params) if part is not None]
        steps = [made for step in block.steps for made in self.step(step)]
        claims = [
            claim if not self.is_split(value) else Declaration()
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
        if step.fixed_state and any(self.is_split(port.param) for port in view.carried):
            raise Declined("a state of a Scan that is a sequence or an optional")
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
        """Require the same number of parts for each value that is present."""
        counts = {len(self.parts(value)) for value in values if value is not None}
        if len(counts) > 1:
            raise Declined("a value that is a sequence in one place and a tensor in another")

    def _last(self, view: ir.Ports) -> Iterator[Value | None]:
        """The final carried values, with an absent value for each unread part."""
        for port in view.carried:
            parts = self.parts(port.param)
            yield from (None,) * len(parts) if port.result is None else self.parts(port.result)
