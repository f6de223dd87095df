"""Loop: forms of trip count and condition, and the inputs of the body."""

from dataclasses import replace

import numpy as np
import pytest

from tests.interp.blocks import (
    COUNTED,
    TRIPS,
    add,
    below,
    body_of,
    f32,
    i64,
    looping,
    run,
    same,
    yes,
)
from treadle.errors import RunError
from treadle.ir import (
    Carried,
    DType,
    Invariant,
    Iteration,
    Sliced,
    Stacked,
    Tensor,
    clone_with_new_values,
    tensor,
)

CARRIED = (*COUNTED, Carried())
ONE = np.array(1, np.float32)


def counting(stops_at=None):
    """s + 1 in each iteration, stacked too; the condition turns false after `stops_at`."""

    def make(b, i, c, s):
        after = add(b, s, b.constant(ONE, "one"))
        go = c if stops_at is None else below(b, i, stops_at - 1)
        return go, after, after

    return body_of("i c s", make)


def counted(n):
    return [f32(n), np.arange(1, n + 1, dtype=np.float32)]


@pytest.mark.parametrize("trips", TRIPS)
def test_a_trip_count_and_no_condition(trips):
    block = looping(counting(), CARRIED, stacks=[Stacked()], types=[tensor("float32")])
    block = with_element_type(block, tensor("float32"))
    same(run(block, i64(trips), f32(0)), counted(trips))


def with_element_type(block, type_):
    """The block's loop, the type of its last stacked element declared."""
    (step,) = block.steps
    last = step.body.results[-1]
    body = clone_with_new_values(
        step.body, lambda v: replace(v, inferred=type_) if v is last else v
    )
    return replace(block, steps=(replace(step, body=body),))


@pytest.mark.parametrize("trips", TRIPS)
@pytest.mark.parametrize("stops_at", [1, 3, 9])
def test_a_trip_count_and_a_condition_whichever_ends_first(trips, stops_at):
    block = looping(counting(stops_at), CARRIED, condition=True, stacks=[Stacked()])
    block = with_element_type(block, tensor("float32"))
    same(run(block, i64(trips), yes(), f32(0)), counted(min(trips, stops_at)))


@pytest.mark.parametrize("stops_at", [1, 2, 5])
def test_a_condition_and_no_trip_count(stops_at):
    block = looping(counting(stops_at), CARRIED, trip=False, condition=True, stacks=[Stacked()])
    same(run(block, yes(), f32(0)), counted(stops_at))


@pytest.mark.parametrize("stops_at", [1, 2, 5])
def test_without_trip_count_and_condition_the_body_stops(stops_at):
    block = looping(counting(stops_at), CARRIED, trip=False, stacks=[Stacked()])
    same(run(block, f32(0)), counted(stops_at))


def test_a_condition_false_at_the_start():
    block = looping(counting(), CARRIED, condition=True, stacks=[Stacked()])
    block = with_element_type(block, tensor("float32"))
    same(run(block, i64(5), yes(False), f32(7)), [f32(7), f32([])])


@pytest.mark.parametrize("trips", [-1, -3, np.iinfo(np.int64).min])
def test_a_negative_trip_count_is_none(trips):
    same(run(looping(counting(), CARRIED, stacks=[Stacked()], omitted=[1]), i64(trips), f32(7)),
         [f32(7), None])  # fmt: skip


def test_the_largest_trip_count_needs_no_memory_beforehand():
    block = looping(counting(3), CARRIED, condition=True, stacks=[Stacked()])
    same(run(block, i64(np.iinfo(np.int64).max), yes(), f32(0)), counted(3))


def test_a_body_without_a_next_condition_goes_on():
    body = body_of("s", lambda b, s: (None, add(b, s, s)))
    same(run(looping(body, [Carried()]), i64(3), f32(1)), [f32(8)])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_one_element_of_any_rank_counts_and_decides(shape):
    block = looping(counting(), CARRIED, condition=True, stacks=[Stacked()])
    out = run(block, i64(2).reshape(shape), yes().reshape(shape), f32(0))
    same(out, counted(2))


def test_a_trip_count_of_int32_counts():
    block = looping(counting(), CARRIED, stacks=[Stacked()])
    same(run(block, np.array(2, np.int32), f32(0)), counted(2))


@pytest.mark.parametrize(
    ("trip", "condition", "words"),
    [
        (i64(1, 2), yes(), "the trip count is int64[2], wanted one element of int64 or int32"),
        (i64([]), yes(), "the trip count is int64[0]"),
        (f32(2), yes(), "the trip count is float32[]"),
        (np.array(2, np.uint8), yes(), "the trip count is uint8[]"),
        (i64(2), np.array([True, True]), "the condition is bool[2], wanted one element of bool"),
        (i64(2), i64(1), "the condition is int64[]"),
        (i64(2), [], "the condition is seq of 0"),
    ],
)
def test_no_single_number_or_bool(trip, condition, words):
    block = looping(counting(), CARRIED, condition=True, stacks=[Stacked()])
    with pytest.raises(RunError) as caught:
        run(block, trip, condition, f32(0))
    assert words in str(caught.value).replace(", 2]", "2]")
    assert caught.value.path == "main/loop_0"


