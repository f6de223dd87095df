"""Scan: slices along axes and directions, states of constant shape, sequences of length 0."""

from dataclasses import replace

import numpy as np
import pytest

import treadle
from tests.interp.blocks import add, body_of, f32, i64, run, same, scan
from treadle.errors import RunError
from treadle.ir import Carried, Info, Loop, Sliced, Stacked, Symbol, attribute, tensor

SUM = body_of("s x", lambda b, s, x: (None, (t := add(b, s, x)), t))


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("prepended", [False, True])
def test_a_running_sum(length, backwards, prepended):
    block = scan(SUM, 1, [Sliced(0, backwards)], [Stacked(0, prepended)])
    x = np.arange(1, length + 1, dtype=np.float32)
    sums = np.cumsum(x[::-1] if backwards else x, dtype=np.float32)
    found = run(block, f32(0), x)
    same(found, [f32(x.sum()), sums[::-1] if prepended else sums])


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("backwards", [False, True])
def test_any_axis_is_sliced(axis, backwards):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    identity = body_of("x", lambda _, x: (None, x))
    moved = np.moveaxis(x, axis, 0)
    same(run(scan(identity, 0, [Sliced(axis, backwards)], [Stacked()]), x),
         [moved[::-1] if backwards else moved])  # fmt: skip


