"""Takes loops apart and rebuilds them: shared by the simplification passes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from treadle.ir import (
    Block,
    Carried,
    CarriedPort,
    Condition,
    Declaration,
    Info,
    Iteration,
    Loop,
    Ports,
    Role,
    Sliced,
    SlicedPort,
    StackedPort,
    Value,
    bodies,
    ports,
    reads,
)


def without_roles(
    loop: Loop,
    carried: Collection[CarriedPort] = (),
    stacked: Collection[StackedPort] = (),
    sliced: Collection[SlicedPort] = (),
) -> Loop:
    """Remove these ports; the body still reads their params, so the loop is not valid yet."""
    view = ports(loop)
    return rebuild_loop(
        loop,
        view._replace(
            carried=tuple(port for port in view.carried if port not in carried),
            stacked=tuple(port for port in view.stacked if port not in stacked),
            sliced=tuple(port for port in view.sliced if port not in sliced),
        ),
    )


def rebuild_loop(loop: Loop, view: Ports) -> Loop:
    """Rebuild the open loop with these ports; its trip count, condition and steps stay."""
    roles: list[Role] = []
    params: list[Value] = []
    for role, param in ((Iteration(), view.iteration), (Condition(), view.condition)):
        if param is not None:
            roles.append(role)
            params.append(param)
    rest = _rest(loop)
    body = replace(
        loop.body,
        params=(
            *params,
            *(port.param for port in view.carried),
            *(port.param for port in view.sliced),
            *(param for _, param, _ in rest),
        ),
        results=(
            view.next_condition,
            *(port.next for port in view.carried),
            *(port.element for port in view.stacked),
        ),
    )
    body = replace(body, claims=_claims(loop, view))
    return replace(
        loop,
        roles=(
            *roles,
            *[Carried()] * len(view.carried),
            *(port.role for port in view.sliced),
            *(role for role, _, _ in rest),
        ),
        operands=(
            *(port.initial for port in view.carried),
            *(port.operand for port in view.sliced),
            *(operand for _, _, operand in rest),
        ),
        body=body,
        stacks=tuple(port.role for port in view.stacked),
        results=(
            *(port.result for port in view.carried),
            *(port.result for port in view.stacked),
        ),
        info=_info(loop, view),
    )


_LISTS = (
    "scan_input_axes",
    "scan_input_directions",
    "scan_output_axes",
    "scan_output_directions",
)


def _info(loop: Loop, view: Ports) -> Info:
    """The loop's origin, without lists of axes and directions of the wrong length."""
    old = ports(loop)
    if len(old.sliced) == len(view.sliced) and len(old.stacked) == len(view.stacked):
        return loop.info
    kept = {name: each for name, each in loop.info.attributes.items() if name not in _LISTS}
    return replace(loop.info, attributes=kept)


def _claims(loop: Loop, view: Ports) -> tuple[Declaration, ...]:
    """The declarations of the remaining results, in their new order."""
    if not loop.body.claims:
        return ()
    old = ports(loop)
    condition, *rest = loop.body.claims
    said = dict(zip((*old.carried, *old.stacked), rest, strict=True))
    return (condition, *(said.get(port, Declaration()) for port in (*view.carried, *view.stacked)))


def _rest(loop: Loop) -> list[tuple[Role, Value, Value | None]]:
    """The remainder of an open loop: invariants without an operand."""
    operands = iter(loop.operands)
    found: list[tuple[Role, Value, Value | None]] = []
    for role, param in zip(loop.roles, loop.body.params, strict=True):
        if isinstance(role, Iteration | Condition):
            continue
        operand = next(operands)
        if not isinstance(role, Carried | Sliced):
            found.append((role, param, operand))
    return found


def count_reads(block: Block, value: Value | None) -> int:
    """The number of times that the open block and its bodies read or return a value."""
    count = sum(each is value for each in block.results)
    for step in block.steps:
        count += sum(each is value for each in reads(step))
        count += sum(count_reads(body, value) for _, body in bodies(step))
    return count
