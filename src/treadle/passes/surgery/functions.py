"""Inlines functions, and outlines bodies into functions.

inline(functions="*")                calls of the selected functions become their steps
outline("main/loop_3.body", "f")     the body of loop_3 becomes one call of a function f
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from treadle.errors import InputError, did_you_mean
from treadle.ir import (
    Attribute,
    Block,
    Branch,
    Call,
    Function,
    FunctionId,
    Info,
    Kind,
    Leaf,
    Literal,
    Loop,
    Model,
    Step,
    Value,
    clone_with_new_values,
    map_blocks,
    map_bodies,
    verified,
)
from treadle.ops import since_version
from treadle.passes.bind_attributes import bind_attributes
from treadle.passes.inline_block import assign_paths, inline_blocks
from treadle.passes.obstacles import Obstacles
from treadle.passes.surgery.blocks import body_at, distinct_results, map_step


@verified
def inline(model: Model, globs: Sequence[str]) -> Model:
    """Inline the functions that the globs select."""
    known = {str(identity): identity for identity in model.functions}
    chosen: set[FunctionId] = set()
    for glob in globs:
        found = {identity for name, identity in known.items() if fnmatchcase(name, glob)}
        if not found and glob != "*":
            raise InputError(f"no function is called {glob!r}, {did_you_mean(glob, list(known))}")
        chosen |= found
    if not chosen:
        return model
    _expect_one_opset(model, chosen)

    def body(step: Step, path: str) -> Block | None:
        if not isinstance(step, Call) or step.function not in chosen:
            return None
        return assign_paths(bind_attributes(model.functions[step.function], step.attributes), path)

    inlined = map_blocks(model, lambda block: inline_blocks(block, body))
    rest = {identity: f for identity, f in inlined.functions.items() if identity not in chosen}
    opsets = {k: v for identity in chosen for k, v in model.functions[identity].opsets.items()}
    return replace(inlined, functions=rest, opsets={**opsets, **model.opsets})


def _expect_one_opset(model: Model, chosen: Collection[FunctionId]) -> None:
    told = Obstacles("inline")
    for identity in chosen:
        for domain, version in model.functions[identity].opsets.items():
            mine = model.opsets.get(domain, version)
            if mine != version:
                what = f"the function imports opset {version} of {domain or 'ai.onnx'}"
                told.add(str(identity), what, f"the model imports {mine}; convert_version helps")
    told.refuse()


@verified
def outline(model: Model, path: str, name: str) -> Model:
    """Move the body at a path into a new function, `name` or `domain::name`, and call it."""
    domain, _, plain = name.rpartition("::")
    identity = FunctionId(domain or "local", plain)
    if identity in model.functions:
        raise InputError(f"the model has a function {identity} already")
    step, body = body_at(model, path)
    function, call = _function(model, identity, body)
    owner, _, attribute = path.rpartition(".")
    location = owner if isinstance(step, Loop | Branch) and attribute in _BODIES else path

    def changed(old: Step) -> Step:
        return map_bodies(old, lambda _, inner: call if inner is body else inner)

    changed_model = map_step(model, location, changed)
    return replace(
        changed_model,
        functions={**model.functions, identity: function},
        opsets={**model.opsets, identity.domain: model.opsets.get(identity.domain, 1)},
    )


_BODIES = ("body", "then_branch", "else_branch")


def _function(model: Model, identity: FunctionId, body: Block) -> tuple[Function, Block]:
    """The function of a body, and a body that calls it."""
    opset = model.opsets.get("", 1)
    inner = clone_with_new_values(body, replace)
    wanted = tuple(value for value in inner.results if value is not None)
    inner = distinct_results(replace(inner, results=wanted, claims=()), opset)
    constant_steps = [_held(constant.value, constant.array, opset) for constant in inner.constants]
    steps: list[Step] = [*constant_steps, *inner.steps]
    block = replace(inner, constants=(), steps=tuple(steps))
    domains = {step.domain for step in steps if isinstance(step, Leaf)} | {""}
    opsets = {name: version for name, version in model.opsets.items() if name in domains}
    function = Function(identity, replace(block, kept={}), opsets={**model.opsets, **opsets})
    results = [Value(v.name, v.declared) for v in body.results if v is not None]
    info = Info(domain=identity.domain, op=identity.name)
    call = Call(identity, body.params, tuple(results), info=info)
    rest = iter(results)
    outcome = tuple(None if v is None else next(rest) for v in body.results)
    return function, replace(body, constants=(), steps=(call,), results=outcome)


def _held(value: Value, array: object, opset: int) -> Leaf:
    import numpy as np

    assert isinstance(array, np.ndarray), "a constant is an array"
    attributes = {"value": Attribute("value", Kind.TENSOR, Literal.of(array))}
    version = since_version("", "Constant", opset) or 1
    return Leaf("", "Constant", version, (), (value,), attributes, info=Info(op="Constant"))
