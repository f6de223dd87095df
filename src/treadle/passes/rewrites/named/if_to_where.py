"""Replaces an If by both its branches and a Where for each result.

    If(c) then: a = Exp(x) else: b = Neg(x)     ->     a = Exp(x); b = Neg(x); Where(c, a, b)

Both branches then run under any condition. Declines if a step of either could fail or is random, or
if two results are not known to have the same type and shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treadle.ir import Block, Branch, Constant, DType, Model, Step, Value
from treadle.passes.report import Report
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.open_form import Walk, map_open, rewrite_open
from treadle.passes.rewrites.paths import marked_path
from treadle.passes.rewrites.select import Selecting
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.speculation import is_speculatable

NAME = "if-to-where"


def if_to_where(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace Ifs by selections."""
    return rewrite_open(model, NAME, options.paths, _is_branch, _changed)


def _is_branch(step: Step) -> bool:
    return isinstance(step, Branch)


def _changed(block: Block, walk: Walk) -> Block:
    by: dict[Value, Value | None] = {}

    def change(inner: Block) -> Block:
        steps: list[Step] = []
        constants: list[Constant] = list(inner.constants)
        for step in inner.steps:
            if not isinstance(step, Branch) or not walk.means(step) or _is_refused(step, walk):
                steps.append(step)
                continue
            walk.done(step, "both branches and Where")
            select = Selecting(walk.at)
            live = select.scalar(step.condition)
            for result, then, other in _results(step):
                by[result] = select.choose(live, then, other, walk.at.dtype(then))
            steps += (*step.then.steps, *step.otherwise.steps, *select.steps)
            constants += (*step.then.constants, *step.otherwise.constants, *select.constants)
        return replace(inner, steps=tuple(steps), constants=tuple(constants))

    return replaced(map_open(block, change), by)


def _results(branch: Branch) -> Iterator[tuple[Value, Value, Value]]:
    pairs = zip(branch.results, branch.then.results, branch.otherwise.results, strict=True)
    for result, then, other in pairs:
        if result is not None and then is not None and other is not None:
            yield result, then, other


def _is_refused(branch: Branch, walk: Walk) -> bool:
    """Whether the branch must stay; records the reason."""
    path, at, known = marked_path(branch), walk.at, len(walk.told.found)
    if at.version("Where") is None:
        walk.told.add(path, "the opset has no Where", "convert it to opset 9 or later")
    if not at.is_single(branch.condition, DType.BOOL):
        walk.told.add(path, "its condition is not certain to be one bool", "")
    for block in (branch.then, branch.otherwise):
        for step in block.steps:
            if not is_speculatable(step, at):
                what = f"this step of the If at {path} would always run, and could fail"
                walk.told.add(marked_path(step), what, "specialize the inputs it depends on")
    if branch.operands:
        walk.told.add(path, "a value that a branch reads is left out")
    for result, then, other in _results(branch):
        if not _are_alike(then, other, at):
            what = f"the types and shapes for {result.name} are not certain to be equal"
            walk.told.add(path, what, "specialize the extents they depend on")
    return len(walk.told.found) > known


def _are_alike(one: Value, other: Value, at: PassContext) -> bool:
    shapes = at.shape(one), at.shape(other)
    is_known = shapes[0] is not None and None not in shapes[0]
    return is_known and shapes[0] == shapes[1] and at.dtype(one) is at.dtype(other) is not None
