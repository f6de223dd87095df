"""Checks of computed indices: none where ranges say so, before the loop where they rise or fall."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of
from tests.jit.native import HEAD, check, natives, refused_nothing
from tests.values import assert_same
from treadle.errors import RunError
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.index_checks import with_early_index_checks

TAKE = """kernel
  %x: float32[9] = input 0
  %k: int64[] = input 1
  %n: int64[] = input 2
  %zero: int64[] = constant 0
  %six: int64[] = constant 6
  %s0: float32[] = constant 0.0
  %trips as e1: int64[] = max %n, %zero
  %1 = loop trip %n extent e1 carries %s = %s0
    %s: float32[] = carried 0
    %i: int64[] = induction variable
    %at: int64[] = add %i, %k
    %v: float32[] = take along 0 of %x, %at
    %next: float32[] = add %s, %v
    yield %next
  %last: float32[] = result 0 of %1
  return %last"""


def shown(text: str, *, may_assume: bool = True) -> str:
    made = with_early_index_checks(kernel_of(text), may_assume=may_assume)
    verify_kernel(made)
    return show_kernel(made)


@pytest.mark.parametrize(
    "index",
    ["add %i, %k", "sub %k, %i", "mul %i, %k", "max %i, %k", "min %k, %i", "add %i, %six"],
)
def test_an_index_that_rises_or_falls_is_checked_before_the_loop(index: str) -> None:
    made = shown(TAKE.replace("add %i, %k", index))
    assert "take along 0 in range" in made
    assert made.count("guard of shapes") == 1
    assert "kernel assumes" in made


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("add %i, %k", "mul %i, %i"),  # two operands of the iteration
        ("add %i, %k", "sub %i, %six"),  # the first index counts from the end
        ("add %i, %k", "max %k, %k"),  # the same in every iteration
        ("add %i, %k", "mod %i, %k"),
        ("carries %s", "while %go carries %s"),
    ],
)
def test_other_indices_are_checked_one_by_one(old: str, new: str) -> None:
    text = TAKE.replace(old, new)
    text = text.replace(
        "  %1 = loop trip %n extent e1 while", "  %go: bool[] = input 3\n  %1 = loop trip %n while"
    )
    kernel = kernel_of(text)
    assert with_early_index_checks(kernel, may_assume=True) is kernel


def test_nothing_is_assumed_where_it_must_not_be() -> None:
    kernel = kernel_of(TAKE)
    assert with_early_index_checks(kernel, may_assume=False) is kernel


def test_ranges_say_that_an_index_is_in_range() -> None:
    text = TAKE.replace("max %n, %zero", "min %six, %n").replace("add %i, %k", "mul %i, %i")
    made = shown(text.replace("float32[9]", "float32[26]"), may_assume=False)
    assert "take along 0 in range" in made
    assert "guard" not in made
    kernel = kernel_of(text.replace("float32[9]", "float32[25]"))
    assert with_early_index_checks(kernel, may_assume=False) is kernel


WALK = """g (int64 n, int64 start, int64 step, float[8, 8] x) => (float s, float[8, 8] z) {
  zero = Constant <value = int64[1] {0}> ()
  yes = Constant <value = bool {1}> ()
  none = Constant <value = float {0.0}> ()
  half = Constant <value = float {0.5}> ()
  s, z = Loop (n, yes, none, x) <body = f (int64 i, bool go, float u, float[8, 8] y)
    => (bool on, float u1, float[8, 8] y1) {
    on = Identity (go)
    far = Mul (i, step)
    at = Add (far, start)
    row = Unsqueeze (at, zero)
    column = Unsqueeze (i, zero)
    place = Concat <axis = 0> (row, column)
    v = GatherND (y, place)
    u1 = Add (u, v)
    less = Mul (v, half)
    one = Unsqueeze (less, zero)
    turned = Concat <axis = 0> (column, row)
    places = Unsqueeze (turned, zero)
    y1 = ScatterND (y, places, one)
  }>
}"""


def feed_of(n: int, start: int, step: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    given = {"n": np.array(n), "start": np.array(start), "step": np.array(step)}
    return {**given, "x": rng.random((8, 8), np.float32)}


WALKS = [(8, 0, 1), (0, 99, 1), (1, 7, 99), (8, 7, -1), (4, 0, 2), (3, 1, 3)]
BACKWARD = [(3, -8, 1), (8, -1, -1), (8, -4, 1), (2, 0, -1)]


def test_elements_in_range(rng: np.random.Generator) -> None:
    check(WALK, *(feed_of(*walk, rng) for walk in WALKS))


def test_a_kernel_that_assumes_nothing_follows_one_that_failed(rng: np.random.Generator) -> None:
    session = treadle.InferenceSession(HEAD + WALK, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + WALK, engines=("interp",))
    for number, walk in enumerate([*WALKS, *BACKWARD, *WALKS]):
        feed = feed_of(*walk, rng)
        with refused_nothing():
            found = session.run(None, feed)
        assert_same(found, interp.run(None, feed), ["s", "z"])
        (made,) = natives(session)[0].cache.compiled.values()
        assert made.kernel.assumes is (number < len(WALKS))


@pytest.mark.parametrize("walk", [(9, 0, 1), (2, 7, 1), (2, -9, 1), (8, -2, -1), (3, 0, 2**62)])
def test_an_index_out_of_range_ends_the_run(
    walk: tuple[int, int, int], rng: np.random.Generator
) -> None:
    session = treadle.InferenceSession(HEAD + WALK, engines=("jit", "interp"))
    session.run(None, feed_of(8, 0, 1, rng))
    for _ in range(2):
        with pytest.raises(RunError, match="out of bounds"):
            session.run(None, feed_of(*walk, rng))
    session.run(None, feed_of(8, 0, 1, rng))


def test_steps_that_wrap_around_are_checked_one_by_one(rng: np.random.Generator) -> None:
    """The first index and the last are 0, those between are not."""
    session = treadle.InferenceSession(HEAD + WALK, engines=("jit", "interp"))
    session.run(None, feed_of(8, 0, 1, rng))
    with pytest.raises(RunError, match="out of bounds"):
        session.run(None, feed_of(5, 0, 2**62, rng))


CHAIN = """g (int64 n, float[N, N] start, float[N] p) => (float[N, N] m) {
  zero = Constant <value = int64[1] {0}> ()
  first = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  yes = Constant <value = bool {1}> ()
  m = Loop (n, yes, start) <body = f (int64 i, bool go, float[N, N] y)
    => (bool on, float[N, N] y1) {
    on = Identity (go)
    j = Add (i, one)
    from = Unsqueeze (i, zero)
    to = Unsqueeze (j, zero)
    row = Gather <axis = 0> (y, i)
    column = Gather <axis = 1> (y, j)
    a = Slice (row, zero, to)
    b = Slice (column, zero, to)
    c = Add (a, b)
    best = ReduceMin <keepdims = 0> (c)
    value = Unsqueeze (best, zero)
    place = Concat <axis = 0> (from, to)
    places = Unsqueeze (place, zero)
    y1 = ScatterND (y, places, value)
  }>
}"""


@pytest.mark.parametrize("count", [2, 5, 40])
def test_rows_and_columns_of_an_array_that_is_updated_are_views(
    count: int, rng: np.random.Generator
) -> None:
    feed = {"start": rng.random((count, count), np.float32), "p": rng.random(count, np.float32)}
    check(CHAIN, *({"n": np.array(n), **feed} for n in (0, 1, count - 1)))
    session = treadle.InferenceSession(HEAD + CHAIN, engines=("jit", "interp"))
    session.run(None, {"n": np.array(1), **feed})
    (made,) = natives(session)[0].cache.compiled.values()
    assert "take along" not in show_kernel(made.kernel)
