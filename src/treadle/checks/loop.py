"""Rules about Loop: its counts, its trip count, its condition and its carried values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treadle.checks.arity import (
    absent_inputs,
    body_inputs,
    body_outputs,
    counted,
    node_inputs,
    node_outputs,
)
from treadle.checks.rules import finding
from treadle.checks.types import (
    disallowed,
    is_one_element,
    is_tensor_of,
    kind,
    kinds_contradict,
)
from treadle.errors import Finding
from treadle.ir import (
    Block,
    CarriedPort,
    DType,
    Leaf,
    Literal,
    Loop,
    Ports,
    StackedPort,
    Step,
    Value,
    ports,
    show_type,
)

_LEAST_INPUTS_OF_LOOP_1 = 3


def arity(
    version: int,
    inputs: int,
    outputs: int,
    body_params: int,
    body_results: int,
    path: str,
    absent: Sequence[int] = (),
) -> list[Finding]:
    """Check the counts of an ONNX Loop node and its body (docs/semantics.md, versions).

    `inputs` and `outputs` count those left out as "" too; `absent` are the positions of such
    inputs. `body_params` are the body's inputs as the file has them, without those that an IR
    version up to 3 lists for its initializers.

        body_params == 2 + carried        where carried = inputs - 2
        body_results == 1 + outputs       where outputs = carried + stacked
    """
    least = _LEAST_INPUTS_OF_LOOP_1 if version < 11 else 2
    carried = max(inputs - 2, 0)
    found = node_inputs("Loop", inputs, least, None, path)
    found += node_outputs("Loop", outputs, path)
    found += absent_inputs("Loop", absent, 2, path)
    given = f"the iteration number, the condition and {counted(carried, 'carried value')}"
    found += body_inputs("body", body_params, 2 + carried, given, path)
    if outputs < carried:
        message = f"Loop has {counted(carried, 'carried value')} and {counted(outputs, 'output')}"
        hint = 'give it one output for each carried value; "" where it is not wanted'
        return [*found, finding("CF204", path, message, hint)]
    stacked = counted(outputs - carried, "stacked element")
    needed = f"the condition, {counted(carried, 'carried value')} and {stacked}"
    return found + body_outputs("body", body_results, 1 + outputs, needed, path)


def findings(loop: Loop, path: str) -> Iterator[Finding]:
    """Report every contradiction between the types of the values of a Loop or Scan."""
    view = ports(loop)
    yield from _bounds(loop, path)
    yield from _declared(view, path)
    yield from _next_condition(view, path)
    for port in view.carried:
        yield from _carried(port, path)
    for stack in view.stacked:
        yield from _stacked(stack, path)
    operator = loop.info.op
    if operator in ("Loop", "Scan") and not loop.info.domain:
        values = [port.initial for port in view.carried] + [port.operand for port in view.sliced]
        yield from disallowed(operator, loop.info.version, (*values, *loop.results), path)
    if operator == "Loop" and loop.condition is None:
        yield from _omitted_condition(loop, view, path)


def _bounds(loop: Loop, path: str) -> Iterator[Finding]:
    for value, what, dtype, codes in (
        (loop.trip, "trip count", DType.INT64, ("CF401", "CF402")),
        (loop.condition, "condition", DType.BOOL, ("CF403", "CF404")),
    ):
        if value is not None:
            yield from one_element(value, what, dtype, codes, path)


def one_element(
    value: Value, what: str, dtype: DType, codes: tuple[str, str], path: str
) -> Iterator[Finding]:
    """Report a value that is not a tensor of the dtype with one element."""
    found = f"the {what} {value.name} is {show_type(value.inferred)}"
    if not is_tensor_of(value.inferred, dtype):
        yield finding(codes[0], path, f"{found}, wanted {dtype}[]", f"cast it to {dtype}")
    elif not is_one_element(value.inferred):
        yield finding(codes[1], path, f"{found}, wanted one element", "give a scalar")


def _declared(view: Ports, path: str) -> Iterator[Finding]:
    for param, what, dtype in (
        (view.iteration, "iteration number", DType.INT64),
        (view.condition, "condition", DType.BOOL),
    ):
        if param is None:
            continue
        if not (is_tensor_of(param.declared, dtype) and is_one_element(param.declared)):
            message = f"the body declares its {what} {param.name} as {show_type(param.declared)}"
            yield finding("CF405", f"{path}.body", f"{message}, it is {dtype}[]", "declare it so")


def _next_condition(view: Ports, path: str) -> Iterator[Finding]:
    if view.next_condition is not None:
        value, what = view.next_condition, "body's first result"
        yield from one_element(value, what, DType.BOOL, ("CF406", "CF407"), f"{path}.body")


def _carried(port: CarriedPort, path: str) -> Iterator[Finding]:
    if port.next is None:
        yield _left_out(f"the carried value {port.param.name}", path)
        return
    if port.initial is None:
        return
    before, after = port.initial.inferred, port.next.inferred
    if kinds_contradict(before, after):
        message = (
            f"{port.param.name} starts as {show_type(before)} and becomes {show_type(after)}"
            f" ({port.next.name})"
        )
        hint = "cast one of them: a carried value keeps its type"
        yield finding("CF408", f"{path}.body", message, hint)


def _left_out(what: str, path: str) -> Finding:
    message = f"the body leaves out its output for {what}"
    return finding("CF204", f"{path}.body", message, "give the output a name, and a value")


def _stacked(port: StackedPort, path: str) -> Iterator[Finding]:
    if port.element is None:
        name = port.result.name if port.result else ""
        yield _left_out(f"the stacked output {name}".rstrip(), path)
        return
    type_ = port.element.inferred
    if kind(type_) not in (None, "tensor"):
        message = f"{port.element.name} is {show_type(type_)}, only tensors can be stacked"
        yield finding("CF409", f"{path}.body", message, "carry it instead, as a state that grows")


def _omitted_condition(loop: Loop, view: Ports, path: str) -> Iterator[Finding]:
    value = view.next_condition
    if value is None or stays_true(loop.body, value, view.condition):
        return
    message = f"the condition is left out, but the body's {value.name} can turn false"
    hint = "give a true condition: read literally the standard ignores the body's one here"
    yield finding("CF410", path, message, hint)


def stays_true(body: Block, value: Value, condition: Value | None) -> bool:
    """Whether the body's next condition is always true, or passes on the condition it received."""
    made = {result: step for step in body.steps for result in step.results}
    while value is not condition:
        step = made.get(value)
        source = step.operands[0] if isinstance(step, Leaf) and step.operands else None
        if not isinstance(step, Leaf) or step.op not in ("Identity", "Cast") or source is None:
            return _is_true(body, value, step)
        value = source
    return True


def _is_true(body: Block, value: Value, step: Step | None) -> bool:
    constants = [c.array for c in body.constants if c.value is value]
    if isinstance(step, Leaf) and step.op == "Constant" and "value" in step.attributes:
        literal = step.attributes["value"].value
        constants += [literal.array] if isinstance(literal, Literal) else []
    return bool(constants) and bool(constants[0].all())
