"""Reads If as a Branch; both blocks take every value that either of them reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from treadle.formats.openvino.block_builder import LayerBlockBuilder
from treadle.formats.openvino.diagnostics import IrError
from treadle.formats.openvino.read_context import Content, ControlContext, by_output
from treadle.formats.openvino.records import Layer, PortEntry, PortMap
from treadle.formats.openvino.state import enter, settle
from treadle.formats.openvino.variables import Variable
from treadle.ir import Block, Branch, Value

_SIDES = ("then", "else")


def read(context: ControlContext) -> tuple[Value, ...] | None:
    """Read the results of the If; None if a branch could not be read."""
    layer = context.layer
    if not layer.inputs:
        raise IrError("CF907", "it has no condition (input port 0)")
    used = {entry.external for side in _SIDES for entry in _entries(layer, side).inputs}
    for external in sorted(used):
        if external not in context.feeds:
            raise IrError("CF907", f"a port map names input port {external}, which does not exist")
    read_ = sorted(used)
    contents = [_side(context, side, read_) for side in _SIDES]
    if not all(content.whole for content, _ in contents):
        return None
    variables = _variables(context, [content.draft for content, _ in contents])
    blocks = [
        content.draft.build(*results, *_held(content.draft, variables))
        for content, results in contents
    ]
    results = tuple(context.draft.value(f"{layer.name}/result") for _ in layer.outputs)
    kept = tuple(context.draft.value(f"{layer.name}/variable") for _ in variables)
    condition = context.draft.scalar(context.feeds[layer.inputs[0].id])
    operands = tuple(context.feeds[external] for external in read_)
    operands += tuple(each.before for each in variables.values())
    context.draft.steps.append(_step(context, condition, blocks, operands, (*results, *kept)))
    for variable, value in zip(variables.values(), kept, strict=True):
        variable.after = value
    return results


def _variables(context: ControlContext, sides: list[LayerBlockBuilder]) -> dict[str, Variable]:
    """The variables of either side, as used by the block around the If."""
    initial = {name: each.initial for side in sides for name, each in settle(side).items()}
    variables = {name: enter(context.draft, name, value) for name, value in initial.items()}
    for side in sides:
        for name, value in initial.items():
            if name not in side.variables:
                enter(side, name, value)
            side.params.append(side.variables[name].before)
    return variables


def _held(side: LayerBlockBuilder, variables: Iterable[str]) -> list[Value]:
    """The values of the variables after a side."""
    return [side.variables[name].after or side.variables[name].before for name in variables]


def _step(
    context: ControlContext,
    condition: Value,
    blocks: list[Block],
    operands: tuple[Value, ...],
    results: tuple[Value, ...],
) -> Branch:
    info = replace(context.draft.info("If"), domain="openvino")
    return Branch(condition, blocks[0], blocks[1], operands, results, info)


def _entries(layer: Layer, side: str) -> PortMap:
    return layer.port_maps.get(f"{side}_port_map", PortMap())


def _side(
    context: ControlContext, side: str, externals: list[int]
) -> tuple[Content, tuple[Value, ...]]:
    body = context.layer.bodies.get(f"{side}_body")
    if body is None:
        raise IrError("CF907", f"it has no {side}_body")
    inner = {entry.internal: entry.external for entry in _entries(context.layer, side).inputs}
    params: dict[int, Value] = {}

    def enter(draft: LayerBlockBuilder, layer: Layer) -> Value:
        if layer.id not in inner:
            raise IrError("CF907", f"nothing feeds this Parameter of the {side}_body")
        _all_params(draft, params, context, externals)
        return params[inner[layer.id]]

    path = f"{context.path}.{side}_branch"
    content = context.reading.read_block(context.reading, body, path, enter)
    if not content.whole:
        return content, ()
    _all_params(content.draft, params, context, externals)
    return content, _results(context.layer, side, content.results)


def _all_params(
    draft: LayerBlockBuilder,
    params: dict[int, Value],
    context: ControlContext,
    externals: list[int],
) -> None:
    if params:
        return
    for external in externals:
        outer = context.feeds[external]
        params[external] = draft.param(outer.name)
        draft.know(params[external], context.draft.type_of(outer))


def _results(layer: Layer, side: str, results: Mapping[int, Value]) -> tuple[Value, ...]:
    entries, count = by_output(_entries(layer, side).outputs, layer), len(layer.outputs)
    if len(entries) != count:
        found = f"it has {count} outputs, its {side}_port_map {len(entries)}"
        raise IrError("CF907", found)
    return tuple(_result(entry, results) for entry in entries)


def _result(entry: PortEntry, results: Mapping[int, Value]) -> Value:
    if entry.internal not in results:
        message = f"layer {entry.internal} of the body is not a Result"
        raise IrError("CF907", message, line=entry.line)
    return results[entry.internal]