def test_two_sequences_along_different_axes_and_one_of_them_twice():
    def make(b, x, y, z):
        return None, add(b, add(b, x, y), z)

    x, y = f32(range(6), shape=(2, 3)), f32(1, 2, 3)
    block = scan(body_of("x y z", make), 0, [Sliced(1), Sliced(0), Sliced(0, True)], [Stacked(1)])
    same(run(block, x, y, y), [x + y + y[::-1]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("known", [2, Symbol("n"), None])
def test_a_sequence_of_no_item(axis, known):
    types = {"s": tensor("float32", known), "x": tensor("float32", known)}
    body = body_of("s x", lambda _, s, x: (None, s, x), types)
    block = scan(
        body, 1, [Sliced()], [Stacked(axis)],
        types=[tensor("float32", known), tensor("float32", 0, known)],
    )  # fmt: skip
    shape = [2] if known is not None else [0]
    shape.insert(axis % 2, 0)
    found = run(block, f32(1, 2), np.zeros((0, 2), np.float32))
    same(found, [f32(1, 2), np.zeros(shape, np.float32)])


@pytest.mark.parametrize(
    ("operands", "words"),
    [
        ((f32(0), f32(5)), '"sliced_1" is sliced but is float32[], wanted a tensor of rank 1'),
        ((f32(0), [f32(5)]), '"sliced_1" is sliced but is seq of 1'),
        ((f32(0), None), '"sliced_1" is sliced but is absent'),
    ],
)
def test_values_that_cannot_be_sliced(operands, words):
    with pytest.raises(RunError) as caught:
        run(scan(SUM, 1, [Sliced()], [Stacked()]), *operands)
    assert str(caught.value).startswith(f"main/scan_0: {words}")


@pytest.mark.parametrize("axis", [2, -3])
def test_an_axis_to_slice_along_that_is_out_of_range(axis):
    with pytest.raises(RunError, match=f"along axis {axis} but is .*wanted an axis from -2 to 1"):
        run(scan(SUM, 1, [Sliced(axis)], [Stacked()]), f32(0), f32(range(6), shape=(2, 3)))


def test_lengths_that_differ_are_all_named():
    body = body_of("x y", lambda b, x, y: (None, add(b, x, y)))
    with pytest.raises(RunError) as caught:
        run(
            scan(body, 0, [Sliced(), Sliced(1)], [Stacked()]),
            f32(1, 2),
            f32(range(3), shape=(1, 3)),
        )
    assert '"sliced_0" has 2 items along axis 0, "sliced_1" has 3 items along axis 1' in str(
        caught.value
    )


@pytest.mark.parametrize("length", [1, 2])
def test_a_state_keeps_its_shape_from_the_first_iteration_on(length):
    both = {"axis": attribute("axis", 0)}

    def make(b, s, _):
        return None, b.leaf("Concat", 13, s, s, attributes=both)

    with pytest.raises(RunError, match=r"iteration 0: .* float32\[4\].*a Scan's state keeps"):
        run(scan(body_of("s x", make), 1, [Sliced()]), f32(1, 2), i64(range(length)))


@pytest.mark.parametrize("length", [1, 2, 5])
def test_slices_passed_through_to_the_outputs(length):
    """Both peers that run this read freed memory: params as results, one value as two results."""
    x = np.arange(length, dtype=np.float32)
    rotated = body_of("s x", lambda _, s, x: (None, x, s))
    same(run(scan(rotated, 1, [Sliced()], [Stacked()]), f32(9), x),
         [x[-1:].reshape(()), np.concatenate([f32([9]), x[:-1]])])  # fmt: skip
    kept = body_of("s x", lambda b, s, x: (None, s, add(b, s, x)))
    same(run(scan(kept, 1, [Sliced()], [Stacked()]), f32(9), x), [f32(9), x + 9])


def test_a_capture_and_no_stack():
    body = body_of("s x k", lambda b, s, x, k: (None, add(b, s, b.leaf("Mul", 14, x, k))))
    same(run(scan(body, 1, [Sliced()], captured=1), f32(0), f32(1, 2), f32(10)), [f32(30)])


def test_strings_are_sliced_and_stacked():
    body = body_of("s x", lambda b, s, x: (None, (t := b.leaf("StringConcat", 20, s, x)), t))
    block = scan(body, 1, [Sliced()], [Stacked()])
    found = run(block, np.array("", object), np.array(["a", "b"], object))
    same(found, [np.array("ab", object), np.array(["a", "ab"], object)])


def test_a_scan_in_a_scan():
    inner = body_of("s x", lambda b, s, x: (None, (t := add(b, s, x)), t))

    def make(b, s, row):
        results = (b.value("row_sum"), b.value("row_sums"))
        zero = b.constant(np.array(0, np.float32), "zero")
        b.add(Loop(None, None, (Carried(), Sliced()), (zero, row), inner, (Stacked(),), results,
                   Info(op="Scan"), fixed_state=True))  # fmt: skip
        return None, add(b, s, results[1]), add(b, s, results[1])

    x = f32(range(1, 5), shape=(2, 2))
    block = scan(body_of("s row", make), 1, [Sliced()], [Stacked()])
    sums = np.cumsum(np.cumsum(x, 1), 0, dtype=np.float32)
    same(run(block, f32(0, 0), x), [sums[-1], sums])


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("operator", ["Loop", "Scan", ""])
def test_a_loop_with_states_of_fixed_shape_keeps_them(operator, fixed):
    # s = s + x makes a scalar a vector of two
    built = scan(body_of("s x", lambda b, s, x: (None, add(b, s, x))), 1, [Sliced()])
    step = replace(built.steps[0], info=Info(op=operator), fixed_state=fixed)
    block, x = replace(built, steps=(step,)), f32(1, 2, 3, 4, shape=(2, 2))
    if fixed:
        with pytest.raises(RunError, match="keeps its shape"):
            run(block, f32(0), x)
    else:
        same(run(block, f32(0), x), [f32(4, 6)])


LOOP = "y = Loop (n, , s) <body = b (int64 i, bool c, float p) => (bool c, float q) {q = Neg (p)}>"
SCAN = """y = Scan <num_scan_inputs = 1, body = b (float p, int64 x) => (float q) {q = Neg (p)}>
    (s, v)"""


@pytest.mark.parametrize(("node", "is_fixed"), [(LOOP, False), (SCAN, True)])
def test_the_reader_says_whether_states_keep_their_shape(node, is_fixed):
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
        g (int64 n, float s, int64[4] v) => (float y) {{ {node} }}"""
    (loop,) = treadle.load(text).main.steps
    assert loop.fixed_state is is_fixed
