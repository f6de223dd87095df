"""Generates random IR programs: nested Loop, TensorIterator and If over a dozen operators.

The same program for the same seed. What OpenVINO is known to do wrong (deviations.toml) is left
out: conditions that are false at the start, inner loops that may not run and stack, slices that
start elsewhere, states that only change places; and what it refuses: parts longer than one item
in a Loop, a TensorIterator inside another. The iteration number comes before other Parameters,
and all that a TensorIterator gives depends on its slices.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tools.openvino.growing import TRUE, Grower, Shape, Step, Term
from tools.openvino.sketch import Weights, loop, write
from treadle.formats.openvino.records import PortEntry, PortMap

STATES = ("f32", "f32", "f32", "i64")
Feeds = list[dict[str, np.ndarray]]


def program(seed: str, folder: Path) -> tuple[Path, Feeds]:
    """The files of a program, and what to feed it."""
    chance = random.Random(seed)
    main = Grower(Weights(), chance, 0)
    named = {"x": ("f32", (2, 3)), "y": ("f32", (1, 3)), "n": ("i64", (1,)), "c": ("boolean", (1,))}
    for name, (word, shape) in named.items():
        main.pool.append(Term(main.sketch.parameter(name, word, *shape), word, shape))
    main.grow(chance.randint(2, 5), CONTROL)
    main.pool += chance.choice(CONTROL)(main)
    main.grow(chance.randint(0, 3), CONTROL)
    results = [*main.pool[-4:], *main.stacks[-3:]]
    for number, term in enumerate(results):
        main.sketch.result(term.source, f"out{number}")
    return write(folder, main.sketch), [_feed(chance) for _ in range(2)]


def _feed(chance: random.Random) -> dict[str, np.ndarray]:
    def floats(*shape: int) -> np.ndarray:
        values = [chance.randint(-12, 12) / 8 for _ in range(int(np.prod(shape)))]
        return np.array(values, np.float32).reshape(shape)

    return {
        "x": floats(2, 3),
        "y": floats(1, 3),
        "n": np.array([chance.randint(-2, 4)]),
        "c": np.array([chance.random() < 0.5]),
    }


class _Inside(NamedTuple):
    """A body on its way: its port map's inputs, the outer terms that feed it, its states."""

    body: Grower
    entries: list[PortEntry]
    given: list[Term]
    states: list[Term]
    steps: Term | None


def _inside(
    outer: Grower, first: int, count: int, counter: str = "", states: Sequence[str] = STATES
) -> _Inside:
    """A body with `count` states and some invariants, its ports from `first` on.

    `counter`: the element type of its iteration number, which comes before all other Parameters.
    """
    chance = outer.chance
    body = Grower(outer.sketch.weights, chance, outer.depth + 1)
    body.iterates = outer.iterates
    steps = Term(body.sketch.parameter("i", counter, 1), counter, (1,)) if counter else None
    words = [chance.choice(states) for _ in range(count)]
    words += [chance.choice(("f32", "f32", "i64", "boolean")) for _ in range(chance.randint(0, 3))]
    given = [outer.pick(word) for word in words]
    params = [body.parameter(term) for term in given]
    entries = [PortEntry(first + k, _layer(param)) for k, param in enumerate(params)]
    if steps is not None:
        entries.append(PortEntry(-1, _layer(steps), "current_iteration"))
        if counter == "i32":
            steps = body.layer("Convert", [steps], "i64", (1,), destination_type="i64")
        body.pool.append(steps)
    return _Inside(body, entries, given, params[:count], steps)


def _layer(term: Term) -> int:
    assert isinstance(term.source, int), "a Parameter has one output"
    return term.source


def _next(body: Grower, state: Term) -> Term:
    """What a state becomes, of the same shape."""
    if state.word == "f32":
        made = body.layer("Add", [state, body.fitting(state.shape)], "f32", state.shape)
    else:
        made = body.layer("Add", [state, body.pick("i64")], "i64", (1,))
    return body.bounded(body.dependent(made))


class _Output(NamedTuple):
    """An output of a loop: its entry, what it is of in the body, and along which axis it grows."""

    entry: PortEntry
    term: Term
    axis: int | None


