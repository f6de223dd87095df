"""Gives a function's block the attributes of one call: References become values.

An attribute whose reference has neither a value nor a default is left out, as the standard says of
function attributes (IR.md, Functions).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.ir import Attribute, Block, Call, Leaf, Reference, Step, map_steps


def bind_attributes(block: Block, attributes: Mapping[str, Attribute]) -> Block:
    """The block, bodies included, with every Reference replaced by the attribute it names."""

    def bound(step: Step) -> Step:
        if not isinstance(step, Leaf | Call) or not _refers(step.attributes):
            return step
        return replace(step, attributes=_bound(step.attributes, attributes))

    return map_steps(block, bound)


def _refers(attributes: Mapping[str, Attribute]) -> bool:
    return any(isinstance(attribute.value, Reference) for attribute in attributes.values())


def _bound(
    attributes: Mapping[str, Attribute], given: Mapping[str, Attribute]
) -> dict[str, Attribute]:
    bound = {}
    for name, attribute in attributes.items():
        value = attribute.value
        if not isinstance(value, Reference):
            bound[name] = attribute
        elif value.name in given:
            bound[name] = replace(given[value.name], name=name)
    return bound
