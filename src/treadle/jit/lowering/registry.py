"""The table of lowerings of operators to the kernel IR.

    @lowers("Add", 7, 13, 14)
    def add(b, operands, attributes): return b.map("add", *operands)

A lowering takes the LoweringBuilder, a node for each operand (None for an absent one; absent ones
at the end may be missing) and the attributes that the node gives or the schema has a default for;
it returns a node, or one for each result, or raises Declined with the reason. A version that is not
listed has no lowering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treadle.ir import DType
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Node

Operands = Sequence[Any]
"""A node for each operand, None for an absent one."""
Attributes = Mapping[str, Any]
Lowering = Callable[[KernelBuilder, Operands, Attributes], "Node | Sequence[Node | None]"]
NARROW = (DType.FLOAT16, DType.BFLOAT16)
TABLE: dict[tuple[str, int], Lowering] = {}
"""Lowerings of the standard's own domain."""
_BESIDE: dict[tuple[str, str, int], Lowering] = {}
"""Lowerings of other domains."""


def lowers(op: str, *versions: int, domain: str = "") -> Callable[[Lowering], Lowering]:
    """Register a lowering for these versions of an operator."""

    def enter(lowering: Lowering) -> Lowering:
        if domain:
            _BESIDE.update({(domain, op, version): lowering for version in versions})
            return lowering
        for version in versions:
            assert (op, version) not in TABLE, f"two lowerings for {op}-{version}"
            TABLE[op, version] = lowering
        return lowering

    return enter


def in_float32(lowering: Lowering) -> Lowering:
    """The lowering in float32 if its first operand is float16 or bfloat16, rounded at the end.

    Other operands of the same type are converted too.
    """
    return _computed_wide(lowering, NARROW)


def in_float32_except_float16(lowering: Lowering) -> Lowering:
    """Like `in_float32`, but float16 is rounded after every function."""
    return _computed_wide(lowering, (DType.BFLOAT16,))


def _computed_wide(lowering: Lowering, dtypes: Sequence[DType]) -> Lowering:
    def lowered(
        builder: KernelBuilder, operands: Operands, attributes: Attributes
    ) -> Node | Sequence[Node | None]:
        narrow = operands[0].dtype
        if narrow not in dtypes:
            return lowering(builder, operands, attributes)
        given = [
            builder.cast(n, DType.FLOAT32) if n is not None and n.dtype is narrow else n
            for n in operands
        ]
        made = lowering(builder, given, attributes)
        if isinstance(made, Node):
            return _narrowed(builder, made, narrow)
        return [None if node is None else _narrowed(builder, node, narrow) for node in made]

    return lowered


def as_floats(builder: KernelBuilder, node: Node) -> Node:
    """The elements as floats: integers become float64."""
    return builder.cast(node, DType.FLOAT64) if node.dtype.numpy.kind in "iu" else node


def _narrowed(builder: KernelBuilder, node: Node, narrow: DType) -> Node:
    return builder.cast(node, narrow) if node.dtype is DType.FLOAT32 else node


def lowering(domain: str, op: str, version: int) -> Lowering | None:
    """The lowering of an operator; None if it has none."""
    if domain in ("", "ai.onnx"):
        return TABLE.get((op, version))
    return _BESIDE.get((domain, op, version))