def _outputs(inside: _Inside, results: list[int], *, runs: bool, reverses: bool) -> list[_Output]:
    """The states' last values; of a loop that `runs`, others too, and parts in a row."""
    body, chance = inside.body, inside.body.chance
    pairs = zip(inside.states, results, strict=True)
    made = [
        _Output(PortEntry(100 + k, result), state, None) for k, (state, result) in enumerate(pairs)
    ]
    if not runs:
        return made
    for _ in range(chance.randint(0, 2)):
        term = _thin(body)
        axis = chance.choice([k for k in (0, 1) if term.shape[k] == 1])
        back = reverses and chance.random() < 0.5
        made.append(_Output(_stacked(body, term, axis, 100 + len(made), back), term, axis))
    if chance.random() < 0.3:
        words = ("f32",) if body.slice else ("f32", "i64", "boolean")
        term = body.dependent(body.pick(chance.choice(words)))
        entry = PortEntry(100 + len(made), body.sketch.result(term.source))
        made.append(_Output(entry, term, None))
    return made


def _thin(body: Grower) -> Term:
    """A float with an axis of one item: OpenVINO's Loop has no longer parts."""
    thin = [term for term in body.pool if term.word == "f32" and 1 in term.shape]
    return body.dependent(body.chance.choice(thin) if thin else body.floats((1, 3)))


def _stacked(body: Grower, term: Term, axis: int, port: int, back: bool) -> PortEntry:
    result = body.sketch.result(term.source)
    start, end, stride = (-1, 0, -1) if back else (0, -1, 1)
    return PortEntry(port, result, "", axis, start, end, stride, 1)


def _outside(outer: Grower, made: int, outputs: list[_Output]) -> list[Term]:
    """The outputs as terms; outputs of dynamic length are summed along it."""
    found = []
    for place, (_, term, axis) in enumerate(outputs):
        if axis is None:
            found.append(Term((made, place), term.word, term.shape))
            continue
        shape = tuple(1 if k == axis else extent for k, extent in enumerate(term.shape))
        stack = Term((made, place), "f32", _grown(term.shape, axis))
        outer.stacks.append(stack)
        axes = outer.constant(np.array([axis]))
        total = outer.layer("ReduceSum", [stack, axes], "f32", shape, keep_dims=True)
        found.append(outer.bounded(total))
    return found


def _grown(shape: Shape, axis: int) -> Shape:
    return tuple(-1 if k == axis else extent for k, extent in enumerate(shape))


def _ports(outputs: list[_Output]) -> list[tuple[str, Shape]]:
    return [
        (term.word, term.shape if axis is None else _grown(term.shape, axis))
        for _, term, axis in outputs
    ]


def _back_edges(states: Sequence[Term], results: Sequence[int]) -> list[tuple[int, int]]:
    return [(result, _layer(state)) for result, state in zip(results, states, strict=True)]


def _loop(outer: Grower) -> list[Term]:
    """A Loop: for, while, do-while, for with a condition, some with slices."""
    chance = outer.chance
    inside = _inside(outer, 2, chance.randint(1, 3), chance.choice(("i64", "i32")))
    body, step = inside.body, inside.steps
    assert step is not None, "it counts"
    entries, given = list(inside.entries), list(inside.given)
    sliced = chance.random() < 0.3 and _slice(outer, inside, entries, given, 2)
    trip, runs = _trip(outer, sliced)
    body.grow(chance.randint(1, 4), CONTROL)
    results = [body.sketch.result(_next(body, state).source) for state in inside.states]
    go = body.sketch.result(_condition(body, step, bounds=trip is None).source)
    outputs = _outputs(inside, results, runs=runs, reverses=False)
    count = outer.constant(np.array(-1)) if trip is None else trip
    feeds = [term.source for term in (count, outer.constant(TRUE), *given)]
    port_map = {
        "in": entries,
        "out": [*(each.entry for each in outputs), PortEntry(-1, go, "execution_condition")],
    }
    back = _back_edges(inside.states, results)
    made = loop(outer.sketch, body.sketch, feeds, _ports(outputs), port_map, back)
    return _outside(outer, made, outputs)


def _trip(outer: Grower, sliced: int) -> tuple[Term | None, bool]:
    """A trip count, None for none, and whether it is at least 1."""
    chance = outer.chance
    if sliced:
        return outer.number(1, sliced), True
    match chance.randrange(4):
        case 0:
            return None, True
        case 1:
            return outer.constant(np.array(chance.randint(1, 3))), True
        case 2:
            least = chance.choice((0, 1)) if outer.depth == 0 else 1
            known = outer.pick("i64")
            return outer.layer("Clamp", [known], "i64", (1,), min=least, max=4), least > 0
        case _:
            return outer.number(1, 4), True


