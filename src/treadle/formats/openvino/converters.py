"""What an element becomes when it ends: a table from its tag to a function of its Frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from treadle.formats.openvino.faults import Fault
from treadle.formats.openvino.records import (
    BackEdge,
    Body,
    Edge,
    Element,
    Layer,
    Net,
    Port,
    PortEntry,
    PortMap,
)

Record = TypeVar("Record")
_LARGEST = 2**63
_BODIES = ("body", "then_body", "else_body")
_PORT_MAPS = ("port_map", "then_port_map", "else_port_map")


@dataclass(slots=True)
class Frame:
    """An element that has begun: its attributes, and the records of the elements inside it."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[tuple[str, Any]] = field(default_factory=list)
    text: str = ""

    def text_of(self, name: str) -> str:
        """A required attribute."""
        value = self.attributes.get(name)
        if value is None:
            raise Fault("CF905", f"<{self.tag}> has no attribute {name}", line=self.line)
        return value

    def whole(self, name: str) -> int:
        """A required attribute that is a whole number."""
        return self.number(name, self.text_of(name))

    def optional(self, name: str) -> int | None:
        """An attribute that is a whole number, None where it is left out."""
        text = self.attributes.get(name)
        return None if text is None else self.number(name, text)

    def number(self, name: str, text: str) -> int:
        """The whole number a text says."""
        try:
            value = int(text) if len(text) < 24 else _LARGEST
        except ValueError:
            value = _LARGEST
        if not -_LARGEST <= value < _LARGEST:
            found = text if len(text) < 40 else f"{text[:37]}..."
            message = f'{name} of <{self.tag}> is "{found}", wanted a whole number'
            raise Fault("CF905", message, line=self.line)
        return value

    def all(self, tag: str, kind: type[Record]) -> tuple[Record, ...]:
        """The records of the elements of one tag inside this one."""
        return tuple([r for name, r in self.children if name == tag and isinstance(r, kind)])

    def extras(self) -> tuple[Element, ...]:
        """What is kept and not read."""
        return tuple([record for _, record in self.children if isinstance(record, Element)])


def kept(frame: Frame) -> Element:
    """The element as it is."""
    children = tuple(r for _, r in frame.children if isinstance(r, Element))
    if len(children) != len(frame.children):
        foreign = next(name for name, r in frame.children if not isinstance(r, Element))
        raise Fault("CF905", f"<{foreign}> stands inside <{frame.tag}>", line=frame.line)
    return Element(frame.tag, frame.attributes, children, frame.text.strip(), frame.line)


def split_names(text: str) -> tuple[str, ...]:
    r"""The names of a comma list, in which `\,` is a comma."""
    if not text:
        return ()
    if "\\" not in text:
        return tuple(text.split(","))
    marked = text.replace("\\,", "\0")
    return tuple(name.replace("\0", ",") for name in marked.split(","))


def _port(frame: Frame) -> Port:
    return Port(
        frame.whole("id"),
        frame.attributes.get("precision", ""),
        split_names(frame.attributes.get("names", "")),
        frame.all("dim", int),
        frame.extras(),
        frame.line,
    )


def _ports(frame: Frame) -> tuple[Port, ...] | PortEntry:
    if "internal_layer_id" in frame.attributes:
        return _entry(frame)
    return frame.all("port", Port)


def _entry(frame: Frame) -> PortEntry:
    return PortEntry(
        frame.whole("external_port_id"),
        frame.whole("internal_layer_id"),
        frame.attributes.get("purpose", ""),
        frame.optional("axis"),
        frame.optional("start"),
        frame.optional("end"),
        frame.optional("stride"),
        frame.optional("part_size"),
        frame.line,
    )


def _port_map(frame: Frame) -> PortMap:
    return PortMap(frame.all("input", PortEntry), frame.all("output", PortEntry))


def _edge(frame: Frame) -> Edge | BackEdge:
    if "from-port" not in frame.attributes and "to-port" not in frame.attributes:
        return BackEdge(frame.whole("from-layer"), frame.whole("to-layer"), frame.line)
    source = frame.whole("from-layer"), frame.whole("from-port")
    return Edge(*source, frame.whole("to-layer"), frame.whole("to-port"), frame.line)


def _body(frame: Frame) -> Body:
    layers = [each for name, each in frame.children if name == "layers"]
    edges = [each for name, each in frame.children if name == "edges"]
    return Body(sum(layers, ()), sum(edges, ()), frame.extras())


def _layer(frame: Frame) -> Layer:
    data: dict[str, str] = {}
    for name, record in frame.children:
        if name == "data" and isinstance(record, dict):
            data |= record
    return Layer(
        frame.whole("id"),
        frame.text_of("name"),
        frame.text_of("type"),
        frame.attributes.get("version", ""),
        data,
        _joined(frame, "input"),
        _joined(frame, "output"),
        _named(frame, _PORT_MAPS, PortMap),
        sum((r for n, r in frame.children if n == "back_edges"), ()),
        _named(frame, _BODIES, Body),
        split_names(frame.attributes.get("output_names", "")),
        frame.extras(),
        frame.line,
    )


def _joined(frame: Frame, tag: str) -> tuple[Port, ...]:
    return sum((r for n, r in frame.children if n == tag and isinstance(r, tuple)), ())


def _named(frame: Frame, tags: tuple[str, ...], kind: type[Record]) -> Mapping[str, Record]:
    return {name: r for name, r in frame.children if name in tags and isinstance(r, kind)}


def _net(frame: Frame) -> Net:
    version = frame.attributes.get("version", "")
    number = int(version) if version.isdecimal() and len(version) < 10 else -1
    return Net(frame.attributes.get("name", ""), number, _body(frame), frame.line)


CONVERTERS: Mapping[str, Callable[[Frame], Any]] = {
    "net": _net,
    "layers": lambda frame: frame.all("layer", Layer),
    "layer": _layer,
    "data": lambda frame: frame.attributes,
    "input": _ports,
    "output": _ports,
    "port": _port,
    "port_map": _port_map,
    "then_port_map": _port_map,
    "else_port_map": _port_map,
    "back_edges": lambda frame: frame.all("edge", BackEdge),
    "edges": lambda frame: frame.all("edge", Edge),
    "edge": _edge,
    "body": _body,
    "then_body": _body,
    "else_body": _body,
}
