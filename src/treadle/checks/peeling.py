"""Peels the first two iterations off a loop, so that inference sees each of them alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from treadle.checks.carried import closure
from treadle.checks.constants import Known
from treadle.infer import infer
from treadle.ir import (
    Block,
    Carried,
    Condition,
    Constant,
    Dim,
    Expression,
    Invariant,
    Iteration,
    Literal,
    Loop,
    Map,
    Model,
    Optional,
    Sequence,
    Shape,
    Sparse,
    Step,
    Symbol,
    Tensor,
    Type,
    Value,
    clone_with_new_values,
    defining_steps,
    dim_symbols,
    ports,
    substitute,
    with_operands,
)

_FIXED = "@"
"""The prefix of symbols in the types of a loop's operands: they are the same in every iteration."""


class Iterations(NamedTuple):
    """The types of the body's results in the first iteration and in the second.

    Dims that may differ between runs of the body are None; symbols are those of the operands.
    """

    first: tuple[Type | None, ...]
    second: tuple[Type | None, ...]


def peel_two_iterations(
    loop: Loop, model: Model, known: Known, wanted: Collection[Value]
) -> Iterations | None:
    """Infer the types of the body's wanted results in iterations 0 and 1, assuming that both run.

        state = initial
        first = body(0, state)
        second = body(1, state_of(first))

    Declarations inside the body are ignored. Returns None for a loop that has an absent operand or
    slices its inputs.
    """
    roles = dict(zip(loop.body.params, loop.roles, strict=True))
    plain = all(isinstance(r, Iteration | Condition | Carried | Invariant) for r in loop.roles)
    if not plain or any(value is None for value in loop.operands):
        return None
    outer = _Outer(known)
    view = ports(loop)
    needed = closure(view, defining_steps(loop.body), wanted)
    kept = [step for step in loop.body.steps if needed & set(step.results)]
    body = replace(
        loop.body,
        steps=tuple(kept),
        results=tuple(value if value in needed else None for value in loop.body.results),
    )
    given: dict[Value, Value] = {port.param: outer.bring(port.operand) for port in view.invariants}
    states = [outer.bring(port.initial) for port in view.carried]
    condition = outer.bring(loop.condition) if loop.condition is not None else outer.number(True)
    steps: list[Step] = []
    rounds: list[tuple[Value | None, ...]] = []
    for number in range(2):
        own = {Iteration: outer.number(number), Condition: condition}
        fed = given | dict(zip((port.param for port in view.carried), states, strict=True))
        fed |= {param: own[type(role)] for param, role in roles.items() if type(role) in own}
        made = _copy(body, fed, outer)
        steps += made.steps
        rounds.append(made.results)
        given_back = made.results[1 : 1 + len(states)]
        states = [old if new is None else new for old, new in zip(states, given_back, strict=True)]
        condition = made.results[0] or condition
    results = (*rounds[0], *rounds[1])
    block = Block(tuple(outer.params), tuple(outer.constants), tuple(steps), results)
    types = _types(replace(model, main=block))
    half = len(rounds[0])
    return Iterations(types[:half], types[half:])


def _copy(body: Block, fed: Mapping[Value, Value], outer: _Outer) -> Block:
    def change(value: Value) -> Value:
        copy = replace(value, declared=None, inferred=None)
        copies[value] = copy
        return copy

    copies: dict[Value, Value] = {}
    made = clone_with_new_values(body, change)
    given = {copies[param]: value for param, value in fed.items()}
    outer.constants += made.constants
    steps = tuple(with_operands(step, given) for step in made.steps)
    return replace(made, steps=steps, results=substitute(made.results, given))


class _Outer:
    """The inputs and constants of the straight-line program."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.params: list[Value] = []
        self.constants: list[Constant] = []
        self.brought: dict[Value, Value] = {}

    def bring(self, value: Value | None) -> Value:
        """Bring in an outer value: a constant if its content is known, else a typed input."""
        assert value is not None
        if value not in self.brought:
            array = self.known.get(value)
            self.brought[value] = (
                self._input(value) if array is None else self._constant(array, value.name)
            )
        return self.brought[value]

    def number(self, content: int | bool) -> Value:
        """Make a scalar constant: an iteration number, or true."""
        return self._constant(np.array(content), "number")

    def _input(self, value: Value) -> Value:
        self.params.append(Value(value.name, _marked(value.inferred)))
        return self.params[-1]

    def _constant(self, array: np.ndarray, name: str) -> Value:
        value = Value(name)
        self.constants.append(Constant(value, Literal.of(array)))
        return value


def _types(model: Model) -> tuple[Type | None, ...]:
    results = infer(model).main.results
    return tuple(None if v is None else _unmarked(v.inferred) for v in results)


def _marked(type_: Type | None) -> Type | None:
    return _map_dims(type_, lambda dim: _renamed(dim, lambda name: _FIXED + name))


def _unmarked(type_: Type | None) -> Type | None:
    return _map_dims(type_, _unmarked_dim)


def _unmarked_dim(dim: Dim) -> Dim:
    if isinstance(dim, int) or all(name.startswith(_FIXED) for name in dim_symbols(dim)):
        return _renamed(dim, lambda name: name.removeprefix(_FIXED))
    return None


def _map_dims(type_: Type | None, change: Callable[[Dim], Dim]) -> Type | None:
    match type_:
        case Tensor() | Sparse():
            shape: Shape | None = None if type_.shape is None else tuple(map(change, type_.shape))
            return replace(type_, shape=shape)
        case Sequence() | Optional() | Map():
            return replace(type_, element=_map_dims(type_.element, change))
    return None


def _renamed(dim: Dim, rename: Callable[[str], str]) -> Dim:
    match dim:
        case Symbol(name):
            return Symbol(rename(name))
        case Expression(terms):
            return Expression(tuple(sorted((tuple(map(rename, n)), c) for n, c in terms)))
    return dim
