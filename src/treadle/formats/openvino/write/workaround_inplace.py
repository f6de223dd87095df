"""Prevents OpenVINO's CPU plugin from overwriting the Parameters of a loop body.

The plugin computes elementwise layers in place of an operand, but never in place of a Parameter.
For a view of a Parameter (Squeeze, Reshape, Unsqueeze) it misses that check: an invariant then
changes for the next iteration, and a slice or carried value is overwritten before it is read. The
plugin turns scalars into views by itself. A copy is inserted between such a Parameter and its view.
Measured on OpenVINO 2026.4.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treadle.formats.openvino.records import Edge, Layer
from treadle.formats.openvino.write.net_builder import VIEWS, BodyBuilder, Wire, copy
from treadle.ir import Tensor

_SPARING = frozenset(
    (
        "Convolution",
        "Gather",
        "GroupConvolution",
        "If",
        "Loop",
        "MatMul",
        "Parameter",
        "Result",
        "ShapeOf",
        "TensorIterator",
    )
)
"""Layers that write to memory of their own."""

Readers = Mapping[int, list[Edge]]


def protect_from_inplace(draft: BodyBuilder, params: Mapping[int, Tensor]) -> None:
    """Insert copies after Parameters of a loop's body, given by layer, that may be overwritten."""
    readers: dict[int, list[Edge]] = {}
    for edge in draft.edges:
        readers.setdefault(edge.from_layer, []).append(edge)
    for number, type_ in params.items():
        scalar = type_.shape == ()
        risky = {
            edge
            for edge in readers.get(number, ())
            if _is_risky(draft.layers, readers, edge, scalar)
        }
        if not risky:
            continue
        draft.origin = f"{draft.layers[number].name}/copy"
        (apart,) = copy(draft, Wire(number, 0, type_))
        draft.edges = [
            replace(edge, from_layer=apart.layer, from_port=apart.port) if edge in risky else edge
            for edge in draft.edges
        ]


def _is_risky(layers: list[Layer], readers: Readers, edge: Edge, scalar: bool) -> bool:
    kind = layers[edge.to_layer].type
    if kind not in VIEWS:
        return scalar and kind not in _SPARING
    if edge.to_port:
        return False
    behind = readers.get(edge.to_layer, ())
    return any(_is_risky(layers, readers, each, True) for each in behind)
