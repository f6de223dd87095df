"""CF104: passes an outer value that a body returns directly through an Identity.

Needs nothing; never declines.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Model, Step, Value, captures, substitute
from treadle.passes.fixes.fix import Fix, all_names, identity, map_program


def copy_returned(model: Model) -> tuple[Model, list[Fix]]:
    """Make every result of a body a value of that body."""
    names, done = all_names(model), list[Fix]()

    def change(block: Block, path: str, step: Step | None) -> Block:
        outer = {param for _, param in captures(step)} if step is not None else set()
        returned = [v for v in dict.fromkeys(block.results) if v is not None and v in outer]
        if not returned:
            return block
        copies = {v: Value(names.fresh(f"{v.name}_copy"), v.declared) for v in returned}
        for value, copy in copies.items():
            said = f'returns "{copy.name}", an Identity of the outer "{value.name}"'
            done.append(Fix("CF104", path, said))
        added = tuple(
            identity(value, copy, model.opsets.get("", 1)) for value, copy in copies.items()
        )
        results = substitute(block.results, copies)
        return replace(block, steps=block.steps + added, results=results)

    mended = map_program(model, change)
    return (mended, done) if done else (model, [])
