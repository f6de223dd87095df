"""Models that OpenVINO fails to convert or answers wrongly, measured on its CPU plugin.

Conversions that fail for other reasons (dynamic ranks, for one) depend on the data and are not
reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Several

from treadle.checks.constants import Known, is_true, whole
from treadle.checks.rules import finding
from treadle.checks.runtimes.passthrough import parameters_returned, swapped, words
from treadle.errors import Finding
from treadle.ir import (
    Branch,
    Call,
    DType,
    FunctionId,
    Leaf,
    Loop,
    Model,
    Optional,
    Sequence,
    Step,
    Tensor,
    Type,
    Value,
    ports,
    reads,
    show_type,
    walk,
    walk_block,
)

VERSION = "2026.4.1"
_SCAN = FunctionId("", "Scan")
_ARITHMETIC = ("Add", "Sub", "Mul", "Div")
_DROPPED = [3, 2]


def of_model(model: Model) -> Iterator[Finding]:
    """Report functions used together with control flow."""
    for identity, function in model.functions.items():
        for visit in walk_block(function.block, str(identity)):
            if isinstance(visit.step, Loop | Branch):
                message = "control flow in a function is not converted"
                yield finding("CF854", visit.path, message, "inline the function")
    yield from _vectors(model)
    for visit in walk_block(model.main):
        if visit.depth and isinstance(visit.step, Call) and visit.step.function in model.functions:
            message = "a call of a function in a body is not converted"
            yield finding("CF854", visit.path, message, "inline the function")


def _vectors(model: Model) -> Iterator[Finding]:
    """Report reductions over the last of three axes that precede arithmetic with a vector."""
    readers: dict[Value, list[Leaf]] = {}
    reductions: list[tuple[str, Leaf]] = []
    for path, step, _, _ in walk(model):
        if not isinstance(step, Leaf):
            continue
        for operand in filter(None, step.operands):
            readers.setdefault(operand, []).append(step)
        if _drops_last_of_three(step):
            reductions.append((path, step))
    for path, leaf in reductions:
        pending = [leaf.results[0]]
        while pending:
            value = pending.pop()
            for reader in readers.get(value, ()) if value is not None else ():
                if reader.op in _ARITHMETIC and any(map(_is_vector, reader.operands)):
                    message = f"{reader.op} with a vector after {leaf.op}: wrong values"
                    hint = "keep the axis, and drop it by Squeeze"
                    yield finding("CF861", path, message, hint)
                elif len(reader.operands) == 1:
                    pending.append(reader.results[0])


def _drops_last_of_three(leaf: Leaf) -> bool:
    if not leaf.op.startswith("Reduce") or not leaf.operands or not leaf.results:
        return False
    ranks = [
        _rank(value.inferred) if value is not None else None
        for value in (leaf.operands[0], leaf.results[0])
    ]
    before = leaf.operands[0].inferred if leaf.operands[0] is not None else None
    after = leaf.results[0].inferred if leaf.results[0] is not None else None
    if ranks != _DROPPED or not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return False
    return (before.shape or ())[:2] == after.shape


def _is_vector(value: Value | None) -> bool:
    type_ = value.inferred if value is not None else None
    shape = (type_.shape if isinstance(type_, Tensor) else None) or (1,)
    return shape[-1] != 1 and all(dim == 1 for dim in shape[:-1])


def of_step(step: Step, path: str, known: Known) -> Iterator[Finding]:
    """Report the defects of one step, without those of its bodies."""
    match step:
        case Loop():
            operands = (*step.operands, *step.results)
            yield from _types(operands, path)
            yield from _scan(step, path) if ports(step).sliced else _loop(step, path, known)
        case Branch():
            yield from _types(step.results, path)
            yield from _branch(step, path)
        case Call() if step.function == _SCAN and step.version:
            message = "the batch axis of Scan-8 is ignored: wrong values, or a failure"
            yield finding("CF858", path, message, "convert the model to opset 9 or newer")


def _types(values: Several[Value | None], path: str) -> Iterator[Finding]:
    for value in dict.fromkeys(values):
        word = _unheard(value.inferred) if value is not None else ""
        if value is not None and word:
            message = f"{value.name} is {show_type(value.inferred)}: {word}"
            yield finding("CF851", path, message, "use tensors of numbers")


def _unheard(type_: Type | None) -> str:
    match type_:
        case Optional():
            return "an optional in control flow is not converted"
        case Sequence():
            return "a sequence in control flow is not converted, or its length is wrong"
        case Tensor(DType.STRING):
            return "strings in control flow are not converted"
    return ""


def _scan(loop: Loop, path: str) -> Iterator[Finding]:
    view = ports(loop)
    if view.invariants:
        names = words([port.param for port in view.invariants])
        message = f"the body reads {names} from outside, which is not converted"
        yield finding("CF852", f"{path}.body", message, "pass it as a state that does not change")
    if parameters_returned(loop):
        message = (
            f"the body gives {words(parameters_returned(loop))} as it is: wrong values and shapes"
        )
        yield finding("CF853", f"{path}.body", message, "put an Identity before each such result")


def _loop(loop: Loop, path: str, known: Known) -> Iterator[Finding]:
    view = ports(loop)
    for port in view.carried:
        if port.result is None and port.next is not None and _may_change(port.next):
            message = f"{port.param.name} may change its shape, and nothing reads its last value"
            yield finding("CF860", path, message, "make its last value an output of the model")
    crossed = [port.param for port in swapped(loop)]
    if crossed:
        message = f"{words(crossed)} become what another carried value was: wrong values"
        yield finding("CF853", f"{path}.body", message, "put an Identity before each such result")
    trips = whole(known, loop.trip)
    if trips is not None and trips < 0:
        message = f"the trip count is {trips}, which is read as no limit"
        yield finding("CF855", path, message, "write 0")
    elif view.stacked and (trips == 0 or is_true(known, loop.condition) is False):
        message = "it never runs, and its stacked outputs are garbage, or it crashes"
        yield finding("CF856", path, message, "replace the loop by empty tensors")
    elif view.stacked and trips is None:
        message = "if it does not run, its stacked outputs are those of the run before"
        yield finding("CF856", path, message, "guard it by an If")
    if view.condition is not None and _looks_at(loop, view.condition):
        message = f"the body reads its condition {view.condition.name}: it is not converted"
        yield finding("CF859", f"{path}.body", message, "it is always true: write a constant")
    for port in view.carried:
        before = port.initial.inferred if port.initial is not None else None
        if isinstance(before, Tensor) and before.shape is not None and _loses_rank(port.next):
            message = f"the rank of {port.param.name} changes, which is not supported"
            yield finding("CF857", f"{path}.body", message, "keep the rank")


def _may_change(value: Value) -> bool:
    type_ = value.inferred
    shape = type_.shape if isinstance(type_, Tensor) else ()
    return shape is None or not all(isinstance(dim, int) for dim in shape)


def _loses_rank(value: Value | None) -> bool:
    type_ = value.inferred if value is not None else None
    return isinstance(type_, Tensor) and type_.shape is None


def _rank(type_: Type | None) -> int | None:
    return len(type_.shape) if isinstance(type_, Tensor) and type_.shape is not None else None


def _looks_at(loop: Loop, condition: Value) -> bool:
    readers = [step for step in loop.body.steps if condition in reads(step)]
    copies = all(isinstance(step, Leaf) and step.op == "Identity" for step in readers)
    return not copies or condition in loop.body.results[1:]


def _branch(branch: Branch, path: str) -> Iterator[Finding]:
    type_ = branch.condition.inferred
    if isinstance(type_, Tensor) and type_.shape is not None and len(type_.shape) > 1:
        message = f"the condition {branch.condition.name} is {show_type(type_)}: not converted"
        yield finding("CF859", path, message, "reshape it to a scalar")
    for then, otherwise in zip(branch.then.results, branch.otherwise.results, strict=True):
        one = then.inferred if then is not None else None
        two = otherwise.inferred if otherwise is not None else None
        if len({_rank(one), _rank(two)} - {None}) > 1:
            message = f"the branches give {show_type(one)} and {show_type(two)}: the shape is wrong"
            yield finding("CF857", path, message, "give both one rank")
