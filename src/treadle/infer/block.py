"""Infers a block: facts of its constants, then of every step in order by the rule of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treadle.infer.branch import infer_branch
from treadle.infer.call import infer_call
from treadle.infer.context import Inference, Scope
from treadle.infer.facts import Fact, constant_fact, meet_types, without_dims
from treadle.infer.leaf import infer_leaf
from treadle.infer.loop import infer_loop
from treadle.ir import (
    Block,
    Branch,
    Call,
    Leaf,
    Loop,
    Step,
    Value,
    operator_of,
    path_segment,
    step_path,
)
from treadle.limits import poll


def infer_block(run: Inference, block: Block, params: Sequence[Fact], scope: Scope) -> list[Fact]:
    """Infer the facts of the block's results, and write those of all its values to `run.facts`."""
    for param, fact in zip(block.params, params, strict=True):
        run.facts[param] = fact if scope.repeats else with_claim(fact, param, scope)
    defaults = set(block.params)
    for constant in block.constants:
        if constant.value not in defaults:
            run.facts[constant.value] = constant_fact(constant)
    for position, step in enumerate(block.steps):
        poll()
        here = _at(scope, step, position)
        run.conflicts.pop(here.path, None)
        facts = infer_step(run, step, here)
        for value, fact in zip(step.results, facts, strict=True):
            if value is not None:
                run.facts[value] = with_claim(fact, value, scope)
    return [run.of(value) for value in block.results]


def _at(scope: Scope, step: Step, position: int) -> Scope:
    path = f"{scope.path}/{path_segment(operator_of(step), position)}"
    shown = path
    if step.info.path or scope.shown != scope.path:
        shown = step_path(scope.shown, step, position)
    return scope.at(path, shown)


def infer_step(run: Inference, step: Step, scope: Scope) -> list[Fact]:
    """One fact per result of the step."""
    match step:
        case Leaf():
            return infer_leaf(run, step, scope)
        case Loop():
            return infer_loop(run, step, scope)
        case Branch():
            return infer_branch(run, step, scope)
        case Call():
            return infer_call(run, step, scope)


def with_claim(fact: Fact, value: Value, scope: Scope) -> Fact:
    """The fact, or the file's declaration if inference found nothing.

    Inside a loop only the dtype and the rank of a declaration are used: exporters declare the shape
    of the first iteration.
    """
    claim = value.declared
    if claim is None or scope.functions or not scope.believes or _is_known(fact):
        return fact
    return replace(
        fact, type=meet_types(fact.type, without_dims(claim) if scope.repeats else claim)
    )


def _is_known(fact: Fact) -> bool:
    return fact.type is not None and getattr(fact.type, "dtype", True) is not None
