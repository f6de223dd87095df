"""Expresses expand_scan8's treadle operator by operators of the standard.

    SequenceLength(n, extent)   ->   (0 ... extent)[the extent of n ones]

The Range fails for a negative length, the index for one beyond the extent, as SequenceLength does.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treadle.ir import Block, BlockBuilder, Leaf, Model, Step, attribute
from treadle.passes.expand_scan8 import expand_scan8
from treadle.passes.inline_block import inline_blocks
from treadle.passes.inline_functions import inline_functions

_OPSET = 13


def without_scan8(model: Model) -> Model:
    """The model with loops for every Scan-8, in operators that each opset has a form for."""
    return in_standard_operators(expand_scan8(inline_functions(model)))


def in_standard_operators(model: Model) -> Model:
    """The model in which the main block has no operator that expand_scan8 alone writes."""
    return replace(model, main=inline_blocks(model.main, _in_the_standard))


def _in_the_standard(step: Step, _: str) -> Block | None:
    if not isinstance(step, Leaf) or (step.domain, step.op) != ("treadle", "SequenceLength"):
        return None
    builder = BlockBuilder(step.info.name)
    length = builder.param("length")
    extents = [builder.param("extent") for _ in step.operands[1:]]
    one = builder.constant(np.array([1]), "one")
    flat = builder.constant(np.array([-1]), "flat")
    filled = {"value": attribute("value", np.ones(1, np.int64))}
    entry = builder.leaf("Reshape", _OPSET, length, one)
    count = builder.leaf("Shape", _OPSET, builder.leaf("ConstantOfShape", 9, entry))
    items = builder.leaf("Add", _OPSET, extents[0], one)
    row = builder.leaf(
        "NonZero", _OPSET, builder.leaf("ConstantOfShape", 9, items, attributes=filled)
    )
    places = builder.leaf("Reshape", _OPSET, row, flat)
    return builder.build(builder.leaf("Gather", _OPSET, places, count))
