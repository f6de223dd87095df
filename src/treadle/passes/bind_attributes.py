"""Gives the attributes inside a function the values of one call of it.

    inside: Reference("alpha")   ->   the call's alpha, else the function's default, else nothing

Bodies at any depth are bound too: a reference means the function it stands in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.ir import Attribute, Block, Call, Function, Leaf, Reference, Step, map_steps

Attributes = Mapping[str, Attribute]


def bind_attributes(function: Function, given: Attributes) -> Block:
    """The function's block without a Reference; the block itself where there was none."""
    values = {**function.defaults, **given}

    def bound(step: Step) -> Step:
        if not isinstance(step, Leaf | Call):
            return step
        if not any(isinstance(a.value, Reference) for a in step.attributes.values()):
            return step
        return replace(step, attributes=_bound(step.attributes, values))

    return map_steps(function.block, bound)


def _bound(attributes: Attributes, values: Attributes) -> Attributes:
    known = {}
    for name, attribute in attributes.items():
        if not isinstance(attribute.value, Reference):
            known[name] = attribute
        elif attribute.value.name in values:
            value = values[attribute.value.name]
            known[name] = replace(attribute, kind=value.kind, value=value.value)
    return known
