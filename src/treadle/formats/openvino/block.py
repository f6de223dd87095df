"""Reads the layers of a body into the steps of a block, each by the table of its type."""

from __future__ import annotations

from collections.abc import Mapping

from treadle.formats.openvino import branch, loop, state
from treadle.formats.openvino.block_builder import LayerBlockBuilder, claim_of
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.layer_context import LayerContext
from treadle.formats.openvino.operators import operator_of, opset_of
from treadle.formats.openvino.read_context import Content, ControlContext, Enter, ReadContext
from treadle.formats.openvino.records import Body, Layer, Port
from treadle.formats.openvino.wiring import Source, order, wire
from treadle.ir import Info, Value
from treadle.limits import poll

_CONTROL = {"loop": loop.read, "tensoriterator": loop.read, "if": branch.read}
_UNNAMED: Mapping[str, str] = {}
_CONTROL_SINCE = {"loop": 5, "tensoriterator": 1, "if": 8}


def read_block(reading: ReadContext, body: Body, path: str, enter: Enter) -> Content:
    """Read the body into a block builder; reports all faults of its layers."""
    draft = LayerBlockBuilder(path.rpartition("/")[2], path)
    try:
        wiring = wire(body)
        ordered = order(wiring)
    except IrError as fault:
        reading.report.add(fault)
        return Content(draft, {}, False)
    layers = _Layers(reading, draft, path, enter)
    for layer in body.layers:
        if layer.type.lower() == "parameter":
            layers.read(layer, ())
    for layer in ordered:
        if layer.type.lower() != "parameter":
            layers.read(layer, wiring.sources[layer.id])
    return Content(draft, layers.results, not layers.failed)


class _Layers:
    """The layers of one body, read in order."""

    def __init__(
        self, reading: ReadContext, draft: LayerBlockBuilder, path: str, enter: Enter
    ) -> None:
        self.reading, self.draft, self.path, self.enter = reading, draft, path, enter
        self.values: dict[Source, Value] = {}
        self.results: dict[int, Value] = {}
        self.failed: set[int] = set()

    def read(self, layer: Layer, sources: tuple[Source, ...]) -> None:
        """Read one layer; skips a layer that depends on a failed one, whose fault is reported."""
        poll()
        try:
            operands = tuple([self.values[source] for source in sources])
        except KeyError:
            self.failed.add(layer.id)
            self._report_unsupported(layer)
            return
        since = len(self.draft.steps)
        try:
            values = self._values(layer, operands)
        except IrError as fault:
            self.reading.report.add(fault, layer)
            self.failed.add(layer.id)
            return
        if values is None:
            self.failed.add(layer.id)
            return
        self._define(layer, values, since)

    def _report_unsupported(self, layer: Layer) -> None:
        """Report an unsupported layer even if one of its inputs failed already."""
        kind = layer.type.lower()
        if kind not in _CONTROL and kind not in _SPECIAL:
            try:
                operator_of(layer)
            except IrError as fault:
                self.reading.report.add(fault, layer)

    def _values(self, layer: Layer, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        kind = layer.type.lower()
        self.draft.named = _UNNAMED
        self.draft.origin = Info(name=layer.name, op=layer.type, version=opset_of(layer.version))
        if kind in _SPECIAL:
            return _SPECIAL[kind](self, layer, operands)
        if kind in _CONTROL:
            return self._control(kind, layer, operands)
        row = operator_of(layer)
        if row.onnx and len(layer.outputs) == 1:
            self.draft.named = {row.onnx: _name(layer, layer.outputs[0])}
        made = row.function(LayerContext(layer, row.version, operands, self.draft))
        return made if isinstance(made, tuple) else (made,)

    def _control(
        self, kind: str, layer: Layer, operands: tuple[Value, ...]
    ) -> tuple[Value, ...] | None:
        if opset_of(layer.version) < _CONTROL_SINCE[kind]:
            message = f"{layer.type} exists from opset{_CONTROL_SINCE[kind]} on"
            raise IrError("CF908", message)
        feeds = {port.id: value for port, value in zip(layer.inputs, operands, strict=True)}
        path = f"{self.path}/{layer.name}"
        context = ControlContext(self.reading, layer, self.draft, feeds, path)
        return _CONTROL[kind](context)

    def parameter(self, layer: Layer, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        return (self.enter(self.draft, layer),)

    def result(self, layer: Layer, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        if len(operands) != 1:
            raise IrError("CF909", f"it has {len(operands)} inputs, wanted 1")
        self.results[layer.id] = operands[0]
        return ()

    def const(self, layer: Layer, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        port = layer.outputs[0] if layer.outputs else Port(0)
        said = tuple(layer.data.get(key, "") for key in ("element_type", "shape", "offset", "size"))
        key = (said[0] or port.precision, said[1] or str(port.dims), said[2], said[3])
        literal = self.reading.literals.get(key)
        if literal is None:
            literal = self.reading.weights.literal(layer, (_word(port), port.dims))
            self.reading.literals[key] = literal
        return (self.draft.literal(literal, _name(layer, port)),)

    def read_value(self, layer: Layer, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        return (state.read_value(self.draft, layer, operands),)

    def assign(self, layer: Layer, operands: tuple[Value, ...]) -> tuple[Value, ...]:
        state.assign(self.draft, layer, operands)
        return operands[:1]

    def _define(self, layer: Layer, values: tuple[Value, ...], since: int) -> None:
        """Give the layer's results their names and declared types."""
        if len(values) < len(layer.outputs):
            found = f"it has {len(layer.outputs)} outputs, {layer.type} has {len(values)}"
            self.reading.report.add(IrError("CF909", found), layer)
            self.failed.add(layer.id)
            return
        draft = self.draft
        made = {v for step in draft.steps[since:] for v in step.results}
        named: dict[Value, Value] = {}
        for port, value in zip(layer.outputs, values, strict=False):
            final = value
            if value in made and value not in named:
                name = _name(layer, port)
                if value.name != name:
                    final = named[value] = draft.value(name, value.declared)
                draft.claims[final] = claim_of(port.precision, port.dims)
            self.values[layer.id, port.id] = named.get(value, final)
        if named:
            draft.rename(since, named)


_SPECIAL = {
    "parameter": _Layers.parameter,
    "result": _Layers.result,
    "const": _Layers.const,
    "constant": _Layers.const,
    "readvalue": _Layers.read_value,
    "assign": _Layers.assign,
}


def _name(layer: Layer, port: Port) -> str:
    if port.names:
        return port.names[0]
    return layer.name if len(layer.outputs) < 2 else f"{layer.name}.{layer.outputs.index(port)}"


def _word(port: Port) -> str:
    words = {"fp32": "f32", "fp16": "f16", "fp64": "f64", "bool": "boolean", "bin": "u1"}
    return words.get(port.precision.lower(), port.precision.lower())
