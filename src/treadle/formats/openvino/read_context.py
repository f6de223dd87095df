"""What the readers of one file share, so that block, loop, branch and state need no cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.diagnostics import Report
from treadle.formats.openvino.records import Body, Layer, PortEntry
from treadle.formats.openvino.weights import Weights
from treadle.ir import Literal, Value

Enter = Callable[[LayerBlockBuilder, Layer], Value]
"""What a Parameter layer of a body is: makes the param, and whatever turns it into the value."""


@dataclass(slots=True)
class ReadContext:
    """One file being read."""

    report: Report
    weights: Weights
    read_block: Callable[[ReadContext, Body, str, Enter], Content]
    literals: dict[tuple[str, str, str, str], Literal] = field(default_factory=dict)


@dataclass(slots=True)
class Content:
    """A body that has been read: the draft, and the values of its Results by layer id.

    `whole`: every layer could be read; else the report says what is wrong.
    """

    draft: LayerBlockBuilder
    results: Mapping[int, Value]
    whole: bool


@dataclass(frozen=True, slots=True)
class ControlContext:
    """A control-flow layer, what feeds it by port id, and the draft of the block it stands in."""

    reading: ReadContext
    layer: Layer
    draft: LayerBlockBuilder
    feeds: Mapping[int, Value]
    path: str


def by_output(entries: Iterable[PortEntry], layer: Layer) -> list[PortEntry]:
    """The entries of a port map for the outputs of a layer, in the order of these.

    Where their numbers are not those of the ports only their order counts, as in OpenVINO.
    """
    ports = [port.id for port in layer.outputs]
    ordered = sorted(entries, key=lambda entry: entry.external)
    if {entry.external for entry in ordered} == set(ports):
        ordered.sort(key=lambda entry: ports.index(entry.external))
    return ordered
