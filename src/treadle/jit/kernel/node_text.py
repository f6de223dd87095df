"""Prints shapes and types of nodes for messages."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.jit.kernel.ir import Node, Number


def show_shape(shape: Sequence[Number | None]) -> str:
    """Print a shape; an unknown extent is "?"."""
    words = ("?" if e is None else str(e) if isinstance(e, int) else e.name for e in shape)
    return f"[{','.join(words)}]"


def show_node(node: Node) -> str:
    """Print the type of a node: float32[2,n0]."""
    return f"{node.dtype}{show_shape(node.shape)}"
