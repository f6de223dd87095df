"""Splits a model into stages, so that a long loop can run in windows.

    main block      a = Neg (x)           stage 1     a = Neg (x)
                    h, ys = Loop (...)    stage 2     the loop alone, for a window of iterations
                    y = Add (h, a)        stage 3     y = Add (h, a)

Stages exchange values of the main block by name. Steps keep the paths that they have in the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from treadle.infer import infer
from treadle.ir import (
    Block,
    Loop,
    Model,
    Optional,
    Step,
    Value,
    clone_with_new_values,
    reads,
    step_path,
)
from treadle.passes.surgery.blocks import claim, declared
from treadle.passes.surgery.window import LoopWindow, loop_window


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """A part of the main block as a model; `window` tells how to run it if it is a single loop."""

    model: Model
    window: LoopWindow | None = None


def stages(model: Model, loops: Collection[str]) -> list[Stage] | None:
    """The stages of a model in order; each loop of the main block in `loops` is one.

    None if a value between stages has a type that an input cannot have.
    """
    typed = infer(model)
    block = typed.main
    steps = [
        replace(step, info=replace(step.info, path=step_path("main", step, position)))
        for position, step in enumerate(block.steps)
    ]
    groups = list(_groups(steps, loops))
    needed = {value for value in block.results if value is not None}
    made: list[Stage] = []
    for group in reversed(groups):
        stage = _stage(typed, group, needed, loops)
        if stage is None:
            return None
        made.append(stage)
        needed |= {value for step in group for value in reads(step) if value is not None}
    return made[::-1]


def _groups(steps: Sequence[Step], loops: Collection[str]) -> Iterator[list[Step]]:
    straight: list[Step] = []
    for step in steps:
        if step.info.path not in loops:
            straight.append(step)
            continue
        if straight:
            yield straight
        yield [step]
        straight = []
    if straight:
        yield straight


def _stage(
    model: Model, group: Sequence[Step], needed: Collection[Value], loops: Collection[str]
) -> Stage | None:
    window = None
    if group[0].info.path in loops:
        assert isinstance(group[0], Loop), "the paths are those of loops"
        window, block = loop_window(model, group[0])
    else:
        results = [v for step in group for v in step.results if v is not None and v in needed]
        block = Block(steps=tuple(group), results=tuple(results), name=model.main.name)
    block = _closed(model.main, block)
    if any(param.type is None or isinstance(param.type, Optional) for param in block.params):
        return None
    own = set(block.params)
    block = clone_with_new_values(block, lambda v: declared(v) if v in own else replace(v))
    block = replace(block, claims=tuple(map(claim, block.results)))
    return Stage(infer(replace(model, main=block, doc="", metadata=(), kept={})), window)


def _closed(main: Block, block: Block) -> Block:
    """The block, with values of the main block as constants and parameters."""
    made = {value for step in block.steps for value in step.results}
    made |= {*block.params, *(constant.value for constant in block.constants)}
    read = dict.fromkeys(
        value for step in block.steps for value in reads(step) if value and value not in made
    )
    constant_of = {c.value: c for c in main.constants if c.value not in main.params}
    constants = tuple(constant_of[value] for value in read if value in constant_of)
    params = tuple(value for value in read if value not in constant_of)
    return replace(block, params=(*block.params, *params), constants=(*block.constants, *constants))
