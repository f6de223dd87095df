"""CF801, CF804, CF853: copies results of a body that are a parameter, or listed twice.

The standard allows them, but runtimes answer wrongly. A branch in a file has no parameters. Needs
nothing; never declines.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Branch, Loop, Model, Step, Value, slices_inputs
from treadle.passes.fixes.fix import Fix, all_names, identity, map_program


def copy_passthrough(model: Model) -> tuple[Model, list[Fix]]:
    """Copy results so that each result of a loop or a branch is defined by its own step."""
    names, done = all_names(model), list[Fix]()

    def change(block: Block, path: str, step: Step | None) -> Block:
        if not isinstance(step, Loop | Branch):
            return block
        is_loop = isinstance(step, Loop)
        seen: set[Value] = set(block.params if is_loop else ())
        results, added = list(block.results), list[Step]()
        for position, value in enumerate(block.results):
            if (position == 0 and is_loop) or value is None:
                continue
            if value in seen:
                copy = Value(names.fresh(f"{value.name}_copy"), value.declared)
                added.append(identity(value, copy, model.opsets.get("", 1)))
                results[position] = copy
                done.append(Fix(_code(step), path, f'gives "{copy.name}", an Identity'))
            seen.add(value)
        return replace(block, steps=(*block.steps, *added), results=tuple(results))

    mended = map_program(model, change)
    return (mended, done) if done else (model, [])


def _code(step: Loop | Branch) -> str:
    return "CF801" if isinstance(step, Loop) and slices_inputs(step) else "CF804"
