"""Rules about Scan: its counts and attributes, its states, axes and lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from treadle.checks.arity import (
    absent_inputs,
    body_inputs,
    body_outputs,
    counted,
    node_inputs,
    node_outputs,
)
from treadle.checks.rules import finding
from treadle.checks.types import disallowed, extents_contradict, is_tensor_of, kinds_contradict
from treadle.errors import Finding
from treadle.infer import grows_apart
from treadle.ir import (
    Attribute,
    Call,
    CarriedPort,
    Dim,
    DType,
    Kind,
    Loop,
    Reference,
    Shape,
    SlicedPort,
    StackedPort,
    Tensor,
    Type,
    Value,
    ports,
    show_shape,
    show_type,
)

_FORWARD_AND_REVERSE = (0, 1)
_LISTS_OF_INPUTS = {8: ("directions",), 9: ("scan_input_directions", "scan_input_axes")}
_LISTS_OF_OUTPUTS = {8: (), 9: ("scan_output_directions", "scan_output_axes")}


def arity(
    version: int,
    inputs: int,
    outputs: int,
    body_params: int,
    body_results: int,
    path: str,
    absent: Sequence[int] = (),
) -> list[Finding]:
    """Check the counts of a Scan node and its body (docs/semantics.md, versions).

    `inputs` counts Scan-8's sequence_lens, absent or not; `absent` are the positions of inputs left
    out as "".

        body_params == states + sliced    == inputs (Scan-8: without sequence_lens)
        body_results == states + stacked  == outputs
    """
    lengths = 1 if version < 9 else 0
    found = node_inputs("Scan", inputs, 1 + lengths, None, path)
    found += node_outputs("Scan", outputs, path)
    found += absent_inputs("Scan", absent, lengths, path)
    given = max(inputs - lengths, 0)
    found += body_inputs("body", body_params, given, "its states and one slice each", path)
    needed = "its states and stacked elements"
    return found + body_outputs("body", body_results, outputs, needed, path)


def attributes(
    version: int,
    given: Mapping[str, Attribute],
    inputs: int,
    outputs: int,
    path: str,
) -> list[Finding]:
    """Check the attributes of a Scan against its counts: lengths and values of directions and axes.

    `inputs` and `outputs` are as in `arity`. Axes are checked later by `check`, which knows the
    ranks. A reference to an attribute of a function is not checked.
    """
    data = inputs - (1 if version < 9 else 0)
    attribute = given.get("num_scan_inputs")
    referring = [] if version < 9 else _referring(given, path)
    if referring:
        return referring
    if attribute is not None and isinstance(attribute.value, Reference):
        return []
    wrong = _sliced_count(attribute, data, outputs, path)
    if wrong:
        return wrong
    assert attribute is not None
    assert isinstance(attribute.value, int)
    sliced = attribute.value
    stacked = outputs - (data - sliced)
    lists = 8 if version < 9 else 9
    found = []
    for names, wanted, what in (
        (_LISTS_OF_INPUTS[lists], sliced, "scan input"),
        (_LISTS_OF_OUTPUTS[lists], stacked, "scan output"),
    ):
        for name in names:
            found += _list(given.get(name), name, wanted, what, path)
    return found


def _referring(given: Mapping[str, Attribute], path: str) -> list[Finding]:
    names = ("num_scan_inputs", *_LISTS_OF_INPUTS[9], *_LISTS_OF_OUTPUTS[9])
    hint = "write the numbers, or inline the function"
    return [
        finding("CF512", path, f"{name} is the attribute {value.name} of the function", hint)
        for name, value in ((n, given[n].value) for n in names if n in given)
        if isinstance(value, Reference)
    ]


def _sliced_count(attribute: Attribute | None, data: int, outputs: int, path: str) -> list[Finding]:
    if attribute is None:
        hint = "say how many of the inputs, the last ones, are scanned"
        return [finding("CF501", path, "Scan has no attribute num_scan_inputs", hint)]
    if attribute.kind is not Kind.INT or not isinstance(attribute.value, int):
        message = f"num_scan_inputs is of kind {attribute.kind.value}, wanted int"
        return [finding("CF501", path, message, "write it as one whole number")]
    sliced = attribute.value
    if sliced < 1:
        message = f"num_scan_inputs is {sliced}, wanted at least 1"
        return [
            finding(
                "CF501",
                path,
                message,
                "without a scanned input the number of iterations is undefined",
            )
        ]
    if sliced > data:
        message = f"num_scan_inputs is {sliced}, but there {_are(data, 'input')} to scan"
        return [finding("CF501", path, message, "count the inputs after the states")]
    if data - sliced > outputs:
        message = f"Scan has {counted(data - sliced, 'state')} and {counted(outputs, 'output')}"
        return [finding("CF204", path, message, "it needs one output for each state")]
    return []


def _are(count: int, noun: str) -> str:
    return f"{'is' if count == 1 else 'are'} {counted(count, noun)}"


def _list(
    attribute: Attribute | None, name: str, wanted: int, what: str, path: str
) -> list[Finding]:
    if attribute is None or isinstance(attribute.value, Reference):
        return []
    directions = name.endswith("directions")
    if attribute.kind is not Kind.INTS or not isinstance(attribute.value, tuple):
        message = f"{name} is of kind {attribute.kind.value}, wanted ints"
        return [finding("CF503" if directions else "CF502", path, message, "write it as a list")]
    found = []
    values = attribute.value
    if len(values) != wanted:
        message = f"{name} has {counted(len(values), 'entry')}, there {_are(wanted, what)}"
        hint = f"give one entry for each {what}, or leave the attribute out"
        found.append(finding("CF503" if directions else "CF502", path, message, hint))
    if directions:
        found += [
            finding("CF504", path, f"{name}[{k}] is {value!r}", "0 is forward, 1 is reverse")
            for k, value in enumerate(values)
            if value not in _FORWARD_AND_REVERSE
        ]
    return found


def findings(loop: Loop, path: str) -> Iterator[Finding]:
    """Find contradictions in the shapes of a Scan's values that `loop.findings` does not cover."""
    view = ports(loop)
    for port in view.sliced:
        yield from _sliced(port, path)
    lengths = [(port.operand, _dim(_shape(port.operand), port.role.axis)) for port in view.sliced]
    yield from _equal(lengths, "CF507", "the scanned values are not equally long", path)
    for stack in view.stacked:
        yield from _stacked(stack, path)
    for state in view.carried:
        yield from _state(state, path)


