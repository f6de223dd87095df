"""Turns carried values that never change into captures.

    loop(w from W): ... w ...; gives w -> W'        loop(): ... W ...;   W' is W

An Identity on the way does not count as a change. Declines if the loop would have no result left,
and if the initial value is absent.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, CarriedPort, Loop, Step, Value, defining_steps, ports, step_path
from treadle.ops import resolve_copies
from treadle.passes.simplify.captures import map_implicit_captures, replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.loop_rebuild import without_roles

NAME = "invariant carried values"


def carried_to_invariant(block: Block, at: PassContext) -> Block:
    """Make the loops of the open block capture the carried values that never change."""
    by: dict[Value, Value | None] = {}

    def change(inner: Block, path: str, owner: Step | None) -> Block:
        steps = list(inner.steps)
        for position, step in enumerate(steps):
            still = _still(step) if isinstance(step, Loop) else []
            if not isinstance(step, Loop) or not still:
                continue
            for port in still:
                by[port.param] = port.initial
                if port.result is not None:
                    by[port.result] = port.initial
                at.note(NAME, step_path(path, step, position), port.param.name)
            steps[position] = without_roles(step, carried=still)
        return replace(inner, steps=tuple(steps)) if by else inner

    return replaced(map_implicit_captures(block, change), by)


def _still(loop: Loop) -> list[CarriedPort]:
    view, made = ports(loop), defining_steps(loop.body)
    found = []
    for port in view.carried:
        given = resolve_copies(port.next, made)
        if port.initial is not None and given is not None and given in (port.param, port.initial):
            found.append(port)
    return found if len(found) < len(loop.results) else found[1:]
