"""Versions of opsets 1 to 6: only the right operand is broadcast, if an attribute says so."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from treadle.jit.kernel.builder import KernelBuilder, extents_of
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node
from treadle.jit.lowering.registry import TABLE, Attributes, Lowering, Operands, lowers


def aligned(builder: KernelBuilder, left: Node, right: Node, axis: int | None) -> Node:
    """Align the right operand: its axes are put at `axis` of the left one's."""
    given = extents_of(right)
    if axis is None or not given:
        return right
    rank = len(left.shape)
    behind = rank - (axis + rank if axis < 0 else axis) - len(given)
    return builder.reshape(right, (*given, *(1,) * max(behind, 0)))


def _unbroadcast(
    newer: Lowering, builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node | Sequence[Node | None]:
    left, right = operands
    if not attributes.get("broadcast") and left.shape != right.shape:
        raise Declined("operands of different shapes, without `broadcast`")
    return newer(builder, (left, aligned(builder, left, right, attributes.get("axis"))), attributes)


for _op, *_versions in (
    ("Add", 1, 6), ("Sub", 1, 6), ("Mul", 1, 6), ("Div", 1, 6), ("Pow", 1), ("Equal", 1),
    ("Greater", 1), ("Less", 1), ("And", 1), ("Or", 1), ("Xor", 1),
):  # fmt: skip
    lowers(_op, *_versions)(partial(_unbroadcast, TABLE[_op, 7]))


@lowers("Concat", 1)
def concat_1(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node | Sequence[Node | None]:
    """Concat-1: the axis is 1 by default."""
    axis = attributes.get("axis")
    return TABLE["Concat", 4](
        builder, operands, {**attributes, "axis": 1 if axis is None else axis}
    )


@lowers("Reshape", 1)
def reshape_1(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node | Sequence[Node | None]:
    """Reshape-1: the new shape is an attribute."""
    shape = builder.constant(np.array(attributes.get("shape") or (), np.int64))
    return TABLE["Reshape", 5](builder, (operands[0], shape), {})


@lowers("Split", 1)
def split_1(
    builder: KernelBuilder, operands: Operands, attributes: Attributes
) -> Node | Sequence[Node | None]:
    """Split-1: the lengths are an attribute or an operand; the axis is 0 by default."""
    given = {**attributes, "axis": attributes.get("axis") or 0}
    return TABLE["Split", 2](builder, operands, given)


@lowers("Dropout", 1, 6)
def dropout_1(_: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """Dropout-1: the operand, if the attribute disables training."""
    if not attributes["is_test"] or attributes["results"] > 1:
        raise Declined("training mode")
    node: Node = operands[0]
    return node
