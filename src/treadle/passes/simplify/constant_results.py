"""Inserts Constant steps for constants that are results of bodies.

An initializer as a body's output is well formed, but tools that search for the node of an output
find none, and drop it. Declines for types that Constant lacks in the opset, and for more than a
megabyte: initializers can be stored in an external file, attributes cannot.
"""

from __future__ import annotations

from dataclasses import replace

from treadle import ops
from treadle.ir import (
    Attribute,
    Block,
    Constant,
    Info,
    Kind,
    Leaf,
    Literal,
    Step,
    Tensor,
    map_bodies,
)
from treadle.passes.simplify.context import PassContext

_MOST_BYTES = 2**20


def with_constant_results(block: Block, at: PassContext) -> Block:
    """Define every constant result of a body by a step; the block's own results stay."""

    def changed(step: Step) -> Step:
        return map_bodies(step, lambda _, body: with_constant_results(_making(body, at), at))

    return replace(block, steps=tuple(map(changed, block.steps)))


def _making(body: Block, at: PassContext) -> Block:
    version = at.version("Constant") or 1
    wanted = set(body.results).difference(body.params)
    made = {
        each: _step(each, version)
        for each in body.constants
        if each.value in wanted and _may_be_attribute(each, version)
    }
    if not made:
        return body
    constants = tuple(each for each in body.constants if each not in made)
    return replace(body, constants=constants, steps=(*made.values(), *body.steps))


def _may_be_attribute(constant: Constant, version: int) -> bool:
    schema, type_ = ops.schema("", "Constant", version), constant.value.type
    if (
        schema is None
        or not isinstance(type_, Tensor)
        or _attribute(constant)[0] not in schema.attributes
    ):
        return False
    data = constant.data if isinstance(constant.data, Literal) else constant.data.values
    return data.array.nbytes <= _MOST_BYTES and ops.type_string(type_) in schema.outputs[0].types


def _attribute(constant: Constant) -> tuple[str, Kind]:
    is_dense = isinstance(constant.data, Literal)
    return ("value", Kind.TENSOR) if is_dense else ("sparse_value", Kind.SPARSE)


def _step(constant: Constant, version: int) -> Leaf:
    name, kind = _attribute(constant)
    attributes = {name: Attribute(name, kind, constant.data)}
    return Leaf(
        "", "Constant", version, (), (constant.value,), attributes, info=Info(op="Constant")
    )
