"""Common steps before and after a rewrite: inlining, unique names, declarations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from treadle.ir import Block, Model, Step, map_bodies, reads, walk_block
from treadle.passes.fixes import FOR_RUNTIMES, repair
from treadle.passes.inline_functions import inline_functions
from treadle.passes.obstacles import Obstacles
from treadle.passes.rewrites.paths import unmark
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.names import with_own_step_names
from treadle.passes.simplify.result_types import with_result_types


def without_functions(model: Model, told: Obstacles, wanted: Callable[[Step], bool]) -> Model:
    """Inline functions, if any of them contains a step to rewrite."""
    blocks = [function.block for function in model.functions.values()]
    if not any(wanted(visit.step) for block in blocks for visit in walk_block(block)):
        return model
    for function in model.functions.values():
        for domain, version in function.opsets.items():
            if model.opsets.get(domain, version) != version:
                what = f"the function imports opset {version} of {domain or 'ai.onnx'!r}"
                help_ = f"the model imports {model.opsets[domain]}; convert_version makes them one"
                told.add(str(function.id), what, help_)
    return model if told.found else inline_functions(model)


def finished(model: Model, at: PassContext) -> Model:
    """Prepare the model for a file; `at` knows the types of its values."""
    main = with_result_types(unmark(model.main), at)
    main = with_own_step_names(_unplaced(main))
    return repair(replace(model, main=main), FOR_RUNTIMES)[0]


def without_unread_constants(model: Model, before: Model) -> Model:
    """The model without the constants that steps of the main block read before, and now do not."""
    gone = _read(before.main) - _read(model.main)
    kept = tuple(each for each in model.main.constants if each.value.name not in gone)
    if len(kept) == len(model.main.constants):
        return model
    return replace(model, main=replace(model.main, constants=kept))


def _read(block: Block) -> set[str]:
    """The names of the values that the block's steps and results read."""
    values = (value for step in block.steps for value in reads(step))
    return {value.name for value in (*values, *block.results) if value is not None}


def _unplaced(block: Block) -> Block:
    """Reset the recorded paths of moved steps."""

    def moved(step: Step) -> Step:
        inner = map_bodies(step, lambda _, body: _unplaced(body))
        return replace(inner, info=replace(inner.info, path="")) if inner.info.path else inner

    return replace(block, steps=tuple(map(moved, block.steps)))
