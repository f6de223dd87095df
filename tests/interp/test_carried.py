"""Carried values of a Loop: any kind of value; the shape may change, the dtype may not."""

import ml_dtypes
import numpy as np
import pytest

from tests.interp.blocks import (
    TRIPS,
    add,
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
    Iteration,
    Optional,
    Sequence,
    attribute,
    tensor,
)

AXIS = {"axis": attribute("axis", 0)}
OF_INT64 = {"dtype": attribute("dtype", 7)}


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


def test_a_sequence_carried_through_no_iteration():
    body = body_of("s", lambda _, s: (None, s), {"s": Sequence(tensor("float32"))})
    same(run(looping(body, [Carried()]), i64(0), [f32(1)]), [[f32(1)]])
