"""Dead code elimination: drops unused steps, constants, carried values, stacks and results.

    a step              none of its results is read, and it cannot fail
    a carried value     neither a result that is read, nor the condition, nor a step that may fail
                        depends on it, and it keeps its kind
    a stacked result    nothing reads it, and its elements are known to be alike
    a result of an If   nothing reads it

Declines if a loop or a branch would have no result left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from treadle.ir import (
    Block,
    Branch,
    CarriedPort,
    Loop,
    StackedPort,
    Step,
    Value,
    defining_steps,
    operator_of,
    ports,
    reachable,
    step_path,
)
from treadle.passes.simplify.captures import free_reads
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.loop_rebuild import without_roles
from treadle.passes.simplify.speculation import (
    is_speculatable,
    keeps_element,
    keeps_kind,
    scan_length,
)

NAME = "dead steps eliminated"
CARRIED = "carried values and stacks nothing reads"


def eliminate_dead_steps(block: Block, at: PassContext) -> Block:
    """Drop the unused parts of the open block."""
    return _pruned(block, "main", at)


def _pruned(block: Block, path: str, at: PassContext) -> Block:
    live = {value for value in block.results if value is not None}
    kept: list[Step] = []
    for position in reversed(range(len(block.steps))):
        step = block.steps[position]
        where = step_path(path, step, position)
        if live.isdisjoint(value for value in step.results if value) and is_speculatable(step, at):
            at.note(NAME, where, operator_of(step))
            continue
        match step:
            case Loop():
                step = _loop(step, where, live, at)
            case Branch():
                step = _branch(step, where, live, at)
        kept.append(step)
        live |= free_reads(step)
    params = set(block.params)
    constants = tuple(c for c in block.constants if c.value in live or c.value in params)
    steps = tuple(reversed(kept))
    if constants == block.constants and steps == block.steps:
        return block
    return replace(block, steps=steps, constants=constants)


def _loop(loop: Loop, path: str, used: Collection[Value], at: PassContext) -> Loop:
    view = ports(loop)
    stacks = [
        port
        for port in view.stacked
        if port.result is None or port.result in used or not keeps_element(port, at)
    ]
    carried = _needed(loop, stacks, used, at)
    # a loop has a result, so the values that the first one needs stay
    if not stacks and not carried:
        stacks = list(view.stacked[:1]) if not view.carried else []
        first = {port.result for port in view.carried[:1]}
        carried = _needed(loop, stacks, first or used, at)
    dead = [port for port in view.carried if port not in carried]
    idle = [port for port in view.stacked if port not in stacks]
    for port in dead:
        at.note(CARRIED, path, port.param.name)
    for stack in idle:
        at.note(CARRIED, path, stack.result.name if stack.result else "")
    smaller = without_roles(loop, dead, idle) if dead or idle else loop
    body = _pruned(smaller.body, f"{path}.body", at)
    smaller = smaller if body is smaller.body else replace(smaller, body=body)
    return _without_slices(smaller, path, at)


def _needed(
    loop: Loop, stacks: Iterable[StackedPort], used: Collection[Value | None], at: PassContext
) -> list[CarriedPort]:
    """The carried values on which something depends, in any iteration."""
    view, made = ports(loop), defining_steps(loop.body)
    ends = {port.param: port.next for port in view.carried}
    wanted = [view.next_condition, *(port.element for port in stacks)]
    kept = {p for p in view.carried if p.result in used or not keeps_kind(loop, p, at)}
    wanted += [value for port in kept for value in (port.param, port.next)]
    for step in loop.body.steps:
        if not is_speculatable(step, at):
            wanted += free_reads(step)
    live = reachable(wanted, lambda v: free_reads(made[v]) if v in made else (ends.get(v),))
    return [port for port in view.carried if port.param in live]


def _without_slices(loop: Loop, path: str, at: PassContext) -> Loop:
    view = ports(loop)
    if len(view.sliced) < 2 or loop.trip is not None or not scan_length(loop, at):
        return loop
    read = {value for value in loop.body.results if value is not None}
    read |= {value for step in loop.body.steps for value in free_reads(step)}
    idle = [port for port in view.sliced if port.param not in read]
    idle = idle if len(idle) < len(view.sliced) else idle[1:]
    for port in idle:
        at.note(CARRIED, path, port.param.name)
    return without_roles(loop, sliced=idle) if idle else loop


def _branch(branch: Branch, path: str, used: Collection[Value], at: PassContext) -> Branch:
    kept = [k for k, value in enumerate(branch.results) if value in used] or [0]
    if len(kept) < len(branch.results):
        at.note(NAME, path, f"{len(branch.results) - len(kept)} results")
        branch = replace(
            branch,
            results=tuple(branch.results[k] for k in kept),
            then=_with_results(branch.then, kept),
            otherwise=_with_results(branch.otherwise, kept),
        )
    then = _pruned(branch.then, f"{path}.then_branch", at)
    otherwise = _pruned(branch.otherwise, f"{path}.else_branch", at)
    if then is branch.then and otherwise is branch.otherwise:
        return branch
    return replace(branch, then=then, otherwise=otherwise)


def _with_results(block: Block, kept: Collection[int]) -> Block:
    claims = tuple(block.claims[k] for k in kept) if block.claims else ()
    return replace(block, results=tuple(block.results[k] for k in kept), claims=claims)
