"""Turns captures of loop bodies into carried values that never change, and back.

    captures-to-inputs   loop(): ... W ...    ->    loop(w from W): ... w ...; gives Identity(w)
    inputs-to-captures   loop(w from W): ... w ...; gives w    ->    loop(): ... W ...

Values carried by a Loop and states of a Scan are both carried values here. An If has no inputs, so
captures of its branches are an obstacle; so are captures of a Scan that are not tensors.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import (
    Block,
    Branch,
    Carried,
    Declaration,
    Info,
    Leaf,
    Loop,
    Model,
    Role,
    Step,
    Tensor,
    Value,
    map_bodies,
    ports,
)
from treadle.ops import since_version
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Change, Report
from treadle.passes.rewrites.finished import finished, without_functions
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.paths import chosen, loop_paths, mark, marked_path
from treadle.passes.simplify import simplify
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.invariant_carries import carried_to_invariant
from treadle.passes.simplify.names import with_own_names

NAME = "captures-to-inputs"


def inputs_to_captures(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Let all loops capture the values they carried unchanged."""
    after, report = simplify(model, (carried_to_invariant,))
    done = tuple(replace(each, name="inputs-to-captures") for each in report.done)
    return after, Report(done)


def captures_to_inputs(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Let no loop capture values."""
    told, done = Obstacles(NAME), list[Change]()
    plain = without_functions(model, told, lambda step: isinstance(step, Loop))
    told.refuse()
    marked = replace(plain, main=mark(plain.main))
    paths = chosen(loop_paths(marked.main), options.paths, "loop")
    at = PassContext.of(marked)

    def changed(block: Block, inside: bool) -> Block:
        return replace(block, steps=tuple(step_of(step, inside) for step in block.steps))

    def step_of(step: Step, inside: bool) -> Step:
        is_meant = isinstance(step, Loop) and marked_path(step) in paths
        step = map_bodies(step, lambda _, body: changed(body, inside or is_meant))
        if isinstance(step, Branch) and inside and any(step.operands):
            names = ", ".join(value.name for value in step.operands if value is not None)
            what = f"its branches read {names} from outside, and an If has no inputs"
            told.add(marked_path(step), what, "rewrite it by if-to-where first")
        if not isinstance(step, Loop) or not is_meant:
            return step
        return _carrying(step, at, told, done)

    main = changed(marked.main, False)
    told.refuse()
    if not done:
        return model, Report()
    # names of the loop's additional results must be free
    named = closure_convert(with_own_names(to_implicit_captures(main)))
    current = replace(marked, main=named)
    return finished(current, PassContext.of(current)), Report(tuple(done))


def _carrying(loop: Loop, at: PassContext, told: Obstacles, done: list[Change]) -> Loop:
    """Replace the Invariants of the closed loop by Carried params."""
    view, path = ports(loop), marked_path(loop)
    taken = {port.param: port for port in view.invariants if port.operand is not None}
    for param, port in taken.items():
        if loop.fixed_state and not isinstance(at.type(port.operand), Tensor):
            told.add(path, f"{param.name} is no tensor, and a state of a Scan has to be one")
    if not taken or told.found:
        return loop
    version = since_version("", "Identity", at.opset) or 1
    steps: list[Step] = list(loop.body.steps)
    given: list[Value | None] = []
    results: list[Value | None] = []
    known = {port.param: port for port in view.carried}
    roles: list[Role] = []
    for role, param in zip(loop.roles, loop.body.params, strict=True):
        if param in taken:
            copy = Value(f"{param.name}_next", param.declared)
            steps.append(Leaf("", "Identity", version, (param,), (copy,), info=Info(op="Identity")))
            given.append(copy)
            results.append(Value(f"{param.name}_last", param.declared))
            role = Carried()
        elif isinstance(role, Carried):
            given.append(known[param].next)
            results.append(known[param].result)
        roles.append(role)
    done.append(Change(NAME, path, ", ".join(param.name for param in taken)))
    return _rebuilt(loop, roles, steps, given, results)


def _rebuilt(
    loop: Loop,
    roles: list[Role],
    steps: list[Step],
    given: list[Value | None],
    results: list[Value | None],
) -> Loop:
    view = ports(loop)
    stacked = [port.element for port in view.stacked]
    claims = loop.body.claims
    if claims:
        said = dict(zip((*[p.next for p in view.carried], *stacked), claims[1:], strict=True))
        told = [said.get(value, _claim(value)) for value in (*given, *stacked)]
        claims = (claims[0], *told)
    body = replace(
        loop.body,
        steps=tuple(steps),
        results=(view.next_condition, *given, *stacked),
        claims=claims,
    )
    return replace(
        loop,
        roles=tuple(roles),
        body=body,
        results=(*results, *(port.result for port in view.stacked)),
    )


def _claim(value: Value | None) -> Declaration:
    return Declaration(value.declared if value is not None else None)
