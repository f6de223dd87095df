"""The content of an OpenVINO IR file as plain records: `parse(write(net)) == net`.

    Net      = (name, version, Body, extras)                          the .xml as a whole
    Body     = (layers, edges, extras)                                a net's, or a control layer's
    Layer    = (id, name, type, version, data, inputs, outputs, port maps, back edges, bodies)
    Port     = (id, precision, names, dims)
    PortMap  = (inputs: PortEntry*, outputs: PortEntry*)              ports of a layer <-> its body
    BackEdge = (from_layer, to_layer)                                 body Result -> body Parameter
    Edge     = (from_layer, from_port, to_layer, to_port)

`extras` are elements that are not interpreted (such as rt_info), kept unchanged. Line numbers are
for messages and do not take part in comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Element:
    """An element that is kept and not interpreted."""

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: tuple[Element, ...] = ()
    text: str = ""
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Port:
    """One input or output of a layer. `dims` are those declared by the file; None if undeclared."""

    id: int
    precision: str = ""
    names: tuple[str, ...] = ()
    dims: tuple[int, ...] = ()
    extras: tuple[Element, ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class PortEntry:
    """A line of a port map: a port of the layer, a Parameter or Result of its body, and how.

    `external` is -1 for values without a port: the iteration number, the body's condition.
    """

    external: int
    internal: int
    purpose: str = ""
    axis: int | None = None
    start: int | None = None
    end: int | None = None
    stride: int | None = None
    part_size: int | None = None
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class PortMap:
    """The mapping between a layer's ports and the Parameters and Results of one of its bodies."""

    inputs: tuple[PortEntry, ...] = ()
    outputs: tuple[PortEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class BackEdge:
    """A back edge: the Result `from_layer` feeds the Parameter `to_layer` of the next iteration."""

    from_layer: int
    to_layer: int
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection from an output port to an input port, by layer and port ids."""

    from_layer: int
    from_port: int
    to_layer: int
    to_port: int
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Body:
    """Layers in the order of the file, and the edges between them."""

    layers: tuple[Layer, ...] = ()
    edges: tuple[Edge, ...] = ()
    extras: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Layer:
    """One operation. `data` are its attributes; bodies and port maps are keyed by element tag."""

    id: int
    name: str
    type: str
    version: str
    data: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    port_maps: Mapping[str, PortMap] = field(default_factory=dict)
    back_edges: tuple[BackEdge, ...] = ()
    bodies: Mapping[str, Body] = field(default_factory=dict)
    output_names: tuple[str, ...] = ()
    extras: tuple[Element, ...] = ()
    line: int = field(default=0, compare=False)

    def __str__(self) -> str:
        shown = f"{self.type}, {self.version}" if self.version else self.type
        return f'layer {self.id} "{self.name}" ({shown})'


@dataclass(frozen=True, slots=True)
class Net:
    """A whole file."""

    name: str
    version: int
    body: Body
    line: int = field(default=0, compare=False)
