"""Advice on carried values that need not be carried: unread, constant, or growing by copies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import (
    CarriedPort,
    Leaf,
    Loop,
    Ports,
    Step,
    Value,
    defining_steps,
    ports,
    reachable,
    reads,
)
from treadle.ops import resolve_copies

_APPEND = 2
_SHOWN = 6
_PILES = {"Concat": "copies all of it", "SequenceInsert": "makes a new sequence of it"}


def findings(loop: Loop, path: str, used: Collection[Value]) -> Iterator[Finding]:
    """Report useless carried and stacked values.

    `used` holds the values that the loop's block reads.
    """
    view = ports(loop)
    made = defining_steps(loop.body)
    live = _live(loop, view, made, used)
    where = f"{path}.body"
    dead = [p for p in view.carried if p.param not in live and p.next not in live]
    still = [p for p in view.carried if p not in dead and resolve_copies(p.next, made) is p.param]
    if dead:
        hint = "remove it from the loop: its input, the body's input and output, its output"
        yield finding("CF415", where, f"nothing depends on the carried {_names(dead)}", hint)
    if still:
        never = "never changes" if len(still) == 1 else "never change"
        hint = "let the body read the outer value by its name instead"
        yield finding("CF416", where, f"the carried {_names(still)} {never}", hint)
    for port in view.carried:
        if port not in dead and port not in still:
            yield from _pile(loop, port, made, where)
    for stack in view.stacked:
        if stack.result is not None and stack.result not in used and stack.element is not None:
            message = f"{stack.element.name} is stacked into {stack.result.name}, nothing reads it"
            hint = "remove the output of the loop and of its body"
            yield finding("CF415", where, message, hint)


def _live(
    loop: Loop, view: Ports, made: Mapping[Value, Step], used: Collection[Value]
) -> set[Value]:
    """The body's values on which the condition or a result with a reader depends."""
    wanted = [view.next_condition]
    wanted += [port.next for port in view.carried if port.result in used]
    wanted += [port.element for port in view.stacked if port.result in used]
    return closure(view, made, wanted)


def closure(view: Ports, made: Mapping[Value, Step], wanted: Iterable[Value | None]) -> set[Value]:
    """The body's values on which the wanted values depend, over any number of iterations."""
    ends = {port.param: port.next for port in view.carried}
    return reachable(wanted, lambda v: reads(made[v]) if v in made else (ends.get(v),))


def _names(found: Sequence[CarriedPort]) -> str:
    names = [port.param.name for port in found]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"value{'s' if len(names) > 1 else ''} {', '.join(names[:_SHOWN])}{more}"


def _pile(
    loop: Loop, port: CarriedPort, made: Mapping[Value, Step], where: str
) -> Iterator[Finding]:
    grown = resolve_copies(port.next, made)
    step = made.get(grown) if grown is not None else None
    if not isinstance(step, Leaf) or step.domain or step.op not in _PILES:
        return
    parts = step.operands if step.op == "Concat" else step.operands[:1]
    if port.param not in (resolve_copies(part, made) for part in parts):
        return
    if step.op == "SequenceInsert" and len(step.operands) > _APPEND:
        return
    readers = sum(port.param in reads(each) for each in loop.body.steps)
    if readers + (port.param in loop.body.results) > 1:
        return
    message = (
        f"{port.param.name} grows by {step.op} in every iteration, which {_PILES[step.op]}:"
        " the time is quadratic in the number of iterations"
    )
    hint = "let the body give the new part as a stacked output, and join them after the loop"
    yield finding("CF418", where, message, hint)
