"""Runs all simplification passes to a fixpoint; only this file knows their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from treadle.boundary import is_debugging
from treadle.ir import (
    Block,
    Model,
    Step,
    map_bodies,
    verified,
    verify,
)
from treadle.limits import poll
from treadle.passes.inline_block import assign_paths
from treadle.passes.inline_functions import inline_functions
from treadle.passes.report import Change, Report
from treadle.passes.simplify.branch_folding import fold_branches
from treadle.passes.simplify.broadcast_elimination import eliminate_broadcasts
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.concat_to_stack import concats_to_stacks
from treadle.passes.simplify.constant_folding import fold_constants
from treadle.passes.simplify.constant_results import with_constant_results
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.cse import eliminate_common_steps
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.identity_elimination import eliminate_identities
from treadle.passes.simplify.invariant_carries import carried_to_invariant
from treadle.passes.simplify.licm import hoist_loop_invariants
from treadle.passes.simplify.loop_to_scan import loops_to_scans
from treadle.passes.simplify.names import (
    with_output_names,
    with_own_names,
    with_own_step_names,
)
from treadle.passes.simplify.result_types import with_result_types
from treadle.passes.simplify.scatter_to_stack import scatters_to_stacks
from treadle.passes.simplify.sequence_to_stack import sequences_to_stacks
from treadle.passes.simplify.trip_count import infer_trip_counts
from treadle.passes.simplify.trivial_loops import unroll_trivial_loops

Pass = Callable[[Block, PassContext], Block]

PASSES: tuple[Pass, ...] = (
    fold_branches,
    sequences_to_stacks,  # a list of one element is stacked before its loop is unrolled
    unroll_trivial_loops,
    fold_constants,
    eliminate_identities,
    carried_to_invariant,
    infer_trip_counts,
    eliminate_broadcasts,
    hoist_loop_invariants,
    eliminate_common_steps,
    concats_to_stacks,
    scatters_to_stacks,
    eliminate_dead_steps,
    loops_to_scans,
)
_MOST_ROUNDS = 16


@verified
def simplify(model: Model, passes: Sequence[Pass] = PASSES) -> tuple[Model, Report]:
    """Simplify the model; returns the model and the changes.

    It gives the same outputs, fails on the same feeds, and keeps the names of inputs and outputs.
    Functions are inlined first, if they import the model's opsets. Returns the same model if
    nothing changes.
    """
    current = _inlined(model)
    current = replace(current, main=assign_paths(current.main, "main"))
    done: list[Change] = []
    for _ in range(_MOST_ROUNDS):
        at = PassContext.of(current)
        block = to_implicit_captures(current.main)
        for each in passes:
            poll()
            block = with_output_names(block, each(block, at), at)
            if is_debugging():
                verify(replace(current, main=block), each.__name__, is_open=True)
        if not at.done:
            break
        done += at.done
        current = replace(current, main=closure_convert(with_own_names(block)))
    else:
        raise AssertionError(f"the simplification passes do not reach a fixpoint: {at.done}")
    if not done:
        return model, Report()
    main = with_constant_results(with_result_types(current.main, at), at)
    main = with_own_step_names(_unplaced(main))
    return replace(current, main=main), Report(tuple(done))


def _inlined(model: Model) -> Model:
    agree = all(
        model.opsets.get(domain, version) == version
        for function in model.functions.values()
        for domain, version in function.opsets.items()
    )
    return inline_functions(model) if agree else model


def _unplaced(block: Block) -> Block:
    """Reset the recorded paths of moved steps."""

    def moved(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: _unplaced(body))
        return replace(inner, info=replace(inner.info, path=""))

    return replace(block, steps=tuple(map(moved, block.steps)))
