"""Binds the attributes of one call in a function's block: replaces References by values.

    inside: Reference("alpha")   ->   the call's alpha, else the function's default, else nothing

Bodies at any depth are bound too. An attribute whose reference has neither a value nor a default is
removed, as the standard requires (IR.md, Functions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.ir import Attribute, Block, Call, Function, Leaf, Reference, Step, map_steps

Attributes = Mapping[str, Attribute]


def bind_attributes(function: Function, given: Attributes) -> Block:
    """Replace every Reference in the function's block by the attribute that it names."""
    values = {**function.defaults, **given}

    def bound(step: Step) -> Step:
        if not isinstance(step, Leaf | Call) or not _refers(step.attributes):
            return step
        return replace(step, attributes=_bound(step.attributes, values))

    return map_steps(function.block, bound)


def _refers(attributes: Attributes) -> bool:
    return any(isinstance(attribute.value, Reference) for attribute in attributes.values())


def _bound(attributes: Attributes, values: Attributes) -> Attributes:
    bound = {}
    for name, attribute in attributes.items():
        value = attribute.value
        if not isinstance(value, Reference):
            bound[name] = attribute
        elif value.name in values:
            bound[name] = replace(values[value.name], name=name)
    return bound
