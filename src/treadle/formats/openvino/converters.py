"""Converts an element when it ends: a table from its tag to a function of its Frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from treadle.formats.openvino.diagnostics import IrError
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
LONGEST_TEXT = 1 << 20
TEXT = "#text"
"""The key for text among the children of an element that is kept."""
_LARGEST = 2**63
_LONGEST_NUMBER = 19
_BODIES = ("body", "then_body", "else_body")
_PORT_MAPS = ("port_map", "then_port_map", "else_port_map")


@dataclass(slots=True)
class Frame:
    """An open element: its attributes, its dims, and the records of the elements inside it.

    Every layer has about ten of them, so the common case is tested first.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[tuple[str, Any]]
    dims: list[int]

    def text_of(self, name: str) -> str:
        """A required attribute."""
        value = self.attributes.get(name)
        if value is None:
            raise IrError("CF905", f"<{self.tag}> has no attribute {name}", line=self.line)
        return value

    def whole(self, name: str) -> int:
        """A required attribute that is a whole number."""
        text = self.attributes.get(name, "")
        if text.isdecimal() and len(text) < _LONGEST_NUMBER:
            return int(text)
        return self.number(name, self.text_of(name))

    def optional(self, name: str) -> int | None:
        """An integer attribute; None if it is left out."""
        text = self.attributes.get(name)
        return None if text is None else self.number(name, text)

    def number(self, name: str, text: str) -> int:
        """The integer in a text."""
        try:
            value = int(text) if len(text) < 24 else _LARGEST
        except ValueError:
            value = _LARGEST
        if not -_LARGEST <= value < _LARGEST:
            found = text if len(text) < 40 else f"{text[:37]}..."
            message = f'{name} of <{self.tag}> is "{found}", wanted a whole number'
            raise IrError("CF905", message, line=self.line)
        return value

    def all(self, kind: type[Record]) -> tuple[Record, ...]:
        """The records of one kind inside this element."""
        return tuple([record for _, record in self.children if isinstance(record, kind)])

    def extras(self) -> tuple[Element, ...]:
        """The elements that are kept and not interpreted."""
        return self.all(Element) if self.children else ()


def unread_element(frame: Frame) -> Element:
    """The element unchanged, with the texts around its children joined."""
    children = tuple([r for _, r in frame.children if isinstance(r, Element)])
    text = ""
    if len(children) != len(frame.children):
        text = _text(frame)
    return Element(frame.tag, frame.attributes, children, text, frame.line)


def _text(frame: Frame) -> str:
    """The text of an element; raises IrError if it contains records."""
    for tag, record in frame.children:
        if tag != TEXT and not isinstance(record, Element):
            raise IrError("CF905", f"<{tag}> stands inside <{frame.tag}>", line=frame.line)
    text = "".join([record for tag, record in frame.children if tag == TEXT])
    if len(text) > LONGEST_TEXT:
        message = f"a text is longer than {LONGEST_TEXT} characters"
        raise IrError("CF903", message, line=frame.line)
    return text.strip()


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
        tuple(frame.dims),
        frame.extras(),
        frame.line,
    )


def _ports(frame: Frame) -> tuple[Port, ...] | PortEntry:
    if "internal_layer_id" in frame.attributes:
        return _entry(frame)
    return frame.all(Port)


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
    entries = [(tag, r) for tag, r in frame.children if isinstance(r, PortEntry)]
    inputs = tuple([entry for tag, entry in entries if tag == "input"])
    return PortMap(inputs, tuple([entry for tag, entry in entries if tag == "output"]))


def _edge(frame: Frame) -> Edge | BackEdge:
    whole = frame.whole
    if "from-port" not in frame.attributes and "to-port" not in frame.attributes:
        return BackEdge(whole("from-layer"), whole("to-layer"), frame.line)
    source = whole("from-layer"), whole("from-port")
    return Edge(*source, whole("to-layer"), whole("to-port"), frame.line)


def _body(frame: Frame) -> Body:
    parts = _parts(frame)
    return Body(_joined(parts, "layers"), _joined(parts, "edges"), frame.extras())


def _layer(frame: Frame) -> Layer:
    parts, attributes = _parts(frame), frame.attributes
    data: dict[str, str] = {}
    for each in parts.get("data", ()):
        data |= each
    return Layer(
        frame.whole("id"),
        frame.text_of("name"),
        frame.text_of("type"),
        attributes.get("version", ""),
        data,
        _joined(parts, "input"),
        _joined(parts, "output"),
        {tag: parts[tag][-1] for tag in _PORT_MAPS if tag in parts},
        _joined(parts, "back_edges"),
        {tag: parts[tag][-1] for tag in _BODIES if tag in parts},
        split_names(attributes.get("output_names", "")),
        frame.extras(),
        frame.line,
    )


def _parts(frame: Frame) -> dict[str, list[Any]]:
    """The records inside an element, by tag; a tag may occur several times."""
    parts: dict[str, list[Any]] = {}
    for tag, record in frame.children:
        if tag in parts:
            parts[tag].append(record)
        else:
            parts[tag] = [record]
    return parts


def _joined(parts: dict[str, list[Any]], tag: str) -> tuple[Any, ...]:
    """The records of all elements of a tag."""
    if tag not in parts:
        return ()
    lists = [each for each in parts[tag] if isinstance(each, tuple)]
    return lists[0] if len(lists) == 1 else tuple(chain.from_iterable(lists))


def _net(frame: Frame) -> Net:
    version = frame.attributes.get("version", "")
    number = int(version) if version.isdecimal() and len(version) < 10 else -1
    return Net(frame.attributes.get("name", ""), number, _body(frame), frame.line)


CONVERTERS: Mapping[str, Callable[[Frame], Any]] = {
    "net": _net,
    "layers": lambda frame: frame.all(Layer),
    "layer": _layer,
    "data": lambda frame: frame.attributes,
    "input": _ports,
    "output": _ports,
    "port": _port,
    "port_map": _port_map,
    "then_port_map": _port_map,
    "else_port_map": _port_map,
    "back_edges": lambda frame: frame.all(BackEdge),
    "edges": lambda frame: frame.all(Edge),
    "edge": _edge,
    "body": _body,
    "then_body": _body,
    "else_body": _body,
}
