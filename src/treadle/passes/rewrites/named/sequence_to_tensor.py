"""Replaces lists and optionals by tensors: stacked results of loops, else stacks with lengths."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Model
from treadle.passes.expand_functions import expand_functions
from treadle.passes.inline_functions import inline_functions
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Report
from treadle.passes.rewrites.lists import has_lists, lists_to_tensors
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.simplify import simplify
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.identity_elimination import eliminate_identities
from treadle.passes.simplify.sequence_to_stack import sequences_to_stacks

NAME = "sequence-to-tensor"


def sequence_to_tensor(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Remove lists and optionals from the model."""
    if not has_lists(model):
        return model, Report()
    stacked, report = simplify(
        model, (sequences_to_stacks, eliminate_identities, eliminate_dead_steps)
    )
    done = Report(tuple(replace(each, name=NAME) for each in report.done))
    if not has_lists(stacked):
        return stacked, done
    told = Obstacles(NAME)
    expanded = expand_functions(inline_functions(stacked), options.expand)
    after, more = lists_to_tensors(expanded, told)
    told.refuse()
    return after, done + more
