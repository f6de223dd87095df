"""The table of lowerings: what an operator is in the kernel IR.

    @lowers("Add", 7, 13, 14)
    def add(b, operands, attributes): return b.map("add", *operands)

A lowering is handed the Building, a node for each operand (None for an absent one) and the
attributes, defaults filled in; it gives a node, or one for each result. What it cannot do it
declines, with the reason. A version that is not listed has no lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Node

Lowering = Callable[[Building, Sequence[Any], Mapping[str, Any]], "Node | Sequence[Node | None]"]
NARROW = (DType.FLOAT16, DType.BFLOAT16)
TABLE: dict[tuple[str, int], Lowering] = {}


def lowers(op: str, *versions: int) -> Callable[[Lowering], Lowering]:
    """Enter a lowering for these versions of an operator of the standard."""

    def enter(lowering: Lowering) -> Lowering:
        for version in versions:
            assert (op, version) not in TABLE, f"two lowerings for {op}-{version}"
            TABLE[op, version] = lowering
        return lowering

    return enter


def wide(lowering: Lowering) -> Lowering:
    """The lowering over float32 where operands are float16 or bfloat16, rounded at its end."""

    def lowered(
        b: Building, operands: Sequence[Node | None], attributes: Mapping[str, Any]
    ) -> Node | Sequence[Node | None]:
        narrow = next((n.dtype for n in operands if n is not None and n.dtype in NARROW), None)
        if narrow is None:
            return lowering(b, operands, attributes)
        given = [
            b.cast(n, DType.FLOAT32) if n is not None and n.dtype is narrow else n for n in operands
        ]
        made = lowering(b, given, attributes)
        if isinstance(made, Node):
            return _narrowed(b, made, narrow)
        return [None if node is None else _narrowed(b, node, narrow) for node in made]

    return lowered


def _narrowed(b: Building, node: Node, narrow: DType) -> Node:
    return b.cast(node, narrow) if node.dtype is DType.FLOAT32 else node


def lowering(domain: str, op: str, version: int) -> Lowering | None:
    """The lowering of an operator, or None."""
    return TABLE.get((op, version)) if domain in ("", "ai.onnx") else None
