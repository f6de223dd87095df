"""Turns a loop into a window that runs some of its iterations, with the carried values as inputs.

    h, ys = Loop (m, c, h0) <body (i, go, h, x[i])>

    h, count, go, ys = Loop (limit, go, h0) <body (i + first, go, h, x in slices)>

The window takes the carried values at its start, the number of its first iteration, and its items
of sliced inputs. It returns the carried values at its end, and, if the loop has a condition, the
number of iterations it ran and whether the condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from treadle import ops
from treadle.ir import (
    Block,
    Carried,
    Condition,
    Declaration,
    DType,
    Invariant,
    Iteration,
    Leaf,
    Loop,
    Model,
    Role,
    Sliced,
    Stacked,
    Step,
    Tensor,
    Type,
    Value,
    block_values,
    declared_rank,
    defining_steps,
    ports,
    step_path,
)
from treadle.passes.exposing.writer import Writer, names_of


@dataclass(frozen=True, slots=True)
class State:
    """A carried value: the input, the value of the main block it starts from, and the result."""

    input: str
    initial: str
    result: str


@dataclass(frozen=True, slots=True)
class Slices:
    """An input that takes the window's items of a sliced value of the main block."""

    input: str
    source: str
    role: Sliced


@dataclass(frozen=True, slots=True)
class Stack:
    """A result that holds the window's part of a stacked value."""

    result: str
    role: Stacked


@dataclass(frozen=True, slots=True)
class LoopWindow:
    """The inputs and results, by name, of a window of the loop at `path`; "" for none.

    `trip` and `condition` are the values of the main block that the loop starts with. `limit` takes
    the number of iterations, `go` the condition, `first` the number of the first iteration, of the
    rank `number_rank`, and `number` is the iteration number in the body. `count` and `goes_on` are
    the results with the number of iterations run, and the condition after them. `added` are names
    that only the window has.
    """

    path: str
    trip: str
    condition: str
    limit: str
    go: str
    first: str
    number: str
    number_rank: int
    states: tuple[State, ...]
    slices: tuple[Slices, ...]
    stacks: tuple[Stack, ...]
    count: str
    goes_on: str
    added: frozenset[str]


def loop_window(model: Model, loop: Loop) -> tuple[LoopWindow, Block]:
    """The window of a loop of the main block, and its block, which is still open."""
    made = _Maker(Writer(names_of(model), model.opsets.get("", 0)))
    loop = _unconditional(loop)
    port = ports(loop)
    limit = go = ""
    trip = condition = None
    if loop.trip is not None or not port.sliced:
        trip, limit = made.param("window_limit", Tensor(DType.INT64, ()))
    if loop.condition is not None or port.next_condition is not None:
        condition, go = made.param("window_go", Tensor(DType.BOOL, ()))
    roles, given, rank = _operands(made, loop)
    ends = [made.result(each.result, "window_end") for each in port.carried]
    rows = [made.result(each.result, "window_rows") for each in port.stacked]
    counted: list[Value] = []
    body, added = loop.body, set[str]()
    if port.iteration is not None and made.first is not None:
        body = _counting_from(made, loop, port.iteration)
        added = {each.name for each in {*block_values(body)} - {*block_values(loop.body)}}
    if port.next_condition is not None:
        counted = [made.writer.value("window_count"), made.writer.value("window_goes_on")]
        given += [made.writer.constant(np.array(0)), made.writer.constant(np.array(True))]
        roles += [Carried(), Carried()]
        body = _counting(made.writer, loop, body)
        own = {*block_values(body)} - {*block_values(loop.body)}
        added = {each.name for each in (*counted, *own)}
    step = replace(
        loop, trip=trip, condition=condition, roles=tuple(roles), operands=tuple(given),
        body=body, results=(*ends, *counted, *rows),
    )  # fmt: skip
    block = Block(
        tuple(made.params), tuple(made.writer.constants), (step,), step.results, name="window"
    )
    initial = [_name(each.initial) for each in port.carried]
    count, goes_on = (each.name for each in counted) if counted else ("", "")
    window = LoopWindow(
        loop.info.path, _name(loop.trip), _name(loop.condition), limit, go,
        _name(made.first), _name(port.iteration), rank,
        tuple(map(State, made.states, initial, _names(ends))),
        tuple(made.slices),
        tuple(map(Stack, _names(rows), loop.stacks)),
        count, goes_on, frozenset(added | made.invented),
    )  # fmt: skip
    return window, block


