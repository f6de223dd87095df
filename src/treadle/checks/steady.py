"""Shapes that must stay, or are said to stay, the same from iteration to iteration."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.known import Known, is_true, whole
from treadle.checks.rules import finding
from treadle.checks.types import shapes_contradict
from treadle.checks.unrolled import Iterations, first_two
from treadle.errors import Finding
from treadle.ir import CarriedPort, Dim, Loop, Model, Ports, Symbol, Tensor, Type, ports, show_type


def findings(loop: Loop, path: str, model: Model, known: Known) -> Iterator[Finding]:
    """Shapes of the first iteration that cannot be those of the second.

    Nothing of a loop that is known not to have a second one.
    """
    view = ports(loop)
    if not _in_doubt(view) or _at_most_once(loop, view, known):
        return
    types = first_two(loop, model, known)
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


def _in_doubt(view: Ports) -> bool:
    """Whether inference has left open a shape that this rule is about."""
    stacked = (port.element.inferred for port in view.stacked if port.element is not None)
    claimed = (port.param for port in view.carried if _shape(port.param.declared))
    return any(_open(type_) for type_ in stacked) or any(_open(p.inferred) for p in claimed)


def _open(type_: Type | None) -> bool:
    shape = _shape(type_)
    return shape is None or any(not isinstance(dim, int) for dim in shape)


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
    found = f"{port.param.name} starts as {show_type(start)} and is {show_type(later)} then"
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
