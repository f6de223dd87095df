"""Copies external tensors into the model, for engines and readers without a folder."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import (
    Block,
    Constant,
    Leaf,
    Literal,
    Model,
    Step,
    bodies,
    map_blocks,
    map_bodies,
    walk,
)


def inline_external(model: Model) -> Model:
    """The model without external tensors; arrays stay memory-mapped, nothing is copied here."""
    return map_blocks(model, _block)


def has_external(model: Model) -> bool:
    """Whether a tensor of the model is in another file."""
    steps = [visit.step for visit in walk(model)]
    blocks = [model.main, *(function.block for function in model.functions.values())]
    blocks += [block for step in steps for _, block in bodies(step)]
    return any(_is_external(c.data) for block in blocks for c in block.constants) or any(
        _is_external(attribute.value)
        for step in steps
        if isinstance(step, Leaf)
        for attribute in step.attributes.values()
    )


def _is_external(value: object) -> bool:
    return isinstance(value, Literal) and value.external is not None


def inline_step(step: Step) -> Step:
    """The step without external tensors in its attributes and bodies."""
    inner = map_bodies(step, lambda _, body: _block(body))
    if not isinstance(inner, Leaf):
        return inner
    attributes = {
        name: replace(a, value=replace(a.value, external=None))
        if isinstance(a.value, Literal) and a.value.external
        else a
        for name, a in inner.attributes.items()
    }
    return replace(inner, attributes=attributes)


def _block(block: Block) -> Block:
    constants = tuple(map(_constant, block.constants))
    return replace(block, constants=constants, steps=tuple(map(inline_step, block.steps)))


def _constant(constant: Constant) -> Constant:
    if not isinstance(constant.data, Literal) or constant.data.external is None:
        return constant
    return replace(constant, data=replace(constant.data, external=None))