def _shape(value: Value | None) -> Shape | None:
    type_ = None if value is None else value.inferred
    return type_.shape if isinstance(type_, Tensor) else None


def _dim(shape: Shape | None, axis: int) -> Dim:
    return shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None


def _sliced(port: SlicedPort, path: str) -> Iterator[Finding]:
    shape, axis = _shape(port.operand), port.role.axis
    if shape is None or port.operand is None:
        return
    name = f"{port.operand.name} is {show_type(port.operand.inferred)}"
    if not shape:
        hint = "give it an axis, or make it a state"
        yield finding("CF506", path, f"{name}, a scalar cannot be scanned", hint)
    elif not -len(shape) <= axis < len(shape):
        message = f"{name}, it has no axis {axis} to scan"
        yield finding("CF505", path, message, f"wanted -{len(shape)} to {len(shape) - 1}")


def _equal(
    extents: Sequence[tuple[Value | None, Dim]], code: str, what: str, path: str
) -> Iterator[Finding]:
    known = [(value, dim) for value, dim in extents if value and isinstance(dim, int)]
    if len({dim for _, dim in known}) > 1:
        found = ", ".join(f"{value.name} {dim}" for value, dim in known)
        yield finding(code, path, f"{what}: {found}", "cut or pad them")


def _stacked(port: StackedPort, path: str) -> Iterator[Finding]:
    shape, axis = _shape(port.element), port.role.axis
    if port.element is None or shape is None or -len(shape) - 1 <= axis <= len(shape):
        return
    message = (
        f"{port.element.name} is {show_type(port.element.inferred)}, no axis {axis} to stack on"
    )
    hint = f"wanted -{len(shape) + 1} to {len(shape)}"
    yield finding("CF505", f"{path}.body", message, hint)


def _state(port: CarriedPort, path: str) -> Iterator[Finding]:
    before, after = _shape(port.initial), _shape(port.next)
    if before is None or after is None or port.next is None:
        return
    message = (
        f"the state {port.param.name} starts as {show_shape(before)} and becomes"
        f" {show_shape(after)} ({port.next.name})"
    )
    if extents_contradict(before, after):
        hint = "a Scan state keeps its shape; use Loop for one that grows"
        yield finding("CF508", f"{path}.body", message, hint)
    elif any(map(grows_apart, before, after)):
        yield finding("CF509", f"{path}.body", message, "use Loop for a state that grows")


def findings_8(call: Call, path: str) -> Iterator[Finding]:
    """Find the contradictions in the types of a Scan-8's values (Operators.md, Scan-8)."""
    lengths, *given = call.operands
    count = call.attributes["num_scan_inputs"].value
    states = len(given) - (count if isinstance(count, int) else 0)
    yield from _lengths(lengths, path)
    for position, value in enumerate(given):
        shape, least = _shape(value), 1 if position < states else 2
        if value is not None and shape is not None and len(shape) < least:
            wanted = "[batch, ...]" if least == 1 else "[batch, time, ...]"
            message = f"{value.name} is {show_type(value.inferred)}, wanted {wanted}"
            yield finding("CF506", path, message, "Scan-8 has a batch axis first")
    rows = [(value, _dim(_shape(value), 0)) for value in call.operands]
    yield from _equal(rows, "CF511", "the batches are not equally large", path)
    times = [(value, _dim(_shape(value), 1)) for value in given[states:]]
    yield from _equal(times, "CF507", "the scanned values are not equally long", path)
    yield from disallowed("Scan", call.version, (*given, *call.results), path)
    yield from _states_8(call, given[:states], path)


def _lengths(lengths: Value | None, path: str) -> Iterator[Finding]:
    type_: Type | None = None if lengths is None else lengths.inferred
    shape = _shape(lengths)
    if lengths is None or (is_tensor_of(type_, DType.INT64) and (shape is None or len(shape) == 1)):
        return
    message = f"sequence_lens {lengths.name} is {show_type(type_)}, wanted int64[batch]"
    yield finding("CF510", path, message, "give one int64 for each row of the batch")


def _states_8(call: Call, states: Sequence[Value | None], path: str) -> Iterator[Finding]:
    body = call.blocks["body"]
    for state, param, after in zip(states, body.params, body.results, strict=False):
        if state is None or after is None:
            continue
        before = param.inferred
        message = (
            f"the state {param.name} starts as {show_type(before)} and becomes"
            f" {show_type(after.inferred)} ({after.name})"
        )
        hint = "a Scan state keeps its type and shape"
        if kinds_contradict(before, after.inferred):
            yield finding("CF408", f"{path}.body", message, hint)
        elif extents_contradict(_shape(param), _shape(after)):
            yield finding("CF508", f"{path}.body", message, hint)
