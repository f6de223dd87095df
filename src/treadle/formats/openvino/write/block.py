"""Writes the steps of a block as layers, each by the row of its operator; collects refusals."""

from __future__ import annotations

from treadle.formats.openvino.write import branch, loop
from treadle.formats.openvino.write.op_context import OpContext
from treadle.formats.openvino.write.operators import row_of
from treadle.formats.openvino.write.refusals import Refusal
from treadle.formats.openvino.write.scope import Missing, Scope
from treadle.ir import (
    Block,
    Branch,
    Call,
    Leaf,
    Loop,
    Step,
    Type,
    bodies,
    operator_of,
    show_type,
    step_path,
    version_of,
)


def write_steps(scope: Scope, block: Block, path: str) -> None:
    """Write the needed steps of a block whose params have wires in the scope."""
    for position, step in enumerate(block.steps):
        if any(scope.needs(value) for value in step.results):
            _write(scope, step, step_path(path, step, position))


def _write(scope: Scope, step: Step, path: str) -> None:
    try:
        _check_kinds(step)
        match step:
            case Loop():
                loop.write(scope, step, path)
            case Branch():
                branch.write(scope, step, path)
            case Leaf():
                _leaf(scope, step)
            case Call():
                _refuse_call()
    except Missing:
        _refuse_anyway(scope, step, path)
    except Refusal as refusal:
        scope.writing.refusals.add(path, _shown(step), refusal)
        if not isinstance(step, Leaf):
            _refuse_anyway(scope, step, path)


def _refuse_call() -> None:
    raise Refusal("it has no definition by operators of OpenVINO")


def _leaf(scope: Scope, leaf: Leaf) -> None:
    row = row_of(leaf)
    first = next(value for value in leaf.results if value is not None)
    scope.draft.origin = first.name
    made = row.function(OpContext.of(leaf, scope))
    wires = made if isinstance(made, tuple) else (made,)
    if len(wires) < len(leaf.results):
        missing = [value for value in leaf.results[len(wires) :] if scope.needs(value)]
        if missing:
            raise Refusal(f"its output {missing[0].name if missing[0] else ''} is not supported")
    for value, wire in zip(leaf.results, wires, strict=False):
        if value is not None and scope.needs(value):
            scope.bind(value, wire)


def _refuse_anyway(scope: Scope, step: Step, path: str) -> None:
    """Report operators without a row even if their operands, or their body, were refused already.

    They may have further faults, which show when this one is fixed.
    """
    if isinstance(step, Leaf):
        if any(scope.needs(value) for value in step.results):
            try:
                row_of(step)
            except Refusal as refusal:
                scope.writing.refusals.add(path, _shown(step), refusal)
        return
    for name, body in bodies(step):
        for position, inner in enumerate(body.steps):
            _refuse_anyway(scope, inner, step_path(f"{path}.{name}", inner, position))


def _check_kinds(step: Step) -> None:
    operands = step.operands if isinstance(step, Leaf) else ()
    for value in (*operands, *step.results):
        type_: Type | None = None if value is None else value.type
        if type_ is not None and show_type(type_).startswith(("seq", "optional", "map", "sparse")):
            _refuse_kind(value.name if value else "", type_)


def _refuse_kind(name: str, type_: Type) -> None:
    hint = ""
    if show_type(type_).startswith("seq"):
        hint = "let the loop stack the elements (as a scan output) instead of appending them"
    elif show_type(type_).startswith("optional"):
        hint = "use the value itself, or two models"
    raise Refusal(f"{name} is {show_type(type_)}, and OpenVINO IR holds tensors only", hint)


def _shown(step: Step) -> str:
    version = version_of(step)
    return f"{operator_of(step)}-{version}" if version else operator_of(step)
