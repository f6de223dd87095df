"""Rules about shapes that must stay, or are declared, the same in every iteration."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.constants import Known, is_true, whole
from treadle.checks.peeling import Iterations, peel_two_iterations
from treadle.checks.rules import finding
from treadle.checks.types import shapes_contradict
from treadle.errors import Finding
from treadle.ir import (
    CarriedPort,
    Dim,
    Loop,
    Model,
    Ports,
    Symbol,
    Tensor,
    Type,
    Value,
    dim_symbols,
    ports,
    show_type,
)


def findings(loop: Loop, path: str, model: Model, known: Known) -> Iterator[Finding]:
    """Report values whose shape in the second iteration cannot be that of the first.

    A loop that is known to run at most once is not reported.
    """
    view = ports(loop)
    doubtful = _in_doubt(loop, view)
    if not doubtful or _at_most_once(loop, view, known):
        return
    types = peel_two_iterations(loop, model, known, doubtful)
    if types is None:
        return
    count = 1 + len(view.carried)
    for position, port in enumerate(view.carried, 1):
        yield from _declared(loop, position, port, types, path)
    stacks = zip(view.stacked, types.first[count:], types.second[count:], strict=True)
    for stack, first, second in stacks:
        if stack.element is not None and shapes_contradict(first, second):
            message = (
                f"the stacked value {stack.element.name} is {show_type(first)} in iteration 0 and"
                f" {show_type(second)} in iteration 1"
            )
            hint = "pad the elements to one shape, or carry a sequence and insert each"
            yield finding("CF411", f"{path}.body", message, hint)


def _in_doubt(loop: Loop, view: Ports) -> list[Value]:
    """The body's results that this rule is about and whose shapes inference could not determine."""
    operands = (value.inferred for value in loop.operands if value is not None)
    fixed = frozenset(
        name for type_ in operands for dim in _shape(type_) or () for name in dim_symbols(dim)
    )
    claimed = (port for port in view.carried if _shape(port.param.declared))
    doubtful = [port.next for port in claimed if _open(port.param.inferred, fixed)]
    doubtful += [p.element for p in view.stacked if p.element and _open(p.element.inferred, fixed)]
    return [value for value in doubtful if value is not None]


def _open(type_: Type | None, fixed: frozenset[str]) -> bool:
    """Whether a dim is made of anything but numbers and symbols of the loop's operands."""
    shape = _shape(type_)
    return shape is None or any(
        not isinstance(dim, int) and not (dim_symbols(dim) and dim_symbols(dim) <= fixed)
        for dim in shape
    )


def _shape(type_: Type | None) -> tuple[Dim, ...] | None:
    return type_.shape if isinstance(type_, Tensor) else None


def _at_most_once(loop: Loop, view: Ports, known: Known) -> bool:
    trips = whole(known, loop.trip)
    stops = is_true(known, view.next_condition) is False
    return (trips is not None and trips < 2) or is_true(known, loop.condition) is False or stops


def _declared(
    loop: Loop, position: int, port: CarriedPort, types: Iterations, path: str
) -> Iterator[Finding]:
    claim, later = port.param.declared, types.first[position]
    start = port.initial.inferred if port.initial is not None else None
    claimed = loop.body.claims[position].type if loop.body.claims else None
    if not isinstance(claim, Tensor) or shapes_contradict(claim, start):
        return
    found = f"{port.param.name} starts as {show_type(start)} and is {show_type(later)} afterwards"
    if shapes_contradict(claim, later):
        message = f"{found}, the body declares {show_type(claim)} for every iteration"
    elif _symbols(claim) & _symbols(claimed) and shapes_contradict(start, later):
        message = f"{found}, the body declares {show_type(claim)} and {show_type(claimed)} for it"
    else:
        return
    hint = "declare no dim that changes: optimisers that believe this one miscompile"
    yield finding("CF412", f"{path}.body", message, hint)


def _symbols(type_: Type | None) -> set[tuple[int, str]]:
    dims = enumerate(_shape(type_) or ())
    return {(axis, dim.name) for axis, dim in dims if isinstance(dim, Symbol)}
