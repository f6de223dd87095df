"""Induction over iterations: guesses how carried extents grow, and tests the guess.

    extent 3, the body adds 2 to it     ->  2*i+3 is tried, and stays if the body gives 2*(i+1)+3
    extent 3, the body doubles it       ->  no linear guess holds: a new symbol, `LOOP:VALUE.AXIS`
    a counter, the length of a sequence ->  likewise

`i` is the symbol `LOOP.iteration`: the number of finished iterations. After the loop it is replaced
by the trip count, so an extent that grows by a constant step is known there too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from treadle.infer.dim_arithmetic import at_least, replaced
from treadle.infer.facts import (
    Content,
    Fact,
    join,
    map_dims,
    meet_types,
    without_shapes,
)
from treadle.ir import (
    Dim,
    DType,
    Range,
    Symbol,
    Tensor,
    Type,
    add_dims,
    dim_symbols,
    multiply_dims,
    subtract_dims,
)

_COUNTS = (DType.INT64, DType.INT32)


@dataclass(frozen=True, slots=True)
class LoopSymbols:
    """The symbols of one loop: its iteration number and its changing carried extents."""

    path: str

    @property
    def iteration(self) -> str:
        """The symbol of the number of finished iterations."""
        return f"{self.path}.iteration"

    def is_inner(self, dim: Dim) -> bool:
        """Whether the dim's symbols are valid in a single iteration only."""
        starts = (f"{self.path}.", f"{self.path}:")
        return any(name.startswith(starts) for name in dim_symbols(dim))

    def is_own(self, name: str) -> bool:
        """Whether the loop made this symbol for an extent that changes between iterations."""
        return name == self.iteration or name.startswith(f"{self.path}:")

    def at(self, dim: Dim, iteration: Dim) -> Dim:
        """The dim in a given iteration, or after the loop."""
        if isinstance(dim, int) or self.iteration not in dim_symbols(dim):
            return dim
        return replaced(dim, self.iteration, iteration)

    def next(self, dim: Dim) -> Dim:
        """The dim one iteration later."""
        return self.at(dim, add_dims(Symbol(self.iteration), 1))

    def after(self, fact: Fact, iteration: Dim) -> Fact:
        """The fact outside the body, without the loop's own symbols."""

        def change(dim: Dim) -> Dim:
            if isinstance(dim, int):
                return dim
            outside = self.at(dim, iteration)
            return None if any(map(self.is_own, dim_symbols(outside))) else outside

        return map_dims(fact, change)


def initial_guess(clock: LoopSymbols, name: str, initial: Fact) -> Fact:
    """Guess that a carried value keeps its initial fact; unknown extents get symbols."""
    match initial.type:
        case Tensor(dtype, shape) if shape is not None and None in shape:
            named = tuple(
                _name(clock, name, axis) if dim is None else dim for axis, dim in enumerate(shape)
            )
            return replace(initial, type=Tensor(dtype, named))
    return initial


def _name(clock: LoopSymbols, name: str, axis: int) -> Symbol:
    return Symbol(f"{clock.path}:{name}.{axis}")


def next_iteration(clock: LoopSymbols, name: str, state: Fact, given: Fact) -> Fact:
    """Correct the guess where the body's result differs from its prediction."""

    def move(old: Dim, new: Dim, otherwise: Dim) -> Dim:
        if old == otherwise or clock.next(old) == new:
            return old
        step = subtract_dims(new, old)
        if step is None or clock.is_inner(step) or clock.is_inner(old):
            return otherwise
        return add_dims(old, multiply_dims(step, Symbol(clock.iteration)))

    outside = map_dims(given, lambda dim: None if clock.is_inner(dim) else dim)
    return _moved(clock, name, (state, given, join(state, outside)), move)


def rebased(clock: LoopSymbols, name: str, state: Fact, initial: Fact) -> Fact:
    """The guess for another initial value, with the same growth."""

    def move(old: Dim, new: Dim, otherwise: Dim) -> Dim:
        first = clock.at(old, 0)
        if old == otherwise or first == new:
            return old
        moved = add_dims(old, subtract_dims(new, first))
        return otherwise if moved is None else moved

    return _moved(clock, name, (state, initial, join(state, initial)), move)


def _moved(
    clock: LoopSymbols,
    name: str,
    facts: tuple[Fact, Fact, Fact],
    move: Callable[[Dim, Dim, Dim], Dim],
) -> Fact:
    old, new, met = facts
    if old == new:
        return old
    # an illegal change of dtype or kind keeps the old fact
    type_ = meet_types(met.type, without_shapes(old.type))
    match old.type, new.type:
        case Tensor(dtype, tuple() as shape), Tensor(_, tuple() as other) if len(shape) == len(
            other
        ):
            type_ = Tensor(
                dtype,
                tuple(
                    move(a, b, _name(clock, name, axis))
                    for axis, (a, b) in enumerate(zip(shape, other, strict=True))
                ),
            )
    count = None if old.count is None else move(old.count, new.count, None)
    return Fact(type_, _contents(old, new, type_, move), met.literal, count)


def _contents(
    old: Fact, new: Fact, type_: Type | None, move: Callable[[Dim, Dim, Dim], Dim]
) -> Content | None:
    a, b = old.content, new.content
    if a is None or b is None or len(a) != len(b) or not isinstance(type_, Tensor):
        return None
    if type_.shape is None or not all(isinstance(dim, int) for dim in type_.shape):
        return None
    counts = type_.dtype in _COUNTS
    entries = tuple(
        (move(x, y, None) if counts else (x if x == y else None)) for x, y in zip(a, b, strict=True)
    )
    return entries if any(entry is not None for entry in entries) else None


def lower_bounded(initial: Fact, state: Fact, given: Fact, end: Fact) -> Fact:
    """Bound the fact after the loop from below: an extent that only grows never shrinks.

    `state` and `given` describe one iteration: the carried value before and after the body.
    """
    if not isinstance(end.type, Tensor):
        return end
    types = (initial.type, state.type, given.type, end.type)
    shapes = [type_.shape if isinstance(type_, Tensor) else None for type_ in types]
    first, before, after, last = shapes
    if first is None or before is None or after is None or last is None:
        return end
    if len({len(shape) for shape in (first, before, after, last)}) > 1:
        return end
    dims = tuple(
        Range(low) if isinstance(low, int) and dim is None and _grows(old, new) else dim
        for low, old, new, dim in zip(first, before, after, last, strict=True)
    )
    return replace(end, type=Tensor(end.type.dtype, dims)) if dims != last else end


def _grows(old: Dim, new: Dim) -> bool:
    return at_least(subtract_dims(new, old), 0)
