"""Loop: forms of trip count and condition, what is carried, what is stacked."""

from dataclasses import replace

import ml_dtypes
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
    Optional,
    Sequence,
    Sliced,
    Stacked,
    Symbol,
    Tensor,
    attribute,
    multiply_dims,
    renew,
    tensor,
)

AXIS = {"axis": attribute("axis", 0)}
OF_INT64 = {"dtype": attribute("dtype", 7)}
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
    body = renew(step.body, lambda v: replace(v, inferred=type_) if v is last else v)
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
def test_neither_and_the_body_stops(stops_at):
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


# --- what the body is given ---------------------------------------------------------------


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


def test_an_iteration_number_that_is_carried_stays_what_it_was():
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


def test_roles_in_any_order():
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


# --- carried ------------------------------------------------------------------------------


@pytest.mark.parametrize("trips", TRIPS)
def test_a_swap_is_done_at_once(trips):
    body = body_of("a b", lambda _, a, b: (None, b, a))
    found = run(looping(body, [Carried(), Carried()]), i64(trips), f32(1), f32(2))
    same(found, [f32(2), f32(1)] if trips % 2 else [f32(1), f32(2)])


@pytest.mark.parametrize("trips", TRIPS)
def test_a_rotation_and_a_sum_at_once(trips):
    def make(b, x, y, z):
        return None, y, z, add(b, x, y)

    x, y, z = 1, 2, 3
    found = run(
        looping(body_of("x y z", make), [Carried()] * 3), i64(trips), i64(1), i64(2), i64(3)
    )
    for _ in range(trips):
        x, y, z = y, z, x + y
    same(found, [i64(x), i64(y), i64(z)])


@pytest.mark.parametrize("trips", TRIPS)
def test_untouched_unused_doubled_and_constant_carried_values(trips):
    def make(b, kept, doubled, other, fixed):
        twice = add(b, doubled, doubled)
        return None, kept, twice, twice, b.constant(np.array(9, np.float32), "nine")

    block = looping(body_of("kept doubled other fixed", make), [Carried()] * 4)
    found = run(block, i64(trips), f32(1, 2), f32(1), f32(0), f32(3))
    end = f32(2.0**trips)
    same(found, [f32(1, 2), end, end if trips else f32(0), f32(9) if trips else f32(3)])


@pytest.mark.parametrize("trips", TRIPS)
def test_a_carried_value_may_grow_and_gain_rank(trips):
    def make(b, s, t):
        axis = b.constant(np.array([0], np.int64), "axis")
        return None, b.leaf("Concat", 13, s, s, attributes=AXIS), b.leaf("Unsqueeze", 13, t, axis)

    found = run(looping(body_of("s t", make), [Carried(), Carried()]), i64(trips), f32([1]), f32(2))
    same(found, [np.ones(2**trips, np.float32), f32(2).reshape((1,) * trips)])


@pytest.mark.parametrize("trips", TRIPS)
def test_a_sequence_is_carried_and_never_written_to(trips):
    def make(b, i, s):
        return None, b.leaf("SequenceInsert", 11, s, i)

    first = [i64(7)]
    found = run(looping(body_of("i s", make), [Iteration(), Carried()]), i64(trips), first)
    same(found, [[i64(7), *map(i64, range(trips))]])
    same(first, [i64(7)])


def test_strings_bfloat16_and_bools_are_carried():
    def make(b, s, t, u):
        return (None, b.leaf("StringConcat", 20, s, s), add(b, t, t), b.leaf("Not", 1, u))

    bfloat16 = np.dtype(ml_dtypes.bfloat16)
    found = run(
        looping(body_of("s t u", make), [Carried()] * 3),
        i64(3),
        np.array(["ab", "c"], object),
        np.array(1.5, bfloat16),
        yes(),
    )
    same(found, [np.array(["ab" * 8, "c" * 8], object), np.array(12, bfloat16), yes(False)])


@pytest.mark.parametrize("type_", [None, Optional(tensor("float32"))])
def test_an_optional_may_become_full_and_empty_again(type_):
    body = body_of("s t", lambda _, s, t: (None, t, s), {"s": type_, "t": type_})
    block = looping(body, [Carried(), Carried()])
    same(run(block, i64(1), None, f32(1)), [f32(1), None])
    same(run(block, i64(2), None, f32(1)), [None, f32(1)])


