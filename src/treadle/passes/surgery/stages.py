"""Splits a model into stages, so that a long loop can run in windows.

    main block      a = Neg (x)           stage 1     a = Neg (x)
                    h, ys = Loop (...)    stage 2     the loop alone, for a window of iterations
                    y = Add (h, a)        stage 3     y = Add (h, a)

Stages exchange values of the main block by name. Steps keep the paths that they have in the model.
A loop or a branch around a long loop is a stage whose bodies are models in stages again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from treadle.infer import infer
from treadle.ir import (
    Block,
    Branch,
    Loop,
    Model,
    Optional,
    Step,
    Value,
    block_values,
    bodies,
    clone_with_new_values,
    reads,
    step_path,
)
from treadle.passes.surgery.blocks import claim, declared
from treadle.passes.surgery.window import LoopWindow, loop_window


@dataclass(frozen=True, eq=False, slots=True)
class Stage:
    """A part of the main block as a model; `window` tells how to run it if it is a single loop.

    `step` is the single loop or branch that it is, and `bodies` its bodies in stages, by name, if a
    long loop is inside.
    """

    model: Model
    window: LoopWindow | None = None
    step: Loop | Branch | None = None
    bodies: Mapping[str, Staged] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of the single loop or branch, "" for other steps."""
        return "" if self.step is None else self.step.info.path


@dataclass(frozen=True, eq=False, slots=True)
class Staged:
    """The block at a path as a model, and its stages in order."""

    path: str
    model: Model
    parts: Sequence[Stage]


def stages(model: Model, long: Collection[str], path: str = "main") -> Staged | None:
    """The stages of a model; each loop or branch of the main block that is in `long` is one.

    So are those in bodies. `path` is that of the block that the main block is in the whole model.
    None if a value between stages has a type that an input cannot have.
    """
    typed = infer(model)
    block = typed.main
    steps = [
        replace(step, info=replace(step.info, path=step_path(path, step, position)))
        for position, step in enumerate(block.steps)
    ]
    groups = list(_groups(steps, long))
    needed = {value for value in block.results if value is not None}
    made: list[Stage] = []
    for group in reversed(groups):
        stage = _stage(typed, group, needed, long)
        if stage is None:
            return None
        made.append(stage)
        needed |= {value for step in group for value in reads(step) if value is not None}
    return Staged(path, model, made[::-1])


def _groups(steps: Sequence[Step], long: Collection[str]) -> Iterator[list[Step]]:
    straight: list[Step] = []
    for step in steps:
        if step.info.path not in long:
            straight.append(step)
            continue
        if straight:
            yield straight
        yield [step]
        straight = []
    if straight:
        yield straight


def _stage(
    model: Model, group: Sequence[Step], needed: Collection[Value], long: Collection[str]
) -> Stage | None:
    window, first = None, group[0]
    step = first if first.info.path in long and isinstance(first, Loop | Branch) else None
    if isinstance(step, Loop):
        window, block = loop_window(model, step)
    else:
        results = [v for step in group for v in step.results if v is not None and v in needed]
        block = Block(steps=tuple(group), results=tuple(results), name=model.main.name)
    block = _closed(model.main, block)
    if any(param.type is None or isinstance(param.type, Optional) for param in block.params):
        return None
    own = set(block.params)
    block = clone_with_new_values(block, lambda v: declared(v) if v in own else replace(v))
    block = replace(block, claims=tuple(map(claim, block.results)))
    made = infer(replace(model, main=block, doc="", metadata=(), kept={}))
    inner = {} if step is None else _bodies(model, step, long)
    return None if inner is None else Stage(made, window, step, inner)


def _bodies(
    model: Model, step: Loop | Branch, long: Collection[str]
) -> Mapping[str, Staged] | None:
    """The bodies in stages, if a long loop is in one of them; None if one has no stages."""
    found: dict[str, Staged] = {}
    if not any(path.startswith(f"{step.info.path}.") for path in long):
        return found
    for name, body in bodies(step):
        block = _with_declared_params(body)
        if any(param.type is None or isinstance(param.type, Optional) for param in block.params):
            return None
        if not _has_unique_names(block):
            return None
        inner = replace(model, main=block, doc="", metadata=(), kept={})
        made = stages(inner, long, f"{step.info.path}.{name}")
        if made is None:
            return None
        found[name] = made
    return found


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


def _with_declared_params(body: Block) -> Block:
    own = set(body.params)
    return clone_with_new_values(body, lambda v: declared(v) if v in own else replace(v))


def _has_unique_names(block: Block) -> bool:
    """Whether no two values of the block have one name: a body may define a captured name anew."""
    names = [value.name for value in block_values(block)]
    return len(set(names)) == len(names)
