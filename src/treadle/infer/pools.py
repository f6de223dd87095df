"""Pools with strides above 1 whose input is shorter than their kernel.

The standard rounds down: floor((3 - 4) / 2 + 1) is 0. onnx's own inference and onnxruntime 1.31
round towards zero, which yields one element more.
"""

from __future__ import annotations

from treadle import ops
from treadle.ir import Leaf, Reference, Shape, Tensor, Type

_POOLS = ("AveragePool", "LpPool", "MaxPool")
_OUTER = 2
"""Axes before the spatial ones: batch and channels."""


def is_short_pool(leaf: Leaf) -> bool:
    """Whether the leaf is a pool with an axis that is known to be shorter than the kernel."""
    value = leaf.operands[0] if leaf.operands else None
    type_ = value.inferred if value is not None else None
    return isinstance(type_, Tensor) and _counts(leaf, type_.shape) is not None


def type_of_short_pool(leaf: Leaf, operand: Type | None) -> Type | None:
    """The result type of such a pool; None for every other leaf."""
    if not isinstance(operand, Tensor) or operand.shape is None or len(leaf.results) != 1:
        return None
    counts = _counts(leaf, operand.shape)
    if not counts or min(counts) < 0:
        return None
    return Tensor(operand.dtype, (*operand.shape[:_OUTER], *counts))


def _counts(leaf: Leaf, shape: Shape | None) -> tuple[int, ...] | None:
    """The number of windows along each short axis; () if that would be negative."""
    if leaf.domain or leaf.op not in _POOLS or shape is None:
        return None
    extents = tuple(dim for dim in shape[_OUTER:] if isinstance(dim, int))
    if any(isinstance(each.value, Reference) for each in leaf.attributes.values()):
        return None
    named = ops.attributes_of(leaf.attributes)
    kernel = tuple(named.get("kernel_shape") or ())
    if not extents or len(extents) != len(shape) - _OUTER or len(kernel) != len(extents):
        return None
    try:
        over = ops.window(
            extents,
            kernel,
            named.get("strides"),
            named.get("dilations"),
            named.get("pads"),
            named.get("auto_pad", "NOTSET"),
            named.get("ceil_mode", 0),
        )
    except ValueError:
        return ()
    return over.shape if 0 in over.shape else None
