"""What control flow is handed: there, native, and of one element where one is wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle import ir
from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Node
from treadle.jit.lower.held import types_of, unboxed
from treadle.jit.lower.layout import dropped
from treadle.jit.nodes import Declined


def scalar(b: Building, node: Node | None, what: str, dtypes: Sequence[DType]) -> Node | None:
    """The one element of a node; None for an absent one."""
    if node is None:
        return None
    if node.dtype not in dtypes or (node.is_static and node.size != 1):
        raise Declined(f"{what} that is not one element of {dtypes[0]}")
    return dropped(b, node, range(len(node.shape)))


def present(node: Any) -> Node:
    """The node, which is there."""
    if node is None:
        raise Declined("an absent value")
    assert isinstance(node, Node)
    return node


def native(b: Building, node: Node | None, value: ir.Value | None) -> Node | None:
    """The node as a native tensor; None for an absent one."""
    return None if node is None else unboxed(b, node, types_of(value))
