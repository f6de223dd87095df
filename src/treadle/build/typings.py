"""The types of every value of a model, for given shapes of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from treadle.build.shapes import Shape, told_types
from treadle.infer import infer
from treadle.ir import Block, Model, Type, Value, block_values, bodies, clone_with_new_values

__all__ = ["Typing", "typing_of"]

Typing = Callable[[Value], Type | None]
"""The type of a value, for one of the kernels."""


def typing_of(model: Model, shapes: Mapping[str, Shape]) -> Typing:
    """The types of the values of a model; raises InputError for shapes that differ from its own."""
    params = model.main.params
    told = dict(zip(params, told_types(params, shapes), strict=True))
    main = clone_with_new_values(
        model.main, lambda value: Value(value.name, told.get(value, value.type))
    )
    typed = infer(replace(model, main=main))
    types = {value: other.type for value, other in _pairs(model.main, typed.main)}
    return types.get


def _pairs(block: Block, other: Block) -> Iterator[tuple[Value, Value]]:
    """The pairs of values of two blocks that differ only in their values."""
    yield from zip(block_values(block), block_values(other), strict=True)
    for step, twin in zip(block.steps, other.steps, strict=True):
        for (_, body), (_, copy) in zip(bodies(step), bodies(twin), strict=True):
            yield from _pairs(body, copy)
