"""Rule about functions that call themselves, which the standard forbids."""

from __future__ import annotations

from collections.abc import Iterator

from treadle.checks.rules import finding
from treadle.errors import Finding
from treadle.ir import Call, FunctionId, Model, walk_block


def findings(model: Model) -> Iterator[Finding]:
    """Report every function on a cycle of calls."""
    calls = {
        identity: {
            visit.step.function
            for visit in walk_block(function.block)
            if isinstance(visit.step, Call)
        }
        for identity, function in model.functions.items()
    }
    for identity in calls:
        if identity in _reachable(identity, calls):
            message = f"the function {identity} calls itself"
            hint = "functions are inlined; write the recursion as a Loop"
            yield finding("CF704", str(identity), message, hint)


def _reachable(start: FunctionId, calls: dict[FunctionId, set[FunctionId]]) -> set[FunctionId]:
    found: set[FunctionId] = set()
    todo = list(calls[start])
    while todo:
        identity = todo.pop()
        if identity not in found:
            found.add(identity)
            todo.extend(calls.get(identity, ()))
    return found
