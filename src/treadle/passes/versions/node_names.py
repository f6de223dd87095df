"""Removes duplicate node names, which inlined functions have and some runtimes reject."""

from __future__ import annotations

from dataclasses import replace

from treadle.ir import Block, Model, Step, map_bodies


def with_unique_node_names(model: Model) -> Model:
    """Remove the name of each node of the main block and its bodies that repeats a name."""
    seen: set[str] = set()

    def named(step: Step) -> Step:
        name = step.info.name
        if name and name in seen:
            step = replace(step, info=replace(step.info, name=""))
        seen.add(name)
        return map_bodies(step, lambda _, body: changed(body))

    def changed(block: Block) -> Block:
        steps = tuple(map(named, block.steps))
        same = all(new is old for new, old in zip(steps, block.steps, strict=True))
        return block if same else replace(block, steps=steps)

    return replace(model, main=changed(model.main))
