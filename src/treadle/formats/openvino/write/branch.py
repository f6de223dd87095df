"""Writes a Branch as If, with one port per value a side reads.

A known condition selects a block.
"""

from __future__ import annotations

from contextlib import suppress

from treadle.formats.openvino.records import PortEntry
from treadle.formats.openvino.write.control import Feeding, Inside, control_layer
from treadle.formats.openvino.write.refusals import Refusal
from treadle.formats.openvino.write.scope import Missing, Scope, tensor_of
from treadle.ir import Block, Branch, Loop, Shape, Tensor, Value, show_type

_SIDES = ("then_", "else_")


def write(scope: Scope, branch: Branch, path: str) -> None:
    """Bind the needed results of a Branch."""
    chosen = scope.writing.knowledge.chosen.get(branch)
    if chosen is not None:
        _inline(scope, branch, chosen, path)
        return
    places = [k for k, value in enumerate(branch.results) if scope.needs(value)]
    feeding = Feeding([scope.condition(branch.condition)])
    insides = _sides(scope, branch, path, places, feeding)
    types = [_result_type(branch, index) for index in places]
    results = [value for k in places if (value := branch.results[k]) is not None]
    scope.draft.origin = branch.info.name or results[0].name
    wires = control_layer(scope.draft, "If-8", feeding, types, insides)
    for value, wire in zip(results, wires, strict=True):
        scope.bind(value, wire)


def _inline(scope: Scope, branch: Branch, block: Block, path: str) -> None:
    for param, operand in zip(block.params, branch.operands, strict=True):
        if operand is not None and operand in scope.wires:
            scope.wires[param] = scope.wires[operand]
    side = _SIDES[block is not branch.then]
    scope.writing.write_steps(scope, block, f"{path}.{side}branch")
    for result, given in zip(branch.results, block.results, strict=True):
        if result is not None and given is not None and scope.needs(result):
            scope.bind(result, scope.wire(given))


def _sides(
    scope: Scope, branch: Branch, path: str, places: list[int], feeding: Feeding
) -> dict[str, Inside]:
    """Write both sides; raises Missing if faults of either were reported."""
    insides = {}
    for side, block in zip(_SIDES, (branch.then, branch.otherwise), strict=True):
        with suppress(Missing):
            insides[side] = _side(scope, branch, block, f"{path}.{side}branch", places, feeding)
    if len(insides) < len(_SIDES):
        raise Missing
    return insides


def _side(
    scope: Scope, branch: Branch, block: Block, path: str, places: list[int], feeding: Feeding
) -> Inside:
    # [*operands] -> [*results that are needed]
    inside = Inside(scope.inner(), feeding)
    for param, operand in zip(block.params, branch.operands, strict=True):
        if operand is not None and scope.needs(param):
            inside.scope.wires[param] = inside.feed(scope.wire(operand), param.name, param.type)
    if not inside.inputs and any(isinstance(step, Loop) for step in block.steps):
        # the Parameter that a loop of constants is made to depend on
        inside.feed(feeding.wires[0], "condition", feeding.wires[0].type)
    scope.writing.write_steps(inside.scope, block, path)
    for number, index in enumerate(places):
        value = _given(block.results[index], path, index)
        inside.scope.draft.origin = value.name
        layer = inside.scope.draft.result(inside.scope.wire(value), value.name)
        inside.outputs.append(PortEntry(number, layer))
    return inside


def _given(value: Value | None, path: str, index: int) -> Value:
    if value is None:
        raise Refusal(f"{path} leaves out its output {index}", "give a tensor on both sides")
    return value


def _result_type(branch: Branch, index: int) -> Tensor:
    sides = [
        tensor_of(value.name, value.type)
        for value in (branch.then.results[index], branch.otherwise.results[index])
        if value is not None
    ]
    if len({side.dtype for side in sides}) > 1:
        raise Refusal(
            f"output {index} is {' and '.join(map(show_type, sides))}", "cast one of them"
        )
    shapes = [side.shape for side in sides]
    if len(sides) == 2 and _ranks_differ(*shapes):
        found = " and ".join(show_type(side) for side in sides)
        hint = "give both sides one rank: Unsqueeze, Reshape or Expand the smaller one"
        raise Refusal(f"output {index} is {found}, OpenVINO wants one rank of both branches", hint)
    result = branch.results[index]
    return tensor_of(result.name, result.type) if result is not None else sides[0]


def _ranks_differ(one: Shape | None, two: Shape | None) -> bool:
    return one is not None and two is not None and len(one) != len(two)
