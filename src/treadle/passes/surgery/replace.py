"""Replaces a step or a body by a model: its inputs take the operands, its outputs the results.

    replace("main/loop_3", part)         part's inputs are loop_3's operands, in order; or by name
    replace("main/loop_3.body", part)    part's inputs are the body's parameters, in order

The model that `extract` returns for a body can replace that body. Declines if counts or types do
not agree.
"""

from __future__ import annotations

from dataclasses import replace

from treadle.infer import infer
from treadle.ir import (
    Block,
    Loop,
    Model,
    Step,
    Value,
    clone_with_new_values,
    map_bodies,
    reads,
    verified,
    walk,
)
from treadle.passes.inline_block import inline_blocks
from treadle.passes.obstacles import Obstacles
from treadle.passes.simplify.captures import closure_convert, to_implicit_captures
from treadle.passes.simplify.names import with_own_names
from treadle.passes.surgery.blocks import body_at, contradict, map_step

NAME = "replace"


@verified
def replace_part(model: Model, path: str, part: Model) -> Model:
    """Replace the step or body at a path by the part."""
    told = Obstacles(NAME)
    for domain, version in part.opsets.items():
        mine = model.opsets.get(domain, version)
        if mine != version:
            what = f"the part imports opset {version} of {domain or 'ai.onnx'}, the model {mine}"
            told.add(path, what, "bring the part to the model's by convert_version")
    told.refuse()
    is_step = any(visit.path == path for visit in walk(model))
    found = _of_step(model, path, part, told) if is_step else _of_body(model, path, part, told)
    told.refuse()
    main = closure_convert(with_own_names(to_implicit_captures(found.main)))
    return replace(
        found,
        main=main,
        functions={**found.functions, **part.functions},
        opsets={**part.opsets, **found.opsets},
    )


def _of_body(model: Model, path: str, part: Model, told: Obstacles) -> Model:
    step, body = body_at(infer(model), path)
    _, old = body_at(model, path)
    inner = clone_with_new_values(part.main, replace)
    head = (None,) if isinstance(step, Loop) and old.results[0] is None else ()
    results = (*head, *inner.results)
    _agree(path, body.params, inner.params, "inputs", told)
    _agree(path, body.results, results, "outputs", told)
    block = replace(old, params=inner.params, constants=inner.constants, steps=inner.steps)
    block = replace(block, results=results, claims=())
    owner = path.rpartition(".")[0]
    return map_step(model, owner, lambda each: _with_body(each, old, block))


def _with_body(step: Step, old: Block, new: Block) -> Step:
    return map_bodies(step, lambda _, body: new if body is old else body)


def _of_step(model: Model, path: str, part: Model, told: Obstacles) -> Model:
    typed = next(visit.step for visit in walk(infer(model)) if visit.path == path)
    read, given = reads(typed), typed.results
    inner = _in_order(part.main, read)
    _agree(path, read, inner.params, "inputs", told)
    _agree(path, given, inner.results, "outputs", told)
    if told.found:
        return model

    # inserted steps are processed again, and one may be equal to the replaced step
    used: list[Step] = []

    def taken(step: Step, here: str) -> Block | None:
        if here != path or used:
            return None
        used.append(step)
        return inner

    return replace(model, main=inline_blocks(model.main, taken))


def _in_order(block: Block, read: tuple[Value | None, ...]) -> Block:
    """The block with its params in the order of the operands, if their names match."""
    names = [value.name if value is not None else "" for value in read]
    by_name = {param.name: param for param in block.params}
    if set(by_name) != set(names) or len(by_name) != len(names):
        return block
    return replace(block, params=tuple(by_name[name] for name in names))


def _agree(
    path: str,
    old: tuple[Value | None, ...],
    new: tuple[Value | None, ...],
    what: str,
    told: Obstacles,
) -> None:
    if len(old) != len(new):
        told.add(path, f"the part has {len(new)} {what}, wanted are {len(old)}")
        return
    for one, other in zip(old, new, strict=True):
        if one is not None and other is not None and contradict(one.type, other.declared):
            told.add(path, f"{what}: {other.name} of the part has another type than {one.name}")
