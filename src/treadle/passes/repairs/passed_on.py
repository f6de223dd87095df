"""CF801, CF804, CF853: results of a loop's body that are a parameter, or listed twice, get a copy.

The standard allows them as they are; runtimes answer wrongly. Needs nothing; never declines.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Loop, Model, Step, Value
from treadle.passes.repairs.mended import Mended, all_names, fresh, identity, map_program


def copy_passed_on(model: Model) -> tuple[Model, list[Mended]]:
    """The model in which a step of its own makes every carried and stacked value of a loop."""
    taken, done = all_names(model), list[Mended]()

    def change(block: Block, path: str, step: Step | None) -> Block:
        if not isinstance(step, Loop):
            return block
        seen: set[Value] = set(block.params)
        results, added = list(block.results), list[Step]()
        for position, value in enumerate(block.results):
            if position == 0 or value is None:
                continue
            if value in seen:
                copy = Value(fresh(f"{value.name}_copy", taken), value.declared)
                added.append(identity(value, copy, model.opsets.get("", 1)))
                results[position] = copy
                done.append(Mended(_code(step), path, f'gives "{copy.name}", an Identity'))
            seen.add(value)
        return replace(block, steps=(*block.steps, *added), results=tuple(results))

    mended = map_program(model, change)
    return (mended, done) if done else (model, [])


def _code(loop: Loop) -> str:
    return "CF801" if loop.info.op == "Scan" else "CF804"
