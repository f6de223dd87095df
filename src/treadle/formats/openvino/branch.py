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


def read(hand: ControlContext) -> tuple[Value, ...] | None:
    """Read the results of the If; None if a branch could not be read."""
    layer = hand.layer
    if not layer.inputs:
        raise IrError("CF907", "it has no condition (input port 0)")
    used = {entry.external for side in _SIDES for entry in _entries(layer, side).inputs}
    for external in sorted(used):
        if external not in hand.feeds:
            raise IrError("CF907", f"a port map names input port {external}, which does not exist")
    read_ = sorted(used)
    contents = [_side(hand, side, read_) for side in _SIDES]
    if not all(content.whole for content, _ in contents):
        return None
    variables = _variables(hand, [content.draft for content, _ in contents])
    blocks = [
        content.draft.build(*results, *_held(content.draft, variables))
        for content, results in contents
    ]
    results = tuple(hand.draft.value(f"{layer.name}/result") for _ in layer.outputs)
    kept = tuple(hand.draft.value(f"{layer.name}/variable") for _ in variables)
    condition = hand.draft.scalar(hand.feeds[layer.inputs[0].id])
    operands = tuple(hand.feeds[external] for external in read_)
    operands += tuple(each.before for each in variables.values())
    hand.draft.steps.append(_step(hand, condition, blocks, operands, (*results, *kept)))
    for variable, value in zip(variables.values(), kept, strict=True):
        variable.after = value
    return results


def _variables(hand: ControlContext, sides: list[LayerBlockBuilder]) -> dict[str, Variable]:
    """The variables of either side, as used by the block around the If."""
    initial = {name: each.initial for side in sides for name, each in settle(side).items()}
    variables = {name: enter(hand.draft, name, value) for name, value in initial.items()}
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
    hand: ControlContext,
    condition: Value,
    blocks: list[Block],
    operands: tuple[Value, ...],
    results: tuple[Value, ...],
) -> Branch:
    info = replace(hand.draft.info("If"), domain="openvino")
    return Branch(condition, blocks[0], blocks[1], operands, results, info)


def _entries(layer: Layer, side: str) -> PortMap:
    return layer.port_maps.get(f"{side}_port_map", PortMap())


def _side(
    hand: ControlContext, side: str, externals: list[int]
) -> tuple[Content, tuple[Value, ...]]:
    body = hand.layer.bodies.get(f"{side}_body")
    if body is None:
        raise IrError("CF907", f"it has no {side}_body")
    inner = {entry.internal: entry.external for entry in _entries(hand.layer, side).inputs}
    params: dict[int, Value] = {}

    def enter(draft: LayerBlockBuilder, layer: Layer) -> Value:
        if layer.id not in inner:
            raise IrError("CF907", f"nothing feeds this Parameter of the {side}_body")
        _all_params(draft, params, hand, externals)
        return params[inner[layer.id]]

    path = f"{hand.path}.{side}_branch"
    content = hand.reading.read_block(hand.reading, body, path, enter)
    if not content.whole:
        return content, ()
    _all_params(content.draft, params, hand, externals)
    return content, _results(hand.layer, side, content.results)


def _all_params(
    draft: LayerBlockBuilder, params: dict[int, Value], hand: ControlContext, externals: list[int]
) -> None:
    if params:
        return
    for external in externals:
        outer = hand.feeds[external]
        params[external] = draft.param(outer.name)
        draft.know(params[external], hand.draft.type_of(outer))


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