def changed_to(value):
    """A body that gives a constant for its carried value, from the second iteration on."""
    return body_of("s", lambda b, s: (None, b.constant(value, "changed")))


@pytest.mark.parametrize(
    ("initial", "given", "words"),
    [
        (f32(1), i64(1), "is float32[], the body gives int64[] for it"),
        (f32(1, 2), np.array([1.0, 2.0]), "is float32[2], the body gives float64[2] for it"),
        ([f32(1)], f32(1), "is seq of 1, the body gives float32[] for it"),
    ],
)
def test_the_dtype_and_the_kind_of_a_carried_value_stay(initial, given, words):
    with pytest.raises(RunError) as caught:
        run(looping(changed_to(given), [Carried()]), i64(2), initial)
    message = str(caught.value)
    assert 'main/loop_0, iteration 0: the carried value "s"' in message
    assert words in message
    assert 'body output 1, "changed"' in message


def test_a_sequence_keeps_the_dtype_of_its_elements():
    def make(b, s):
        empty = b.leaf("SequenceEmpty", 11, result="empty", attributes=OF_INT64)
        return None, b.leaf("SequenceInsert", 11, empty, b.constant(i64(1), "one"))

    block = looping(body_of("s", make), [Carried()])
    same(run(block, i64(3), []), [[i64(1)]])
    with pytest.raises(RunError, match='the carried value "s" is seq of 1'):
        run(block, i64(3), [f32(1)])


def test_a_tensor_may_not_become_absent():
    body = body_of("s t", lambda _, s, t: (None, t, s), {"s": tensor("float32")})
    with pytest.raises(RunError, match="the body gives absent for it"):
        run(looping(body, [Carried(), Carried()]), i64(1), f32(1), None)


# --- stacked ------------------------------------------------------------------------------


@pytest.mark.parametrize("trips", [1, 2, 5])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0,), (2, 0)])
@pytest.mark.parametrize("reverse", [False, True])
def test_elements_are_stacked_along_any_axis(trips, shape, reverse):
    body = body_of("x i", lambda b, x, i: (None, b.leaf("Mul", 14, x, i)))
    element = np.arange(np.prod(shape, dtype=int), dtype=np.int64).reshape(shape)
    for axis in range(-len(shape) - 1, len(shape) + 1):
        block = looping(body, [Invariant(), Iteration()], stacks=[Stacked(axis, reverse)])
        numbers = range(trips)[:: -1 if reverse else 1]
        same(run(block, i64(trips), element), [np.stack([element * k for k in numbers], axis)])


def test_an_early_exit_stacks_what_there_was():
    block = looping(counting(2), CARRIED, condition=True, stacks=[Stacked()])
    same(run(block, i64(100), yes(), f32(0)), counted(2))


def test_one_value_stacked_twice_carried_and_decided_by():
    def make(b, i, s):
        more = below(b, i, 2)
        return more, more, more, s

    block = looping(body_of("i s", make), [Iteration(), Carried()], stacks=[Stacked()] * 2)
    found = run(block, i64(9), yes())
    trues = np.array([True, True, False])
    same(found, [yes(False), trues, np.array([True, True, True])])


def test_strings_are_stacked():
    body = body_of("s", lambda b, s: (None, b.leaf("StringConcat", 20, s, s), s))
    block = looping(body, [Carried()], stacks=[Stacked()])
    same(run(block, i64(2), np.array("a", object))[1], np.array(["a", "aa"], object))


def test_results_left_out_are_neither_kept_nor_checked():
    def make(b, i, s):
        return None, s, b.leaf("Range", 11, i, *[b.constant(i64(k), "k") for k in (5, 1)])

    block = looping(
        body_of("i s", make), [Iteration(), Carried()], stacks=[Stacked()], omitted=[0, 1]
    )
    assert run(block, i64(3), f32(1)) == [None, None]


@pytest.mark.parametrize(("flip", "what"), [(True, "shape"), (False, "length")])
def test_an_element_that_changes_its_shape_is_named(flip, what):
    def make(b, i, s):
        if flip:
            return None, b.leaf("Transpose", 13, s), s
        return None, b.leaf("Concat", 13, s, s, attributes=AXIS), s

    block = looping(body_of("i s", make), [Iteration(), Carried()], stacks=[Stacked()])
    with pytest.raises(RunError) as caught:
        run(block, i64(3), f32(range(6), shape=(2, 3)))
    second = "[3, 2]" if flip else "[4, 3]"
    assert str(caught.value) == (
        'main/loop_0, iteration 1: body output 2 ("s"), stacked as "result_1", is'
        f" float32{second}, but was float32[2, 3] in iteration 0; elements must be alike"
    )
    assert caught.value.iterations == (1,)


