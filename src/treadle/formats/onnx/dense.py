"""Converts sparse tensors to dense ones, since onnx's text form has no sparse ones."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import (
    Attribute,
    Block,
    Constant,
    Kind,
    Leaf,
    Literal,
    Model,
    SparseArray,
    Step,
    map_blocks,
    map_bodies,
)


def without_sparse(model: Model) -> Model:
    """The model with dense tensors in constants and Constant nodes, with the same values."""
    return map_blocks(model, _block)


def _block(block: Block) -> Block:
    return replace(
        block,
        constants=tuple(map(_constant, block.constants)),
        steps=tuple(_step(map_bodies(step, lambda _, body: _block(body))) for step in block.steps),
    )


def _constant(constant: Constant) -> Constant:
    data = constant.data
    return replace(constant, data=_dense(data)) if isinstance(data, SparseArray) else constant


def _step(step: Step) -> Step:
    sparse = step.attributes.get("sparse_value") if isinstance(step, Leaf) else None
    if sparse is None or not isinstance(step, Leaf) or not isinstance(sparse.value, SparseArray):
        return step
    others = {name: each for name, each in step.attributes.items() if each is not sparse}
    value = Attribute("value", Kind.TENSOR, _dense(sparse.value), sparse.doc)
    return replace(step, attributes={**others, "value": value})


def _dense(sparse: SparseArray) -> Literal:
    return Literal(sparse.dense(), sparse.values.dtype, sparse.values.name)
