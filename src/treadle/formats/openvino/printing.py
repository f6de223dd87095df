"""Prints records as XML, in OpenVINO's own spelling and order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from treadle.formats.openvino.records import Body, Edge, Element, Layer, Net, Port, PortEntry

_PLAIN = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTED = _PLAIN | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
_PORT_MAPS = ("port_map", "else_port_map", "then_port_map")


def print_net(net: Net) -> str:
    """The .xml of a net."""
    lines = ['<?xml version="1.0"?>', _open("net", {"name": net.name, "version": net.version})]
    lines += _body(net.body, 1)
    return "\n".join([*lines, "</net>", ""])


def join_names(names: Iterable[str]) -> str:
    r"""The names as a comma list, a comma inside one as `\,`."""
    return ",".join(name.replace(",", "\\,") for name in names)


def _open(tag: str, attributes: Mapping[str, object], *, empty: bool = False) -> str:
    words = [f'{name}="{str(value).translate(_QUOTED)}"' for name, value in attributes.items()]
    return f"<{' '.join([tag, *words])}{' />' if empty else '>'}"


def _body(body: Body, depth: int) -> Iterator[str]:
    tabs = "\t" * depth
    yield f"{tabs}<layers>"
    for layer in body.layers:
        yield from _layer(layer, depth + 1)
    yield f"{tabs}</layers>"
    yield f"{tabs}<edges>"
    yield from (f"{tabs}\t{_edge(edge)}" for edge in body.edges)
    yield f"{tabs}</edges>"
    for extra in body.extras:
        yield from _element(extra, depth)


def _edge(edge: Edge) -> str:
    return (
        f'<edge from-layer="{edge.from_layer}" from-port="{edge.from_port}"'
        f' to-layer="{edge.to_layer}" to-port="{edge.to_port}" />'
    )


def _layer(layer: Layer, depth: int) -> Iterator[str]:
    tabs = "\t" * depth
    said = {"id": layer.id, "name": layer.name, "type": layer.type}
    if layer.version:
        said["version"] = layer.version
    if layer.output_names:
        said["output_names"] = join_names(layer.output_names)
    yield tabs + _open("layer", said)
    if layer.data:
        yield f"{tabs}\t{_open('data', layer.data, empty=True)}"
    for tag in _PORT_MAPS:
        if tag in layer.port_maps:
            entries = layer.port_maps[tag]
            yield f"{tabs}\t<{tag}>"
            yield from (f"{tabs}\t\t{_entry('input', each)}" for each in entries.inputs)
            yield from (f"{tabs}\t\t{_entry('output', each)}" for each in entries.outputs)
            yield f"{tabs}\t</{tag}>"
    if layer.back_edges:
        yield f"{tabs}\t<back_edges>"
        for edge in layer.back_edges:
            ends = {"from-layer": edge.from_layer, "to-layer": edge.to_layer}
            yield f"{tabs}\t\t{_open('edge', ends, empty=True)}"
        yield f"{tabs}\t</back_edges>"
    yield from _ports("input", layer.inputs, depth + 1)
    yield from _ports("output", layer.outputs, depth + 1)
    for tag, body in layer.bodies.items():
        yield f"{tabs}\t<{tag}>"
        yield from _body(body, depth + 2)
        yield f"{tabs}\t</{tag}>"
    for extra in layer.extras:
        yield from _element(extra, depth + 1)
    yield f"{tabs}</layer>"


def _entry(tag: str, entry: PortEntry) -> str:
    said: dict[str, object] = {} if entry.axis is None else {"axis": entry.axis}
    said |= {"external_port_id": entry.external, "internal_layer_id": entry.internal}
    for name in ("start", "end", "stride", "part_size"):
        if getattr(entry, name) is not None:
            said[name] = getattr(entry, name)
    if entry.purpose:
        said["purpose"] = entry.purpose
    return _open(tag, said, empty=True)


def _ports(tag: str, ports: Iterable[Port], depth: int) -> Iterator[str]:
    ports = tuple(ports)
    if not ports:
        return
    tabs = "\t" * depth
    yield f"{tabs}<{tag}>"
    for port in ports:
        said: dict[str, object] = {"id": port.id}
        if port.precision:
            said["precision"] = port.precision
        if port.names:
            said["names"] = join_names(port.names)
        if not port.dims and not port.extras:
            yield f"{tabs}\t{_open('port', said, empty=True)}"
            continue
        yield f"{tabs}\t{_open('port', said)}"
        yield from (f"{tabs}\t\t<dim>{dim}</dim>" for dim in port.dims)
        for extra in port.extras:
            yield from _element(extra, depth + 2)
        yield f"{tabs}\t</port>"
    yield f"{tabs}</{tag}>"


def _element(element: Element, depth: int) -> Iterator[str]:
    tabs = "\t" * depth
    if not element.children and not element.text:
        yield tabs + _open(element.tag, element.attributes, empty=True)
        return
    opening = tabs + _open(element.tag, element.attributes) + element.text.translate(_PLAIN)
    if not element.children:
        yield f"{opening}</{element.tag}>"
        return
    yield opening
    for child in element.children:
        yield from _element(child, depth + 1)
    yield f"{tabs}</{element.tag}>"
