"""All findings of a closed model, in the order of its steps."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from treadle.checks import (
    attribute_references,
    branch,
    call,
    carried,
    dead_steps,
    declarations,
    leaf,
    loop,
    loop_invariant,
    recursion,
    runtimes,
    scan,
    shape_stability,
    trip_count,
)
from treadle.checks.constants import constant_values
from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.infer import Conflict, infer_with_conflicts
from treadle.ir import (
    Block,
    Branch,
    Call,
    FunctionId,
    Leaf,
    Loop,
    Model,
    Step,
    Value,
    bodies,
    ports,
    walk,
)

_SCAN = FunctionId("", "Scan")


def check(model: Model, portable: Collection[str] = ()) -> list[Finding]:
    """Check a closed model and return its findings by path, without those found while closing it.

    `portable` names runtimes (`RUNTIMES`): models they are known not to load, or to answer wrongly,
    are reported too.
    """
    typed, conflicts = infer_with_conflicts(model)
    found = [*_findings(typed, conflicts), *advice(typed)]
    for name in portable:
        found += runtimes.findings(typed, name)
    return found


def infer_with_findings(model: Model) -> tuple[Model, list[Finding]]:
    """Return the model with inferred types, and the findings of `check` without advice."""
    typed, conflicts = infer_with_conflicts(model)
    return typed, _findings(typed, conflicts)


def _findings(typed: Model, conflicts: list[Conflict]) -> list[Finding]:
    refused = {conflict.path: conflict for conflict in conflicts}
    found = [*recursion.findings(typed), *declarations.findings(typed.main, "main")]
    found += attribute_references.findings(typed)
    found += leaf.omitted_by_callers(typed)
    for path, step, _, _ in walk(typed):
        rules = list(of_step(step, path, typed))
        conflict = refused.pop(path, None)
        told = any(each.blocks or each.code == "CF706" for each in rules)
        if conflict is not None and not told:
            rules.append(_refusal(conflict))
        found += rules
        for name, body in bodies(step):
            found += declarations.findings(body, f"{path}.{name}", _given(step))
    return found + [_refusal(conflict) for conflict in refused.values()]


def advice(typed: Model) -> Iterator[Finding]:
    """Rules that analyse a typed model more closely; none of them stops a session."""
    known = constant_values(typed)
    used: dict[Block, set[Value]] = {}
    for path, step, block, _ in walk(typed):
        if block not in used:
            used[block] = dead_steps.used_values(block)
        for name, body in bodies(step):
            yield from dead_steps.findings(body, f"{path}.{name}")
        match step:
            case Loop():
                yield from shape_stability.findings(step, path, typed, known)
                yield from trip_count.findings(step, path, known)
                yield from carried.findings(step, path, used[block])
                yield from loop_invariant.findings(step, path, known)
            case Branch():
                yield from branch.advice(step, path, known)
    yield from call.uncalled(typed)


def _given(step: Step) -> tuple[Value, ...]:
    if not isinstance(step, Loop):
        return ()
    view = ports(step)
    return tuple(
        value
        for value in (view.iteration, view.condition, view.next_condition)
        if value is not None
    )


def of_step(step: Step, path: str, model: Model) -> Iterator[Finding]:
    """The findings of one step of a typed model, without those of its bodies."""
    match step:
        case Leaf():
            yield from leaf.findings(step, path)
        case Loop():
            yield from loop.findings(step, path)
            if step.fixed_state:
                yield from scan.findings(step, path)
        case Branch():
            yield from branch.findings(step, path)
        case Call() if step.function == _SCAN and step.version:
            yield from scan.findings_8(step, path)
        case Call() if step.function in model.functions:
            yield from call.findings(step, model.functions[step.function], path)


def _refusal(conflict: Conflict) -> Finding:
    if conflict.doubtful:
        return finding("CF306", conflict.path, conflict.message, "it fails if it is ever reached")
    return finding("CF305", conflict.path, conflict.message, "check the shapes of its operands")
