"""Finds and replaces blocks of a model by their paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from treadle.errors import InputError, did_you_mean
from treadle.ir import (
    Block,
    Declaration,
    Expression,
    Info,
    Leaf,
    Map,
    Model,
    Optional,
    Sequence,
    Step,
    Symbol,
    Tensor,
    Type,
    Value,
    bodies,
    map_bodies,
    step_path,
    walk,
)
from treadle.ops import since_version

ChangeBody = Callable[[Step, str, Block, str], Block]


def block_paths(model: Model) -> Mapping[str, tuple[Step, Block]]:
    """Every body of the model with its step, by path; a single body also by its step's path."""
    found: dict[str, tuple[Step, Block]] = {}
    for visit in walk(model):
        inner = list(bodies(visit.step))
        found |= {f"{visit.path}.{name}": (visit.step, body) for name, body in inner}
        if len(inner) == 1:
            found[visit.path] = (visit.step, inner[0][1])
    return found


def body_at(model: Model, path: str) -> tuple[Step, Block]:
    """The body at a path and its step; raises InputError if there is none."""
    known = block_paths(model)
    if path not in known:
        raise InputError(f"the model has no body at {path!r}, {did_you_mean(path, list(known))}")
    return known[path]


def map_step(model: Model, path: str, change: Callable[[Step], Step]) -> Model:
    """Replace the step at a path; raises InputError if there is none."""
    if all(visit.path != path for visit in walk(model)):
        known = [visit.path for visit in walk(model)]
        raise InputError(f"the model has no step at {path!r}, {did_you_mean(path, known)}")

    def inside(block: Block, here: str) -> Block:
        return replace(block, steps=tuple(each(s, here, k) for k, s in enumerate(block.steps)))

    def each(step: Step, here: str, position: int) -> Step:
        at = step_path(here, step, position)
        if at == path:
            return change(step)
        if not path.startswith(f"{at}."):
            return step
        return map_bodies(step, lambda name, body: inside(body, f"{at}.{name}"))

    functions = {
        identity: replace(function, block=inside(function.block, str(identity)))
        for identity, function in model.functions.items()
    }
    return replace(model, main=inside(model.main, "main"), functions=functions)


def declared(value: Value) -> Value:
    """The value as an input of a model: declares the inferred type without symbols of loops."""
    return replace(value, declared=plain(value.type), inferred=None)


def plain(type_: Type | None) -> Type | None:
    """The type without extents that are symbols of a loop."""
    match type_:
        case Tensor(dtype, tuple() as shape):
            return Tensor(dtype, tuple(None if _is_of_loop(dim) else dim for dim in shape))
        case Sequence() | Optional() | Map():
            return replace(type_, element=plain(type_.element))
    return type_


def _is_of_loop(dim: object) -> bool:
    match dim:
        case Symbol(name):
            return "/" in name
        case Expression(terms):
            return any("/" in name for names, _ in terms for name in names)
    return not isinstance(dim, int)


def claim(value: Value | None) -> Declaration:
    """The declaration of a result."""
    return Declaration(plain(value.type) if value is not None else None)


def contradict(one: Type | None, other: Type | None) -> bool:
    """Whether no value can have both types."""
    if one is None or other is None:
        return False
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        has_other = None not in (one.dtype, other.dtype) and one.dtype is not other.dtype
        if has_other or one.shape is None or other.shape is None:
            return has_other
        pairs = zip(one.shape, other.shape, strict=False)
        numbers = [(a, b) for a, b in pairs if isinstance(a, int) and isinstance(b, int)]
        return len(one.shape) != len(other.shape) or any(a != b for a, b in numbers)
    return type(one) is not type(other)


def distinct_results(block: Block, opset: int) -> Block:
    """Copy results so that all are defined by steps of the block, each once."""
    made = {value for step in block.steps for value in step.results}
    version = since_version("", "Identity", opset) or 1
    copies: list[Step] = []
    given: list[Value | None] = []
    for value in block.results:
        if value is None or (value in made and value not in given):
            given.append(value)
            continue
        copy = Value(f"{value.name}_result", value.declared, value.inferred)
        copies.append(Leaf("", "Identity", version, (value,), (copy,), info=Info(op="Identity")))
        given.append(copy)
    return replace(block, steps=(*block.steps, *copies), results=tuple(given))
