"""Lists everything a selector can pick: values, loops and branches, by path and name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from treadle.ir import (
    Block,
    Branch,
    Call,
    Carried,
    Condition,
    Iteration,
    Leaf,
    Loop,
    Model,
    Role,
    Sliced,
    Step,
    Value,
    bodies,
    captures,
    operator_of,
    ports,
    step_path,
    walk_block,
)


class Kind(Enum):
    """The kind of a selectable item."""

    MADE = "made"
    CARRIED = "carried"
    SLICED = "sliced"
    ITERATION = "iteration"
    CONDITION = "condition"
    INPUT = "input"
    CAPTURED = "captured"
    CONSTANT = "constant"
    LOOP = "loop"
    BRANCH = "branch"


class Selectable(NamedTuple):
    """A value called `name` of the block at `path`, or the loop or branch at `path` (name "").

    `step` is the path of the step that makes the value, "" for parameters; `operator` that step's
    operator; `roles` those of `carried`, `sliced`, `stacked`, `condition` that it has. `value` is
    the value in the program; two values of a block never have one name. `block` is the path of the
    block around a loop or branch.
    """

    path: str
    name: str
    kind: Kind
    step: str = ""
    operator: str = ""
    roles: frozenset[str] = frozenset()
    value: Value | None = None
    block: str = ""

    @property
    def full_name(self) -> str:
        """The path and name of a value: `main/loop_0.body/h`; the path of a loop or branch."""
        return f"{self.path}/{self.name}" if self.name else self.path


_KINDS: Mapping[type, Kind] = {
    Iteration: Kind.ITERATION,
    Condition: Kind.CONDITION,
    Carried: Kind.CARRIED,
    Sliced: Kind.SLICED,
}
_ROLES: Mapping[type, str] = {Carried: "carried", Sliced: "sliced", Condition: "condition"}


def selectables(model: Model) -> Iterator[Selectable]:
    """All items of the main block, each body's after its step; functions are not included."""
    yield from _of_block(model.main, "main", {p: Kind.INPUT for p in model.main.params}, {})


def _of_block(
    block: Block, path: str, params: Mapping[Value, Kind], roles: Mapping[Value, set[str]]
) -> Iterator[Selectable]:
    for param in block.params:
        kind = params.get(param, Kind.CAPTURED)
        yield Selectable(path, param.name, kind, roles=_had(roles, param), value=param)
    for constant in block.constants:
        if constant.value not in params:
            yield Selectable(path, constant.value.name, Kind.CONSTANT, value=constant.value)
    for position, step in enumerate(block.steps):
        yield from _of_step(step, step_path(path, step, position), path, roles)


def _of_step(
    step: Step, here: str, path: str, roles: Mapping[Value, set[str]]
) -> Iterator[Selectable]:
    operator = operator_of(step)
    kind = Kind.CONSTANT if isinstance(step, Leaf) and operator == "Constant" else Kind.MADE
    for value in step.results:
        if value is not None:
            had = _had(roles, value)
            yield Selectable(path, value.name, kind, here, operator, had, value)
    if isinstance(step, Loop):
        yield Selectable(here, "", Kind.LOOP, here, operator, block=path)
        params, inner = _of_loop(step)
        yield from _of_block(step.body, f"{here}.body", params, inner)
        return
    if isinstance(step, Branch):
        yield Selectable(here, "", Kind.BRANCH, here, operator, block=path)
    captured = {param for _, param in captures(step)}
    for name, body in bodies(step):
        params = {p: Kind.INPUT for p in body.params if p not in captured}
        yield from _of_block(body, f"{here}.{name}", params, {})


def _of_loop(loop: Loop) -> tuple[Mapping[Value, Kind], Mapping[Value, set[str]]]:
    params: dict[Value, Kind] = {}
    roles: dict[Value, set[str]] = {}

    def note(value: Value | None, role: str) -> None:
        if value is not None:
            roles.setdefault(value, set()).add(role)

    def of(role: Role, param: Value) -> None:
        if type(role) in _KINDS:
            params[param] = _KINDS[type(role)]
        if type(role) in _ROLES:
            note(param, _ROLES[type(role)])

    for role, param in zip(loop.roles, loop.body.params, strict=True):
        of(role, param)
    view = ports(loop)
    note(view.next_condition, "condition")
    for port in view.stacked:
        note(port.element, "stacked")
    return params, roles


def _had(roles: Mapping[Value, set[str]], value: Value) -> frozenset[str]:
    return frozenset(roles.get(value, ()))


def has_calls(model: Model) -> bool:
    """Whether a step is a call, whose values are known only after inlining."""
    return any(isinstance(visit.step, Call) for visit in walk_block(model.main))
