"""The standard's definitions of operators as functions, bound to a step's types and attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from treadle.ir import Block, Leaf, Reference, Step, Type, bodies
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.expand_functions import Expand
from treadle.passes.versions.placing import bound
from treadle.passes.versions.rewriter import Rewriter
from treadle.passes.versions.splicing import spliced

Bound = tuple[Block, int]
"""The block of a definition, and the opset it is written for."""


@dataclass(slots=True)
class Definitions:
    """A cache of definitions, keyed by everything they depend on."""

    expand: Expand
    found: dict[object, Bound | None] = field(default_factory=dict)

    def into(self, rewriter: Rewriter, step: Leaf) -> Rewriter | None:
        """Insert the steps of the definition for the step; None if it has none."""
        if any(isinstance(each.value, Reference) for each in step.attributes.values()):
            return None
        types = [rewriter.fact(value).type for value in step.operands]
        if any(t is None and v is not None for t, v in zip(types, step.operands, strict=True)):
            return None
        attributes = tuple((name, each.value) for name, each in step.attributes.items())
        absent = tuple(value is None for value in (*step.operands, *step.results))
        key = step.op, step.version, attributes, absent, tuple(types)
        if key not in self.found:
            self.found[key] = self._bound(step, types)
        definition = self.found[key]
        if definition is None:
            return None
        block, rewriter.opset = definition
        return bound(rewriter, step, spliced(rewriter, block, step.operands))

    def _bound(self, step: Leaf, types: Sequence[Type | None]) -> Bound | None:
        function = self.expand(step, types)
        if function is None or step.op in _operators(function.block.steps):
            return None
        opset = function.opsets.get("", step.version)
        return bind_attributes(function, step.attributes), opset


def _operators(steps: Sequence[Step]) -> set[str]:
    found = {step.op for step in steps if isinstance(step, Leaf)}
    for step in steps:
        for _, body in bodies(step):
            found |= _operators(body.steps)
    return found
