"""Proves shapes and trip counts that are the same in every iteration."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from treadle.infer import certain_facts
from treadle.ir import (
    Block,
    Branch,
    Dim,
    Expression,
    Iteration,
    Loop,
    Model,
    Stacked,
    Step,
    Symbol,
    Tensor,
    Type,
    Value,
    bodies,
    map_steps,
    ports,
    step_path,
    walk_block,
)

_TRIPS = ".trips"


@dataclass(frozen=True, slots=True)
class BlockScope:
    """The place of a block: the enclosing loops, outermost first, and whether a branch encloses it.

    `loops` are their paths; `branched`: an enclosing branch decides whether it runs; `outer` are
    the paths of the enclosing blocks, `steps` of the enclosing loops and branches, outermost first.
    """

    block: Block
    outer: tuple[str, ...] = ()
    loops: tuple[str, ...] = ()
    branched: bool = False
    steps: tuple[str, ...] = ()


def places(model: Model) -> dict[str, BlockScope]:
    """The main block and the bodies of loops and branches, by path."""
    return dict(_places(model.main, "main", BlockScope(model.main)))


def _places(block: Block, path: str, scope: BlockScope) -> Iterator[tuple[str, BlockScope]]:
    yield path, scope
    for position, step in enumerate(block.steps):
        if not isinstance(step, Loop | Branch):
            continue
        here = step_path(path, step, position)
        loops = (*scope.loops, here) if isinstance(step, Loop) else scope.loops
        branched = scope.branched or isinstance(step, Branch)
        for name, body in bodies(step):
            inner = BlockScope(body, (*scope.outer, path), loops, branched, (*scope.steps, here))
            yield from _places(body, f"{here}.{name}", inner)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Properties that do not change between iterations.

    `types` are the types of all values, with inferred dims; `trips` the paths of loops with a fixed
    trip count; `once` those of the loops that run at most once.
    """

    types: dict[Value, Type | None]
    trips: frozenset[str]
    once: frozenset[str]

    def has_one_shape(self, value: Value) -> bool:
        """Whether the value is a tensor whose shape is the same in every iteration."""
        type_ = self.types.get(value)
        if not isinstance(type_, Tensor) or type_.dtype is None or type_.shape is None:
            return False
        return all(_is_fixed(dim, self.once) for dim in type_.shape)


def fixed(model: Model, where: dict[str, BlockScope]) -> Fixed:
    """The properties that inference proves for a model without functions."""
    probed = replace(model, main=map_steps(model.main, _with_probe))
    facts = certain_facts(probed)
    inner = {path for scope in where.values() for path in scope.loops[1:]}
    outer = {path for scope in where.values() for path in scope.loops[:1]}
    once = frozenset(outer - inner)
    trips = set()
    for visit in walk_block(probed.main):
        if isinstance(visit.step, Loop):
            probe = visit.step.results[-1]
            type_ = None if probe is None or probe not in facts else facts[probe].type
            if isinstance(type_, Tensor) and type_.shape and _is_fixed(type_.shape[0], once):
                trips.add(visit.path)
    return Fixed({value: fact.type for value, fact in facts.items()}, frozenset(trips), once)


def _with_probe(step: Step) -> Step:
    """Add a stacked output of iteration numbers to a loop: its length is the trip count."""
    if not isinstance(step, Loop):
        return step
    iteration = ports(step).iteration
    if iteration is None:
        iteration = Value("iteration")
        params, roles = (*step.body.params, iteration), (*step.roles, Iteration())
    else:
        params, roles = step.body.params, step.roles
    body = replace(step.body, params=params, results=(*step.body.results, iteration), claims=())
    results = (*step.results, Value("trips"))
    return replace(step, body=body, roles=roles, stacks=(*step.stacks, Stacked()), results=results)


def _is_fixed(dim: Dim, once: Collection[str]) -> bool:
    """Whether an extent depends only on the inputs, and on loops that run once."""
    match dim:
        case int():
            return True
        case Symbol(name):
            return _is_fixed_name(name, once)
        case Expression(terms):
            return all(_is_fixed_name(name, once) for names, _ in terms for name in names)
    return False


def _is_fixed_name(name: str, once: Collection[str]) -> bool:
    is_trips = name.endswith(_TRIPS) and name.removesuffix(_TRIPS) in once
    return name.startswith("input ") or is_trips
