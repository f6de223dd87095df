"""Models that onnxruntime fails to load or answers wrongly, measured on its CPU provider."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.constants import Known
from treadle.checks.rules import finding
from treadle.checks.runtimes.edges import of_edges
from treadle.checks.runtimes.extents import extent_refusal
from treadle.checks.runtimes.omitted import of_omitted
from treadle.checks.runtimes.passthrough import parameters_returned, returned_twice, words
from treadle.errors import Finding
from treadle.ir import (
    Branch,
    Call,
    Dim,
    DType,
    FunctionId,
    Leaf,
    Loop,
    Model,
    Ports,
    Shape,
    SlicedPort,
    Step,
    Tensor,
    Type,
    Value,
    operator_of,
    ports,
    show_type,
)

_NEWEST = {"1.31.1": (26, 13), "1.32.0": (28, 14)}
"""The newest opset and IR version that each of the measured releases loads."""
VERSION = " and ".join(_NEWEST)
_RECURRENT = ("RNN", "GRU", "LSTM")
_SCAN = FunctionId("", "Scan")


def of_model(model: Model) -> Iterator[Finding]:
    """Report too new a version, integers that may reach their types' limits, and lost inputs."""
    opset = model.opsets.get("", 1)
    refusing = [release for release, (newest, _) in _NEWEST.items() if opset > newest]
    if refusing:
        most = max(_NEWEST[release][0] for release in refusing)
        message = f"opset {opset} is refused by {' and '.join(refusing)}, whose newest is {most}"
        hint = "export with an older opset: control flow has not changed since 25"
        yield finding("CF807", "", message, hint)
    refusing = [release for release, (_, most) in _NEWEST.items() if model.ir_version > most]
    if refusing:
        message = f"IR version {model.ir_version} is refused by {' and '.join(refusing)}"
        yield finding("CF807", "", message, "write an older IR version")
    yield from of_edges(model)
    yield from of_omitted(model)


def of_step(step: Step, path: str, known: Known) -> Iterator[Finding]:
    """Report the defects of one step, without those of its bodies."""
    flows = isinstance(step, Loop | Branch) or (isinstance(step, Call) and step.function == _SCAN)
    if flows and None in step.results:
        message = f"an output of {operator_of(step)} is left out: it does not load, or crashes"
        yield finding("CF803", path, message, "give it a name; nothing has to read it")
    if isinstance(step, Leaf):
        yield from _recurrent(step, path)
        yield from _extents(step, path)
    if not isinstance(step, Loop):
        return
    view = ports(step)
    if view.sliced:
        yield from _scan(step, view, path)
    else:
        yield from _loop(step, view, path)


def _recurrent(step: Leaf, path: str) -> Iterator[Finding]:
    type_ = step.operands[0].type if step.operands and step.operands[0] is not None else None
    if step.domain or step.op not in _RECURRENT or not isinstance(type_, Tensor):
        return
    if type_.dtype is DType.FLOAT64:
        message = f"{step.op} is float64, for which there is no kernel: it fails"
        yield finding("CF809", path, message, "cast to float32, or leave it a Scan")


def _extents(step: Leaf, path: str) -> Iterator[Finding]:
    why = extent_refusal(step)
    if why:
        yield finding("CF810", path, why, "guard it by an If, or give it other extents")


def _scan(loop: Loop, view: Ports, path: str) -> Iterator[Finding]:
    values = dict.fromkeys([*parameters_returned(loop), *returned_twice(loop)])
    if values:
        message = (
            f"the body gives {words(list(values))} as it is, or twice: the outputs are"
            " uninitialised memory"
        )
        yield finding("CF801", f"{path}.body", message, "put an Identity before each such result")
    for port in view.sliced:
        if _length(port) == 0:
            assert port.operand is not None
            message = f"{port.operand.name} has no items: a Scan over nothing fails, or crashes"
            yield finding("CF805", path, message, "guard it by an If")
    for stack in view.stacked:
        type_ = stack.element.inferred if stack.element is not None else None
        if stack.element is not None and _shape(type_) is None:
            message = f"{stack.element.name} is {show_type(type_)}: the rank has to be known"
            hint = "give it a constant rank by a Reshape"
            yield finding("CF806", f"{path}.body", message, hint)


def _loop(loop: Loop, view: Ports, path: str) -> Iterator[Finding]:
    if view.iteration is not None and view.iteration in loop.body.results:
        message = (
            f"the body gives its iteration number {view.iteration.name} as it is: wrong values"
        )
        yield finding("CF804", f"{path}.body", message, "put an Identity before the result")
    outer, param = loop.condition, view.condition
    wide, told = _claims(outer, param)
    if wide is not None and told is not None and len(wide) != len(told):
        yield _bound("condition", outer, param, path)
    outer, param = loop.trip, view.iteration
    wide, told = _claims(outer, param)
    if wide and told is None:
        yield _bound("trip count", outer, param, path)


def _claims(outer: Value | None, param: Value | None) -> tuple[Shape | None, Shape | None]:
    if outer is None or param is None:
        return None, None
    return _shape(outer.inferred), _shape(param.declared)


def _bound(what: str, outer: Value | None, param: Value | None, path: str) -> Finding:
    assert outer is not None
    assert param is not None
    message = (
        f"the {what} {outer.name} is {show_type(outer.inferred)}, the body declares"
        f" {param.name} as {show_type(param.declared)}: it does not load"
    )
    return finding("CF802", path, message, "give a scalar, and declare one")


def _shape(type_: Type | None) -> Shape | None:
    return type_.shape if isinstance(type_, Tensor) else None


def _length(port: SlicedPort) -> Dim:
    shape = _shape(port.operand.inferred) if port.operand is not None else None
    axis = port.role.axis
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