def _unconditional(loop: Loop) -> Loop:
    """The loop without a next condition, if that is the condition again, or always true."""
    next_condition = ports(loop).next_condition
    made = defining_steps(loop.body)
    source = ops.resolve_copies(next_condition, made)
    if next_condition is None or source is None:
        return loop
    is_kept = source is ports(loop).condition
    array = _constant(loop.body, source, made.get(source))
    is_true = array is not None and array.dtype == np.bool_ and bool(array.all())
    if not (is_kept or is_true):
        return loop
    claims = loop.body.claims and (Declaration(), *loop.body.claims[1:])
    body = replace(loop.body, results=(None, *loop.body.results[1:]), claims=claims)
    return replace(loop, body=body)


def _constant(body: Block, value: Value, maker: Step | None) -> np.ndarray | None:
    """The content of a value that is a constant of the body."""
    known = {constant.value: constant.array for constant in body.constants}
    if isinstance(maker, Leaf) and (maker.domain, maker.op) == ("", "Constant"):
        found = ops.fold(maker, (), 1, exact=False)
        return found[0] if found else None
    return known.get(value)


class _Maker:
    """Builds the inputs of a window."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.params: list[Value] = []
        self.states: list[str] = []
        self.slices: list[Slices] = []
        self.first: Value | None = None
        self.invented: set[str] = set()

    def param(self, hint: str, type_: Type | None) -> tuple[Value, str]:
        """Add an input; returns its name."""
        self.params.append(self.writer.value(hint, type_))
        return self.params[-1], self.params[-1].name

    def result(self, value: Value | None, hint: str) -> Value:
        """The loop's result; a new value if the loop leaves it out."""
        if value is not None:
            return value
        made = self.writer.value(hint)
        self.invented.add(made.name)
        return made


def _operands(made: _Maker, loop: Loop) -> tuple[list[Role], list[Value | None], int]:
    """The loop's roles and operands in a window, and the rank of an iteration number."""
    operands = iter(loop.operands)
    roles: list[Role] = []
    given: list[Value | None] = []
    rank = 0
    for position, (role, param) in enumerate(zip(loop.roles, loop.body.params, strict=True)):
        roles.append(role)
        match role:
            case Iteration():
                rank = declared_rank(loop, position)
                made.first, _ = made.param("window_first", Tensor(DType.INT64, (1,) * rank))
            case Condition():
                pass
            case Carried():
                next(operands)
                start, name = made.param(f"window_{param.name}", param.type)
                given.append(start)
                made.states.append(name)
            case Sliced():
                source = next(operands)
                items, name = made.param(f"window_{param.name}", _of_any_length(source, role))
                given.append(items)
                made.slices.append(Slices(name, _name(source), role))
            case Invariant():
                given.append(next(operands))
    if made.first is not None:
        roles.append(Invariant())
        given.append(made.first)
    return roles, given, rank


def _of_any_length(source: Value | None, role: Sliced) -> Type | None:
    """The type of a sliced value with any number of items."""
    type_ = None if source is None else source.type
    if not isinstance(type_, Tensor) or type_.shape is None:
        return type_
    dims = list(type_.shape)
    dims[role.axis] = None
    return Tensor(type_.dtype, tuple(dims))


def _counting_from(made: _Maker, loop: Loop, number: Value) -> Block:
    """The body, which adds the number of the window's first iteration to the iteration number.

    Its steps keep their paths, though one comes before them.
    """
    inner, body, path = made.writer.inner(), loop.body, f"{loop.info.path}.body"
    own, first = inner.value("window_number", number.type), inner.value("window_first")
    inner.leaf("Add", own, first, result=number)
    steps = [
        replace(step, info=replace(step.info, path=step_path(path, step, position)))
        for position, step in enumerate(body.steps)
    ]
    params = [own if each is number else each for each in body.params]
    return replace(body, params=(*params, first), steps=(*inner.steps, *steps))


def _counting(writer: Writer, loop: Loop, body: Block) -> Block:
    """The body, which also carries the number of iterations and the condition after each."""
    inner = writer.inner()
    condition = body.results[0]
    assert condition is not None, "only such loops are counted"
    count, before = inner.value("window_count"), inner.value("window_condition")
    counted = inner.leaf("Add", count, inner.constant(np.array(1)))
    after = inner.scalar(condition)
    first = 1 + len(ports(loop).carried)
    return replace(
        body,
        params=(*body.params, count, before),
        constants=(*body.constants, *inner.constants),
        steps=(*body.steps, *inner.steps),
        results=(*body.results[:first], counted, after, *body.results[first:]),
        claims=body.claims and (*body.claims[:first], *_UNCLAIMED, *body.claims[first:]),
    )


_UNCLAIMED = (Declaration(), Declaration())


def _name(value: Value | None) -> str:
    return "" if value is None else value.name


def _names(values: Iterable[Value]) -> Iterator[str]:
    return (value.name for value in values)
