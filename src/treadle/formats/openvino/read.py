"""Reads an .xml and its .bin as a Model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from treadle.errors import Finding
from treadle.formats.openvino.block import read_block
from treadle.formats.openvino.block_builder import OPSET, LayerBlockBuilder
from treadle.formats.openvino.diagnostics import IrError, Report
from treadle.formats.openvino.parameters import declared_of
from treadle.formats.openvino.read_context import Content, ReadContext
from treadle.formats.openvino.records import Layer, Net
from treadle.formats.openvino.state import MAIN, SUFFIX, settle
from treadle.formats.openvino.weights import Weights
from treadle.formats.openvino.xml import parse
from treadle.ir import Model, Value
from treadle.limits import read_whole, without_collection

_VERSIONS = (10, 11)
_ONNX_IR_VERSION = 10


def read_file(path: Path) -> tuple[Model | None, list[Finding]]:
    """Read the model of an .xml file; None if the findings prevent it."""
    report = Report(path.name)
    try:
        data = read_whole(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        report.add(IrError("CF001", f'"{path}" cannot be read: {reason}'))
        return None, report.findings
    return read_bytes(data, Weights.beside_xml(path), report)


def read_bytes(data: bytes, weights: Weights, report: Report) -> tuple[Model | None, list[Finding]]:
    """Read the model from the bytes of an .xml; None if the findings prevent it."""
    with without_collection():
        try:
            net = parse(data)
            _check_version(net)
        except IrError as fault:
            report.add(fault)
            return None, report.findings
        return read_net(net, weights, report), report.findings


def read_net(net: Net, weights: Weights, report: Report) -> Model | None:
    """The model of a net; None if the report holds faults that prevent it."""
    reading = ReadContext(report, weights, read_block)
    content = reading.read_block(reading, net.body, MAIN, _enter)
    if not content.whole or any(found.blocks for found in report.findings):
        return None
    results = [_result(content, layer) for layer in net.body.layers if layer.id in content.results]
    try:
        results += _variables(content.draft)
    except IrError as fault:
        report.add(fault)
        return None
    main = replace(content.draft.build(*results), name=net.name or "main")
    return Model(main, opsets={"": OPSET}, ir_version=_ONNX_IR_VERSION, producer="OpenVINO")


def _variables(draft: LayerBlockBuilder) -> list[Value]:
    """The outputs of the variables; their inputs are added to the params."""
    results = []
    for variable in settle(draft).values():
        draft.params.append(variable.before)
        draft.defaults[variable.before] = variable.initial
        if variable.after is not None:
            results.append(_named(draft, variable.after, f"{variable.before.name}{SUFFIX}"))
    return results


def _check_version(net: Net) -> None:
    if net.version not in _VERSIONS:
        message = f"the file has IR version {net.version if net.version >= 0 else 'unknown'}"
        hint = "export it again with a current OpenVINO"
        raise IrError("CF902", f"{message}, versions 10 and 11 are read", hint, net.line)


def _enter(draft: LayerBlockBuilder, layer: Layer) -> Value:
    declared = declared_of(layer)
    names = layer.outputs[0].names if layer.outputs else ()
    return draft.param(names[0] if names else layer.name, declared)


def _result(content: Content, layer: Layer) -> Value:
    """The value of a Result, under the name users know: the tensor's, else the layer's."""
    value = content.results[layer.id]
    names = layer.output_names
    if names:
        return value if value.name in names else _named(content.draft, value, names[0])
    made = {v for step in content.draft.steps for v in step.results}
    return value if value in made else _named(content.draft, value, layer.name)


def _named(draft: LayerBlockBuilder, value: Value, name: str) -> Value:
    """A result with its own name, which other values may have taken."""
    copy = draft.leaf("Identity", value)
    named = replace(copy, name=draft.fresh(name))
    draft.rename(len(draft.steps) - 1, {copy: named})
    return named
