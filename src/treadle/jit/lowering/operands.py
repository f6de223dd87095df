"""Checks of operands of control flow: present, native, and of one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle import ir
from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node, show_node
from treadle.jit.lowering.boxing import types_of, unboxed
from treadle.jit.lowering.operators.layout import dropped


def scalar(
    builder: KernelBuilder, node: Node | None, what: str, dtypes: Sequence[DType]
) -> Node | None:
    """The one element of a node; None for an absent one."""
    if node is None:
        return None
    if node.dtype not in dtypes or (node.is_static and node.size != 1):
        raise Declined(f"{what} is {show_node(node)}: one element of {dtypes[0]} is needed")
    return dropped(builder, node, range(len(node.shape)))


def present_operands(node: Any) -> Node:
    """The node, which must be present."""
    if node is None:
        raise Declined("an optional operand that is absent")
    assert isinstance(node, Node)
    return node


def native_operands(
    builder: KernelBuilder, node: Node | None, value: ir.Value | None
) -> Node | None:
    """The node as a native tensor; None for an absent one."""
    return None if node is None else unboxed(builder, node, types_of(value))
