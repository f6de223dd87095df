"""Replaces lists that loops only append to by stacked results; remaining lists are obstacles."""

from __future__ import annotations

from dataclasses import replace

from treadle.infer import infer
from treadle.ir import Model, Optional, Sequence, Value, walk
from treadle.passes.obstacles import Obstacles
from treadle.passes.report import Report
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.simplify import simplify
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.identity_elimination import eliminate_identities
from treadle.passes.simplify.sequence_to_stack import sequences_to_stacks

NAME = "sequence-to-tensor"


def sequence_to_tensor(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Remove lists and optionals from the model."""
    if not any(_is_list(value) for visit in walk(infer(model)) for value in visit.step.results):
        return model, Report()
    passes = (sequences_to_stacks, eliminate_identities, eliminate_dead_steps)
    after, report = simplify(model, passes)
    told = Obstacles(NAME)
    for value in filter(None, (*model.main.params, *model.main.results)):
        if _is_list(value):
            what = f"{value.name} is a list or an optional at the border of the model"
            told.add("main", what, "give its elements as a tensor")
    for visit in walk(infer(after)):
        lists = [value for value in visit.step.results if value and _is_list(value)]
        if lists:
            what = f"{lists[0].name} is a list or an optional with other uses than appending"
            told.add(visit.path, what, "stack tensors of one shape instead")
    told.refuse()
    done = tuple(replace(each, name=NAME) for each in report.done)
    return after, Report(done)


def _is_list(value: Value | None) -> bool:
    return value is not None and isinstance(value.type, Sequence | Optional)
