"""RotaryEmbedding: pairs of elements of each head, rotated by angles of their position."""

from __future__ import annotations

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Node, show_node
from treadle.jit.kernel.views import axis_slice
from treadle.jit.lowering.operators.gather_scatter import picked
from treadle.jit.lowering.operators.layout import concat_along
from treadle.jit.lowering.registry import Attributes, Operands, lowers

_LAST = 3
"""The axis of the elements of a head, once heads have an axis."""


@lowers("RotaryEmbedding", 23)
def rotary_embedding(builder: KernelBuilder, operands: Operands, attributes: Attributes) -> Node:
    """The formula of its schema; elements beyond `rotary_embedding_dim` stay as they are."""
    node, cosines, sines, positions = (*operands, None)[:4]
    heads, heads_axis = _with_heads(builder, node, attributes.get("num_heads", 0))
    extent = heads.shape[_LAST]
    if not isinstance(extent, int):
        raise Declined(f"heads {show_node(heads)}: a known number of elements is needed")
    size: int = attributes.get("rotary_embedding_dim") or extent
    if not 0 < size <= extent or size % 2:
        raise Declined(f"{size} elements of heads {show_node(heads)} to rotate in pairs")
    sequence_axis = 3 - heads_axis
    wanted = (heads.shape[0], heads.shape[sequence_axis], size // 2)
    angles = [_of_positions(builder, each, positions) for each in (cosines, sines)]
    for each in angles:
        builder.expect_shape(each.shape, wanted, f"cosines or sines {show_node(each)}")
    wide = [*wanted[:heads_axis], 1, *wanted[heads_axis:]]
    cosine, sine = (builder.reshape(each, wide) for each in angles)
    is_interleaved = bool(attributes.get("interleaved"))
    turned = _turned(builder, heads, (cosine, sine), size // 2, is_interleaved)
    if size < extent:
        others = axis_slice(builder, heads, _LAST, size, 1, extent - size)
        turned = concat_along(builder, [turned, others], _LAST)
    return builder.reshape(turned, node.shape)


def _with_heads(builder: KernelBuilder, node: Node, count: int) -> tuple[Node, int]:
    """The node with an axis of heads, and that axis: [N,H,S,D], or [N,S,H*D] as [N,S,H,D]."""
    if len(node.shape) == 4:
        return node, 1
    width = node.shape[-1] if len(node.shape) == 3 else None
    if not isinstance(width, int) or count <= 0 or width % count:
        raise Declined(f"{show_node(node)} of {count} heads")
    return builder.reshape(node, (*node.shape[:2], count, width // count)), 2


def _of_positions(builder: KernelBuilder, table: Node, positions: Node | None) -> Node:
    """The rows of the positions; without positions the table has a row for each element."""
    if positions is None:
        return table
    if len(table.shape) != 2 or len(positions.shape) != 2:
        raise Declined(f"positions {show_node(positions)} of {show_node(table)}")
    return picked(builder, table, positions, 0)


def _turned(
    builder: KernelBuilder, heads: Node, angles: tuple[Node, Node], half: int, interleaved: bool
) -> Node:
    """Each pair (a, b) as (cos a - sin b, sin a + cos b).

    The elements of a pair are neighbours if they are interleaved, else half of all elements apart.
    """
    cosine, sine = angles
    step, second = (2, 1) if interleaved else (1, half)
    a, b = (axis_slice(builder, heads, _LAST, first, step, half) for first in (0, second))
    real = builder.map("sub", builder.map("mul", cosine, a), builder.map("mul", sine, b))
    imaginary = builder.map("add", builder.map("mul", sine, a), builder.map("mul", cosine, b))
    parts, shape = [real, imaginary], heads.shape[:_LAST]
    if not interleaved:
        return concat_along(builder, parts, _LAST)
    pairs = [builder.reshape(each, (*shape, half, 1)) for each in parts]
    return builder.reshape(concat_along(builder, pairs, _LAST + 1), (*shape, 2 * half))
