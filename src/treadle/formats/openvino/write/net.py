"""Writes a model as a net and its constants; reports all unsupported steps together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from treadle.errors import InputError, Unsupported
from treadle.files import replaced_file
from treadle.formats.data_files import expect_no_data_file
from treadle.formats.openvino.printing import print_net
from treadle.formats.openvino.records import Net
from treadle.formats.openvino.write.block import write_steps
from treadle.formats.openvino.write.constant_analysis import learn
from treadle.formats.openvino.write.liveness import needed
from treadle.formats.openvino.write.net_builder import BodyBuilder, Wire, copy, is_parameter
from treadle.formats.openvino.write.pool import Pool
from treadle.formats.openvino.write.refusals import Refusal, Refusals
from treadle.formats.openvino.write.scope import Missing, Scope, WriteContext, tensor_of
from treadle.formats.openvino.write.states import State, enter_state, leave_state, states_of
from treadle.infer import infer
from treadle.ir import Block, Model, Tensor, Value

_VERSION = 11


def write_file(model: Model, path: Path) -> None:
    """Write the .xml, and the .bin beside it; both are replaced at once."""
    net, pool = write_net(model)
    text = print_net(net)
    weights = path.with_suffix(".bin")
    try:
        if not path.exists():  # an .xml that is there may be replaced, and its .bin with it
            expect_no_data_file(model, weights)
        with replaced_file(path) as draft, replaced_file(weights) as stored:
            with stored.open("wb") as file:
                pool.write(file)
            draft.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f'"{path}" cannot be written: {reason}') from None


def write_net(model: Model) -> tuple[Net, Pool]:
    """The net of a model without calls, and its constants.

    Raises Unsupported, with a finding for each step without a form in IR.
    """
    typed = infer(model)
    states = states_of(typed.main)
    knowledge = learn(typed.main, states)
    refusals = Refusals()
    pool = Pool()
    wanted = needed(typed.main, knowledge)
    writing = WriteContext(pool, knowledge, wanted, refusals, write_steps)
    scope = Scope(writing, BodyBuilder(pool))
    scope.draft.reserved |= {value.name: value for value in typed.main.results if value}
    _enter(scope, typed.main, states)
    write_steps(scope, typed.main, "main")
    _leave(scope, typed.main.results, states)
    if refusals.findings:
        raise Unsupported.of("OpenVINO IR", "without a form:", refusals.findings)
    return Net(typed.main.name or "main", _VERSION, scope.draft.build()), pool


def _enter(scope: Scope, main: Block, states: Mapping[Value, State]) -> None:
    defaults = {constant.value for constant in main.constants}
    for param in main.params:
        if param in defaults and param not in states:
            continue
        try:
            if param in states:
                wire = enter_state(scope, states[param])
            else:
                wire = scope.parameter(param.name, _input(param))
        except Refusal as refusal:
            scope.writing.refusals.add("main", f"input {param.name}", refusal)
            continue
        scope.bind(param, wire)


def _input(param: Value) -> Tensor:
    type_ = tensor_of(param.name, param.type)
    if type_.shape is None:
        raise Refusal("its rank is not known, but OpenVINO requires it", "declare its shape")
    return type_


def _leave(scope: Scope, results: tuple[Value | None, ...], states: Mapping[Value, State]) -> None:
    given: set[Wire] = set()
    assigned = {state.next: state for state in states.values()}
    for value in results:
        if value is None:
            continue
        try:
            wire = scope.wire(value)
        except Missing:
            continue
        except Refusal as refusal:
            scope.writing.refusals.add("main", f"output {value.name}", refusal)
            continue
        scope.draft.origin = value.name
        if value in assigned:
            leave_state(scope, assigned[value], wire)
            continue
        if wire in given or is_parameter(scope.draft, wire):
            (wire,) = copy(scope.draft, wire)  # otherwise both would share names and memory
        given.add(wire)
        scope.draft.result(wire, value.name)
