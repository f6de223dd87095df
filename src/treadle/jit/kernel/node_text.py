"""Shapes and types of nodes in words, for messages."""

from __future__ import annotations

from collections.abc import Sequence

from treadle.jit.kernel.ir import Node, Number


def show_shape(shape: Sequence[Number | None]) -> str:
    """A shape in words; an extent that nobody states is "?"."""
    words = ("?" if e is None else str(e) if isinstance(e, int) else e.name for e in shape)
    return f"[{','.join(words)}]"


def show_node(node: Node) -> str:
    """The type of a node in words: float32[2,n0]."""
    return f"{node.dtype}{show_shape(node.shape)}"
