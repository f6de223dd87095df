"""The connections between ports, and an order of layers in which each follows its operands."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.records import Body, Edge, Layer

Source = tuple[int, int]
"""A layer id and an output port id."""

_ENDS = frozenset(("result", "assign"))


@dataclass(frozen=True, slots=True)
class Wiring:
    """The layers by id, the sources of each (in the file's order of ports), and the end layers."""

    layers: dict[int, Layer]
    sources: dict[int, tuple[Source, ...]]
    ends: tuple[Layer, ...]


def wire(body: Body) -> Wiring:
    """Connect the layers of a body; raises IrError for a wrong edge or id."""
    layers: dict[int, Layer] = {}
    for layer in body.layers:
        if layer.id in layers:
            raise IrError("CF906", f"two layers have the id {layer.id}", line=layer.line)
        layers[layer.id] = layer
    given = {(layer.id, port.id) for layer in body.layers for port in layer.outputs}
    wanted = {(layer.id, port.id) for layer in body.layers for port in layer.inputs}
    fed: dict[Source, Source] = {}
    for edge in body.edges:
        source, target = (edge.from_layer, edge.from_port), (edge.to_layer, edge.to_port)
        if source not in given or target not in wanted or target in fed:
            raise _misled(edge, source, target, given, wanted)
        fed[target] = source
    sources = {layer.id: _sources(layer, fed) for layer in body.layers}
    ends = tuple([layer for layer in body.layers if layer.type.lower() in _ENDS])
    return Wiring(layers, sources, ends)


def _misled(
    edge: Edge, source: Source, target: Source, given: Container[Source], wanted: Container[Source]
) -> IrError:
    for end, known, what in ((source, given, "output"), (target, wanted, "input")):
        if end not in known:
            message = f"an edge names {what} port {end[1]} of layer {end[0]}, which does not exist"
            return IrError("CF906", message, line=edge.line)
    message = f"two edges lead to input port {target[1]} of layer {target[0]}"
    return IrError("CF906", message, line=edge.line)


def _sources(layer: Layer, fed: dict[Source, Source]) -> tuple[Source, ...]:
    try:
        return tuple([fed[layer.id, port.id] for port in layer.inputs])
    except KeyError as missing:
        message = f"nothing feeds input port {missing.args[0][1]} of {layer}"
        raise IrError("CF906", message, line=layer.line) from None


def order(wiring: Wiring) -> list[Layer]:
    """The layers that the ends need, each after its sources; raises IrError for a cycle."""
    done: set[int] = set()
    open_: set[int] = set()
    ordered: list[Layer] = []
    pending: list[int] = [layer.id for layer in reversed(wiring.ends)]
    while pending:
        here = pending[-1]
        if here in done:
            pending.pop()
            continue
        missing = [layer for layer, _ in wiring.sources[here] if layer not in done]
        if not missing:
            pending.pop()
            done.add(here)
            ordered.append(wiring.layers[here])
            continue
        if here in open_:
            layer = wiring.layers[here]
            raise IrError("CF906", f"{layer} reads its own result", line=layer.line)
        open_.add(here)
        pending += reversed(missing)
    return ordered
