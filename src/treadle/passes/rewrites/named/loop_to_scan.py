"""Replaces a Loop by a Scan over the items it gathers, or over its iteration numbers.

    loop(i) x 5: ... Gather(x, i) ...     ->     scan(row of x[:5]): ... row ...

Declines if the number of iterations is unknown or 0, if the condition may end the loop, and if a
carried value may change its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treadle.ir import Block, Loop, Model, Step, declared_rank, ports
from treadle.passes.report import Report
from treadle.passes.rewrites.named.options import RewriteOptions
from treadle.passes.rewrites.open_form import Walk, map_open, rewrite_open
from treadle.passes.rewrites.paths import marked_path
from treadle.passes.simplify import simplify
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.invariant_carries import carried_to_invariant
from treadle.passes.simplify.loop_rebuild import count_reads
from treadle.passes.simplify.loop_to_scan import scan_of
from treadle.passes.simplify.speculation import keeps_element, keeps_kind
from treadle.passes.simplify.step_builder import StepBuilder
from treadle.passes.simplify.trip_count import infer_trip_counts

NAME = "loop-to-scan"
_OLDEST = 11


def loop_to_scan(model: Model, options: RewriteOptions) -> tuple[Model, Report]:
    """Replace Loops by Scans."""
    counted = simplify(model, (carried_to_invariant, infer_trip_counts))[0]
    after, report = rewrite_open(counted, NAME, options.paths, _is_loop, _changed)
    return (after, report) if report.done else (model, report)


def _is_loop(step: Step) -> bool:
    return isinstance(step, Loop) and not ports(step).sliced


def _changed(block: Block, walk: Walk) -> Block:
    def change(inner: Block) -> Block:
        writer = StepBuilder(walk.at)
        for step in inner.steps:
            if isinstance(step, Loop) and walk.means(step):
                step = _scan(step, walk, writer)
            writer.steps.append(step)
        return writer.into(replace(inner, steps=tuple(writer.steps)))

    return map_open(block, change)


def _scan(loop: Loop, walk: Walk, writer: StepBuilder) -> Loop:
    reasons = _reasons(loop, walk.at)
    for reason, help_ in reasons:
        walk.told.add(marked_path(loop), reason, help_)
    if reasons:
        return loop
    trips = _trips(loop, walk.at)
    walk.done(loop, f"a Scan of {trips} items")
    return scan_of(_without_condition(loop, writer), trips, writer)


def _trips(loop: Loop, at: PassContext) -> int:
    """The number of iterations; 0 if it is not known for certain."""
    starts = loop.condition is None or at.truth(loop.condition) is True
    return max(at.whole(loop.trip) or 0, 0) if starts else 0


def _reasons(loop: Loop, at: PassContext) -> Sequence[tuple[str, str]]:
    """Why the loop has no form as a Scan, with hints."""
    view, found = ports(loop), []
    if at.opset < _OLDEST:
        found.append(("the opset is too old for a Scan with axes", "convert it to opset 11"))
    if view.next_condition is not None and at.truth(view.next_condition) is not True:
        found.append(("its condition may end the loop", ""))
    elif _trips(loop, at) == 0:
        what = "the number of its iterations is not certain to be one above 0"
        found.append((what, "specialize the inputs it depends on"))
    if view.iteration is not None and at.shape(view.iteration) != ():
        found.append(("its body declares the iteration number to be no scalar", ""))
    state = replace(loop, fixed_state=True)
    changing = [port.param.name for port in view.carried if not keeps_kind(state, port, at)]
    unlike = [stack for stack in view.stacked if not keeps_element(stack, at)]
    found += [(f"the carried value {name} may change its shape", "") for name in changing]
    found += [("the shape of the elements it stacks is not certain", "") for _ in unlike]
    return found


def _without_condition(loop: Loop, writer: StepBuilder) -> Loop:
    """The loop with a constant instead of its body's initial condition."""
    param = ports(loop).condition
    if param is None or not count_reads(loop.body, param):
        return loop
    rank = declared_rank(loop, loop.body.params.index(param))
    true = writer.constant(np.ones((1,) * rank, np.bool_), "true")
    return replace(loop, body=replaced(loop.body, {param: true}))
