"""Inferred types of a model's values, without annotating them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treadle.infer import infer
from treadle.ir import Block, Model, Type, Value, block_values, bodies


def inferred_types(model: Model) -> Mapping[Value, Type | None]:
    """Map every value of the main block and its bodies to its inferred type."""
    pairs = _pairs(model.main, infer(model).main)
    return {value: typed.inferred for value, typed in pairs}


def _pairs(block: Block, typed: Block) -> Iterator[tuple[Value, Value]]:
    yield from zip(block_values(block), block_values(typed), strict=True)
    for step, other in zip(block.steps, typed.steps, strict=True):
        for (_, body), (_, inner) in zip(bodies(step), bodies(other), strict=True):
            yield from _pairs(body, inner)
