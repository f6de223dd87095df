"""The state shared by the readers of one file: block, loop, branch and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.diagnostics import Report
from treadle.formats.openvino.records import Body, Layer, PortEntry
from treadle.formats.openvino.weights import Weights
from treadle.ir import Literal, Value

Enter = Callable[[LayerBlockBuilder, Layer], Value]
"""Makes the param for a Parameter layer of a body, and the steps that compute its value."""


@dataclass(slots=True)
class ReadContext:
    """The state of reading one file."""

    report: Report
    weights: Weights
    read_block: Callable[[ReadContext, Body, str, Enter], Content]
    literals: dict[tuple[str, str, str, str], Literal] = field(default_factory=dict)


@dataclass(slots=True)
class Content:
    """A body that has been read: its builder, and the values of its Results by layer id.

    `whole`: every layer could be read; otherwise the report holds the faults.
    """

    draft: LayerBlockBuilder
    results: Mapping[int, Value]
    whole: bool


@dataclass(frozen=True, slots=True)
class ControlContext:
    """A control-flow layer, its operands by port id, and the builder of the enclosing block."""

    reading: ReadContext
    layer: Layer
    draft: LayerBlockBuilder
    feeds: Mapping[int, Value]
    path: str


def by_output(entries: Iterable[PortEntry], layer: Layer) -> list[PortEntry]:
    """The entries of a port map, in the order of the layer's outputs.

    If their numbers differ from those of the ports, only their order counts, as in OpenVINO.
    """
    ports = [port.id for port in layer.outputs]
    ordered = sorted(entries, key=lambda entry: entry.external)
    if {entry.external for entry in ordered} == set(ports):
        ordered.sort(key=lambda entry: ports.index(entry.external))
    return ordered
