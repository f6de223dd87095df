"""Carried values whose extents change: in every iteration, or in the first one, which is peeled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, declined
from tests.values import assert_same
from treadle.jit.lowering import loop

GROWS = """g (int64 n, float[2] x) => (float[N] y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    axis = Constant <value = int64[1] {0}> ()
    one = Constant <value = int64[1] {1}> ()
    last = Slice (a, axis, one, axis)
    b = Concat <axis = 0> (a, last)
  }>
}"""
SHRINKS = """g (int64 n, float[9] x) => (float[N] y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    limit = CastLike (i, a)
    is_more = Greater (a, limit)
    b = Compress <axis = 0> (a, is_more)
  }>
}"""
LIST = """g (int64 n, float[2] x) => (float[N] y) {
  none = SequenceEmpty <dtype = 1> ()
  rows = Loop (n, "", none) <body = f (int64 i, bool go, seq(float[2]) a)
    => (bool on, seq(float[2]) c) {
    on = Identity (go)
    factor = CastLike (i, x)
    row = Mul (x, factor)
    c = SequenceInsert (a, row)
  }>
  y = ConcatFromSequence <axis = 0> (rows)
}"""
STAYS = """g (int64 n, float[4] x) => (float[N] y) {
  y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    first, second = Split <axis = 0, num_outputs = 2> (a)
    b = Concat <axis = 0> (second, first)
  }>
}"""


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[tuple[int, int]]]:
    """The axes that change, for each time that a body was lowered."""
    found: list[frozenset[tuple[int, int]]] = []
    write: Callable[..., None] = loop._write

    def counted(*args: Any) -> None:
        found.append(args[4])
        write(*args)

    monkeypatch.setattr(loop, "_write", counted)
    return found


@pytest.mark.parametrize(
    ("text", "changing"),
    [(GROWS, {(0, 0)}), (SHRINKS, {(0, 0)}), (LIST, {(0, 0)}), (STAYS, set())],
    ids=["grows", "shrinks", "list", "stays"],
)
def test_a_body_is_lowered_once(text: str, changing: set, bodies: list) -> None:
    size = {"float[2]": 2, "float[9]": 9, "float[4]": 4}[text.split(" x)")[0].split("n, ")[1]]
    check(text, {"n": np.array(3), "x": np.arange(1, size + 1, dtype=np.float32)})
    assert bodies
    assert all(found == changing for found in bodies)


REJOINED = """g (int64 n, float[9] x) => (float[N] z) {
  z = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
    on = Identity (go)
    axis = Constant <value = int64[1] {0}> ()
    beyond = Constant <value = int64[1] {2147483647}> ()
    three = Constant <value = int64 {3}> ()
    place = Sub (i, three)
    at = Unsqueeze (place, axis)
    first = Slice (a, axis, at, axis)
    second = Slice (a, at, beyond, axis)
    turned = Neg (first)
    b = Concat <axis = 0> (turned, second)
  }>
}"""


def test_a_row_that_is_put_together_again_keeps_its_extent(bodies: list) -> None:
    """Inference does not know the extent of the whole; at a negative place it is one, too."""
    for trips in (0, 1, 3, 5, 20):
        feeds = {"n": np.array(trips), "x": np.arange(9, dtype=np.float32)}
        check(REJOINED, feeds)
    assert bodies[:2] == [frozenset({(0, 0)}), frozenset()]
    assert not any(bodies[1::2])


NAMED = """g (int64 n, float[H, W] x, float[A, B] y, float[C] z) => (float[M, N] last) {
  last = Loop (n, "", x) <body = f (int64 i, bool go, float[P, Q] a)
    => (bool on, float[R, S] b) {
    on = Identity (go)
    sum = Add (a, y)
    b = Mul (sum, z)
  }>
}"""


def test_extents_of_several_names_stay_where_they_are_equal_in_a_run(bodies: list, rng) -> None:
    shapes = {"x": (3, 4), "y": (3, 4), "z": (4,)}
    check(NAMED, {"n": np.array(3), **{k: rng.random(s, np.float32) for k, s in shapes.items()}})
    assert bodies
    assert not any(bodies)


def test_extents_of_several_names_that_a_run_broadcasts(bodies: list, rng) -> None:
    shapes = {"x": (1, 4), "y": (3, 4), "z": (1,)}
    check(NAMED, {"n": np.array(3), **{k: rng.random(s, np.float32) for k, s in shapes.items()}})
    assert bodies == [frozenset(), frozenset()], "the second without the first iteration"


TOTAL = """g (int64 n, float[T, 4] x, START start) => (float[P] last, float[N, M] rows) {
  last, rows = Loop (n, "", start) <body = f (int64 i, bool go, STATE a)
    => (bool on, float[R] b, float[Q] row) {
    item = Gather <axis = 0> (x, i)
    b = Add (a, item)
    row = Identity (b)
    most = Constant <value = float {9}> ()
    first = ReduceMax <keepdims = 0> (item)
    CONDITION
  }>
}"""
ALWAYS, SOON = "on = Identity (go)", "on = Less (first, most)"


def total(condition=ALWAYS, start="float[K]", state="float[S]"):
    """The sum of rows, from a number or a row of one element."""
    text = TOTAL.replace("CONDITION", condition)
    return text.replace("START", start).replace("STATE", state)


def feed(rng, trips, start):
    return {"n": np.array(trips), "x": rng.uniform(0, 8, (9, 4)).astype(np.float32), "start": start}


@pytest.mark.parametrize("condition", [ALWAYS, SOON])
@pytest.mark.parametrize("trips", [1, 2, 9])
def test_a_row_of_one_element_becomes_a_row(trips, condition, rng):
    fed = feed(rng, trips, np.full(1, 0.5, np.float32))
    for end in (None, 0, 4):
        if end is not None:
            fed["x"][end, 2] = 10
        check(total(condition), fed)


def test_a_number_becomes_a_row(rng):
    check(total(start="float", state="float"), feed(rng, 9, np.float32(0.5)))


def test_without_an_iteration_the_value_keeps_its_shape(rng):
    text = total()
    fed = feed(rng, 0, np.full(1, 0.5, np.float32))
    sessions = [
        treadle.InferenceSession(HEAD + text, engines=engines)
        for engines in (("jit", "interp"), ("interp",))
    ]
    for trips in (0, 3, 0):
        found, wanted = (each.run(None, {**fed, "n": np.array(trips)}) for each in sessions)
        assert_same(found, wanted, ["last", "rows"])
        assert found[0].shape == ((4,) if trips else (1,))


def test_values_that_change_in_other_iterations_too_are_lowered_as_such(rng):
    text = """g (int64 n, float[K] x) => (float[N] y) {
      y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a) => (bool on, float[B] b) {
        on = Identity (go)
        b = Concat <axis = 0> (a, a)
      }>
    }"""
    check(text, *({"n": np.array(n), "x": np.ones(1, np.float32)} for n in (0, 1, 2, 5)))


def test_a_loop_in_a_loop(rng):
    text = """g (int64 n, float[4, 3] x, float[1] start) => (float[N, 3] rows) {
      rows = Loop (n, "") <body = outer (int64 k, bool go) => (bool on, float[3] row) {
        on = Identity (go)
        four = Constant <value = int64 {4}> ()
        row = Loop (four, "", start) <body = f (int64 i, bool more, float[A] a)
          => (bool again, float[B] b) {
          again = Identity (more)
          item = Gather <axis = 0> (x, i)
          factor = CastLike (k, item)
          scaled = Mul (item, factor)
          sum = Add (a, scaled)
          b = Tanh (sum)
        }>
      }>
    }"""
    given = {"x": rng.uniform(-1, 1, (4, 3)).astype(np.float32), "start": np.ones(1, np.float32)}
    check(text, *({"n": np.array(n), **given} for n in (1, 2, 6)))


def test_a_trip_count_of_many_values_has_one_kernel(rng):
    session = treadle.InferenceSession(HEAD + total(), engines=("jit", "interp"))
    fed = feed(rng, 1, np.full(1, 0.5, np.float32))
    for trips in range(1, 9):
        session.run(None, {**fed, "n": np.array(trips)})
    assert len(list(session.plan.main.regions[0].runnable.cache.compiled)) == 1


def test_lists_are_not_peeled(rng):
    text = """g (int64 n, float[4] x, float[1] start) => (float[P] last, float[Q] all) {
      none = SequenceEmpty <dtype = 1> ()
      last, rows = Loop (n, "", start, none) <body = f (int64 i, bool go, float[A] a,
        seq(float[C]) l) => (bool on, float[B] b, seq(float[D]) m) {
        on = Identity (go)
        b = Add (a, x)
        m = SequenceInsert (l, b)
      }>
      all = ConcatFromSequence <axis = 0> (rows)
    }"""
    fed = {"n": np.array(3), "x": np.ones(4, np.float32), "start": np.ones(1, np.float32)}
    declined(text, fed)