def _condition(body: Grower, step: Term, *, bounds: bool) -> Term:
    """Whether another iteration follows; `bounds`: nothing else ends the loop."""
    chance = body.chance
    limit = body.layer("Less", [step, body.number(0, 3)], "boolean", (1,))
    if bounds:
        other = body.pick("boolean")
        return body.layer("LogicalAnd", [limit, other], "boolean", (1,))
    if chance.random() < 0.4:
        return body.constant(TRUE)
    return body.layer("LogicalOr", [limit, body.pick("boolean")], "boolean", (1,))


def _slice(
    outer: Grower, inside: _Inside, entries: list[PortEntry], given: list[Term], first: int,
    back: bool = False,
) -> int:  # fmt: skip
    """Slice one outer value; how many slices there are."""
    axis = outer.chance.choice((0, 1))
    whole = outer.fitting((2, 3))
    count = whole.shape[axis]
    shape = tuple(1 if k == axis else extent for k, extent in enumerate(whole.shape))
    param = inside.body.parameter(Term(0, "f32", shape))
    start, end, stride = (-1, 0, -1) if back else (0, -1, 1)
    port = first + len(given)
    entries.append(PortEntry(port, _layer(param), "", axis, start, end, stride, 1))
    given.append(whole)
    return count


def _iterator(outer: Grower) -> list[Term]:
    """A TensorIterator over the slices of a value, from either end; none stands in another."""
    if outer.iterates:
        return _loop(outer)
    chance = outer.chance
    inside = _inside(outer, 0, chance.randint(0, 2), states=("f32",))
    inside.body.iterates = True
    entries, given = list(inside.entries), list(inside.given)
    _slice(outer, inside, entries, given, 0, back=chance.random() < 0.5)
    body = inside.body
    body.slice = body.pool[-1]
    body.grow(chance.randint(1, 4), CONTROL)
    results = [body.sketch.result(_next(body, state).source) for state in inside.states]
    outputs = _outputs(inside, results, runs=True, reverses=True)
    if not outputs:
        term = _thin(body)
        axis = term.shape.index(1)
        outputs = [_Output(_stacked(body, term, axis, 100, back=False), term, axis)]
    port_map = {"in": entries, "out": [each.entry for each in outputs]}
    back = _back_edges(inside.states, results)
    feeds = [term.source for term in given]
    made = loop(outer.sketch, body.sketch, feeds, _ports(outputs), port_map, back, "TensorIterator")
    return _outside(outer, made, outputs)


def _branch(outer: Grower) -> list[Term]:
    """An If whose sides have bodies of their own."""
    chance = outer.chance
    condition = outer.pick("boolean")
    feeds, bodies, maps = [condition], {}, {}
    wanted = [chance.choice(("f32", "f32", "i64")) for _ in range(chance.randint(1, 2))]
    shapes = [chance.choice(((2, 3), (1, 3))) if word == "f32" else (1,) for word in wanted]
    for side in ("then", "else"):
        inside = _inside(outer, len(feeds), chance.randint(0, 2))
        body = inside.body
        body.grow(chance.randint(1, 3), CONTROL)
        terms = [_shaped(body, word, shape) for word, shape in zip(wanted, shapes, strict=True)]
        results = [body.sketch.result(term.source) for term in terms]
        feeds += inside.given
        bodies[f"{side}_body"] = body.sketch.body()
        outputs = tuple(PortEntry(100 + k, result) for k, result in enumerate(results))
        maps[f"{side}_port_map"] = PortMap(tuple(inside.entries), outputs)
    ports = list(zip(wanted, shapes, strict=True))
    sources = [term.source for term in feeds]
    made = outer.sketch.layer("If", sources, ports, "opset8", port_maps=maps, bodies=bodies)
    return [Term((made, k), word, shape) for k, (word, shape) in enumerate(ports)]


def _shaped(body: Grower, word: str, shape: Shape) -> Term:
    if word != "f32":
        return body.bounded(body.pick("i64"))
    return body.layer("Add", [body.floats(shape), body.fitting(shape)], "f32", shape)


CONTROL: tuple[Step, ...] = (_loop, _loop, _iterator, _branch)