def test_an_element_that_changes_its_dtype_is_named():
    body = body_of("xs i", lambda b, xs, i: (None, b.leaf("SequenceAt", 11, xs, i)))
    block = looping(body, [Invariant(), Iteration()], stacks=[Stacked()])
    with pytest.raises(RunError, match=r"iteration 1: .* is int64\[\], but was float32\[\]"):
        run(block, i64(2), [f32(1), i64(2)])


@pytest.mark.parametrize("element", [[], None])
def test_only_tensors_are_stacked(element):
    body = body_of("s", lambda _, s: (None, s))
    with pytest.raises(RunError, match=r"is (seq of 0|absent), wanted a tensor"):
        run(looping(body, [Invariant()], stacks=[Stacked()]), i64(1), element)


@pytest.mark.parametrize("trips", [0, 2])
@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_to_stack_along_that_is_out_of_range(trips, axis):
    body = body_of("s", lambda _, s: (None, s), {"s": tensor("float32", 2)})
    block = looping(body, [Invariant()], stacks=[Stacked(axis)])
    with pytest.raises(RunError, match=f"stacked along axis {axis}, wanted an axis from -2 to 1"):
        run(block, i64(trips), f32(1, 2))


# --- no iteration -------------------------------------------------------------------------

N, K = Symbol("n"), Symbol("k")


@pytest.mark.parametrize(
    ("declared", "axis", "wanted"),
    [
        (tensor("float32"), 0, (0,)),
        (tensor("float32", 2, 3), 0, (0, 2, 3)),
        (tensor("float32", 2, 3), 1, (2, 0, 3)),
        (tensor("float32", 2, 3), -1, (2, 3, 0)),
        (tensor("float32", 2, None), 0, (0, 2, 0)),
        (tensor("float32", K), 0, (0, 0)),
        (tensor("float32", N), 0, (0, 4)),
        (tensor("float32", multiply_dims(N, 2), K), 0, (0, 8, 0)),
        (Tensor(DType.FLOAT32), 0, (0,)),
        (Tensor(DType.FLOAT32), 3, (0,)),
    ],
)
def test_what_is_stacked_without_an_iteration(declared, axis, wanted):
    body = body_of("x y", lambda _, x, y: (None, y), {"y": declared})
    types = [tensor("float32", N), None]
    block = looping(body, [Invariant()] * 2, stacks=[Stacked(axis)], types=types)
    same(run(block, i64(0), f32(1, 2, 3, 4), f32(1)), [np.zeros(wanted, np.float32)])


def test_a_symbol_that_is_two_lengths_tells_nothing():
    body = body_of("x y", lambda _, x, y: (None, x), {"x": tensor("float32", N)})
    block = looping(body, [Invariant()] * 2, stacks=[Stacked()], types=[tensor("float32", N)] * 2)
    same(run(block, i64(0), f32(1, 2), f32(1, 2)), [np.zeros((0, 2), np.float32)])
    same(run(block, i64(0), f32(1, 2), f32(1, 2, 3)), [np.zeros((0, 0), np.float32)])


@pytest.mark.parametrize("dtype", list(DType))
def test_every_dtype_is_stacked_without_an_iteration(dtype):
    body = body_of("x", lambda _, x: (None, x), {"x": Tensor(dtype, (2,))})
    found = run(looping(body, [Invariant()], stacks=[Stacked()]), i64(0), f32(1))
    assert (found[0].dtype, found[0].shape) == (dtype.numpy, (0, 2))


def test_a_dtype_nothing_tells_is_an_error():
    body = body_of("x", lambda _, x: (None, x))
    with pytest.raises(RunError, match="has a dtype that nothing tells"):
        run(looping(body, [Invariant()], stacks=[Stacked()]), i64(0), f32(1))


def test_a_sequence_carried_through_no_iteration():
    body = body_of("s", lambda _, s: (None, s), {"s": Sequence(tensor("float32"))})
    same(run(looping(body, [Carried()]), i64(0), [f32(1)]), [[f32(1)]])


# --- a trip count beside slices (OpenVINO) ------------------------------------------------


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
