"""Stacked outputs of a Loop: elements of one shape along a new axis, or none."""

import numpy as np
import pytest

from tests.interp.blocks import (
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
    Stacked,
    Symbol,
    Tensor,
    attribute,
    multiply_dims,
    tensor,
)

AXIS = {"axis": attribute("axis", 0)}
N, K = Symbol("n"), Symbol("k")


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
    second = "[3,2]" if flip else "[4,3]"
    assert str(caught.value) == (
        'main/loop_0, iteration 1: body output 2 ("s"), stacked as "result_1", is'
        f" float32{second}, but was float32[2,3] in iteration 0; elements must be alike"
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
def test_stacks_of_zero_iterations(declared, axis, wanted):
    body = body_of("x y", lambda _, x, y: (None, y), {"y": declared})
    types = [tensor("float32", N), None]
    block = looping(body, [Invariant()] * 2, stacks=[Stacked(axis)], types=types)
    same(run(block, i64(0), f32(1, 2, 3, 4), f32(1)), [np.zeros(wanted, np.float32)])


def test_a_symbol_of_two_lengths_proves_no_extent():
    body = body_of("x y", lambda _, x, y: (None, x), {"x": tensor("float32", N)})
    block = looping(body, [Invariant()] * 2, stacks=[Stacked()], types=[tensor("float32", N)] * 2)
    same(run(block, i64(0), f32(1, 2), f32(1, 2)), [np.zeros((0, 2), np.float32)])
    same(run(block, i64(0), f32(1, 2), f32(1, 2, 3)), [np.zeros((0, 0), np.float32)])


@pytest.mark.parametrize("dtype", list(DType))
def test_every_dtype_is_stacked_without_an_iteration(dtype):
    body = body_of("x", lambda _, x: (None, x), {"x": Tensor(dtype, (2,))})
    found = run(looping(body, [Invariant()], stacks=[Stacked()]), i64(0), f32(1))
    assert (found[0].dtype, found[0].shape) == (dtype.numpy, (0, 2))


def test_an_unknown_dtype_is_an_error():
    body = body_of("x", lambda _, x: (None, x))
    with pytest.raises(RunError, match="has an unknown dtype"):
        run(looping(body, [Invariant()], stacks=[Stacked()]), i64(0), f32(1))
