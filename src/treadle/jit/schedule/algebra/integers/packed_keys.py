"""Keys with positions behind them, in numbers of 64 bits: the greatest has that of the first.

lowering/operators/argmax_topk.py writes them: key << 32 | position.
"""

from __future__ import annotations

from typing import NamedTuple

from treadle.jit.kernel.ir import Constant, Elementwise, Node, Reduce, Reshape, View

POSITION_BITS = 32
"""The bits of the position, behind the key."""


class PackedKeys(NamedTuple):
    """The keys, whole numbers of at most 32 bits, and the positions behind them."""

    keys: Node
    positions: Node


def packed_keys(node: Node) -> PackedKeys | None:
    """The keys and positions that a node puts together; None if it is another node."""
    if node.op != Elementwise("or") or node.operands[0].op != Elementwise("shl"):
        return None
    (keys, bits), positions = node.operands[0].operands, node.operands[1]
    if keys.op != Elementwise("cast") or not _is_number(bits, POSITION_BITS):
        return None
    return PackedKeys(keys.operands[0], positions)


def position_of_extreme(node: Node) -> Node | None:
    """The positions of which a node is that of the greatest or least key; None if it is none."""
    if node.op != Elementwise("and") or not _is_number(node.operands[1], 2**POSITION_BITS - 1):
        return None
    found = node.operands[0]
    while isinstance(found.op, View | Reshape):
        (found,) = found.operands
    packed = packed_keys(found.operands[0]) if isinstance(found.op, Reduce) else None
    is_some = bool(found.operands) and found.operands[0].is_static and found.operands[0].size > 0
    return packed.positions if packed is not None and is_some else None


def _is_number(node: Node, number: int) -> bool:
    return isinstance(node.op, Constant) and node.is_single and int(node.op.array.item()) == number