def test_a_trip_count_and_a_condition_that_are_absent_when_it_runs():
    block = looping(counting(2), CARRIED, condition=True, stacks=[Stacked()])
    same(run(block, None, None, f32(0)), counted(2))


@pytest.mark.parametrize(("shape", "fails"), [((), False), ((1,), False), ((2,), True)])
def test_the_next_condition_is_one_element(shape, fails):
    body = body_of("s", lambda b, s: (b.constant(np.zeros(shape, bool), "go"), add(b, s, s)))
    block = looping(body, [Carried()])
    if not fails:
        same(run(block, i64(5), f32(1)), [f32(2)])
        return
    with pytest.raises(RunError, match=r"iteration 0: the body's condition 'go' is bool\[2\]"):
        run(block, i64(5), f32(1))


def test_the_next_condition_is_bool():
    body = body_of("s", lambda b, s: (s, s))
    with pytest.raises(RunError, match=r"the body's condition 's' is float32\[\], wanted one"):
        run(looping(body, [Carried()]), i64(5), f32(1))


def test_an_early_exit_keeps_the_elements_so_far():
    block = looping(counting(2), CARRIED, condition=True, stacks=[Stacked()])
    same(run(block, i64(100), yes(), f32(0)), counted(2))


@pytest.mark.parametrize("trips", [1, 2, 5])
def test_iteration_numbers_are_of_their_own(trips):
    body = body_of("i", lambda b, i: (None, i))
    same(run(looping(body, [Iteration()], stacks=[Stacked()]), i64(trips)), [i64(np.arange(trips))])


@pytest.mark.parametrize("rank", [0, 1])
def test_the_iteration_number_has_the_rank_the_body_declares(rank):
    declared = {"i": Tensor(DType.INT64, (1,) * rank)}
    body = body_of("i", lambda b, i: (None, i), declared)
    found = run(looping(body, [Iteration()], stacks=[Stacked()]), i64(3))
    same(found, [i64(np.arange(3)).reshape((3,) + (1,) * rank)])


def test_a_carried_iteration_number_is_unchanged():
    body = body_of("i s", lambda b, i, s: (None, i, s))
    block = looping(body, [Iteration(), Carried()], stacks=[Stacked()])
    same(run(block, i64(4), i64(9)), [i64(3), i64(9, 0, 1, 2)])


def test_the_body_sees_a_condition_that_is_true():
    body = body_of("i c", lambda b, i, c: (below(b, i, 2), c))
    block = looping(body, COUNTED, condition=True, stacks=[Stacked()])
    same(run(block, i64(9), yes(), ), [np.array([True, True, True])])  # fmt: skip


def test_an_omitted_condition_is_seen_as_true():
    body = body_of("i c", lambda b, i, c: (c, c))
    same(run(looping(body, COUNTED, stacks=[Stacked()]), i64(2)), [np.array([True, True])])


def test_parameters_in_any_order():
    def make(b, x, s, i, k):
        return None, add(b, add(b, s, x), k), b.leaf("Identity", 16, i)

    body = body_of("x s i k", make)
    roles = [Sliced(), Carried(), Iteration(), Invariant()]
    block = looping(body, roles, trip=False, stacks=[Stacked()])
    same(run(block, f32(1, 2, 3), f32(0), f32(10)), [f32(36), i64(0, 1, 2)])


def test_a_capture_two_bodies_deep_and_left_out_operands():
    inner = body_of("t k none", lambda b, t, k, none: (None, add(b, t, k)))

    def make(b, s, k, none):
        trip = b.constant(np.array(2, np.int64), "two")
        roles = [Carried(), Invariant(), Invariant()]
        return None, *b.loop(trip, None, inner, roles, [s, k, none])

    body = body_of("s k none", make)
    block = looping(body, [Carried(), Invariant(), Invariant()])
    same(run(block, i64(3), f32(0), f32(5), None), [f32(30)])


def test_a_trip_count_takes_the_first_slices():
    body = body_of("x s", lambda b, x, s: (None, add(b, s, x)))
    block = looping(body, [Sliced(), Carried()])
    same(run(block, i64(2), f32(1, 2, 4), f32(0)), [f32(3)])


def test_a_trip_count_over_the_slices_is_an_error():
    body = body_of("x s", lambda b, x, s: (None, add(b, s, x)))
    with pytest.raises(RunError, match='the trip count is 4, but "sliced_0" has 3 items'):
        run(looping(body, [Sliced(), Carried()]), i64(4), f32(1, 2, 4), f32(0))


def test_a_condition_may_end_before_the_slices_do():
    def make(b, i, x, s):
        return below(b, i, 1), add(b, s, x)

    block = looping(body_of("i x s", make), [Iteration(), Sliced(), Carried()], trip=False)
    same(run(block, f32(1, 2, 4), f32(0)), [f32(3)])
