"""Integer operators on large arrays are right and quick on every engine."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.delegate.large import MANY_BYTES, BySize
from treadle.plan import FallbackRequired

LIMITS = np.iinfo(np.int64)
EDGES = np.array(
    [0, 1, -1, 7, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**62, LIMITS.max, LIMITS.min]
)
ROWS = np.resize(EDGES, (11, 3001))
assert ROWS.nbytes > MANY_BYTES

TEXT = """g (int64[n,m] x) => (int64[p,q] y)
    <int64 low = {{-7}}, int64 high = {{2147483648}}, int64[1] axis = {{0}}, int64 two = {{2}}> {{
    y = {0} }}"""
STEPS = {
    "Max (x, high)": lambda x: np.maximum(x, 2**31),
    "Min (high, x)": lambda x: np.minimum(x, 2**31),
    "Clip (x, low, high)": lambda x: np.minimum(np.maximum(x, -7), 2**31),
    "Sign (x)": np.sign,
    "ReduceMax (x, axis)": lambda x: x.max(0, keepdims=True),
    "ReduceMin (x)": lambda x: x.min(keepdims=True),
    "ReduceSum (x, axis)": lambda x: x.sum(0, keepdims=True),
    "ReduceSum <noop_with_empty_axes = 1> (x)": lambda x: x,
    "ReduceProd (x, axis)": lambda x: x.prod(0, keepdims=True),
    "Pow (x, two)": lambda x: x * x,
}


@pytest.mark.parametrize(("step", "wanted"), STEPS.items())
@pytest.mark.parametrize("x", [EDGES[:, None], ROWS], ids=["small", "large"])
def test_large_integer_operators_equal_numpy(whole, same, step, wanted, x):
    run = whole(TEXT.format(step), 18)
    assert isinstance(run.region.runnable, BySize)
    (found,) = run(x)
    same(found, wanted(x))
    assert not np.may_share_memory(found, x)


def test_several_steps_with_a_session():
    text = '<ir_version: 10, opset_import: ["" : 18]>\n' + TEXT.format("Max (c, x)")
    text = text.replace("{\n    y", "{ s = Sign (x)  c = Mul (s, high)  y")
    session = treadle.InferenceSession(text)
    for x in (EDGES[:, None], ROWS, EDGES[:, None]):
        (found,) = session.run(None, {"x": x})
        np.testing.assert_array_equal(found, np.maximum(np.sign(x) * 2**31, x))


def test_results_have_memory_of_their_own(whole):
    text = """g (int64[n,m] x) => (int64[n,m] y, int64[n,m] z) {
        y = Max (x, x)  z = ReduceSum <noop_with_empty_axes = 1> (x) }"""
    first, second = whole(text, 18)(ROWS)
    assert not np.may_share_memory(first, second)
    assert not np.may_share_memory(second, ROWS)


@pytest.mark.parametrize("x", [EDGES[:, None], ROWS], ids=["small", "large"])
def test_casts_and_other_shapes(same, x):
    text = """<ir_version: 10, opset_import: ["" : 18]>
        g (int64[n,m] x) => (float[n,m] y, int64[k] z, int64[n,1,m] u)
        <int64[1] one = {1}, int64[1] flat = {-1}> {
        s = Sign (x)  y = Cast <to = 1> (s)  z = Reshape (x, flat)  u = Unsqueeze (s, one) }"""
    y, z, u = treadle.InferenceSession(text).run(None, {"x": x})
    same(y, np.sign(x).astype(np.float32))
    same(z, x.ravel())
    same(u, np.sign(x)[:, None])
    assert not np.may_share_memory(z, x)


def test_operands_that_do_not_broadcast_are_a_run_error(whole):
    run = whole("g (int64[n] x, int64[m] z) => (int64[k] y) { y = Max (x, z) }")
    with pytest.raises(FallbackRequired):
        run(np.zeros(20000, np.int64), np.zeros(19999, np.int64))


PROVEN = """g (int32[n] x, bool[n] t) => (int64[n] y, int64[k] n, int64[1] p, int64[r] w)
    <int64 high = {7}, int64[1] axis = {0}> {
    wide = Cast <to = 7> (x)  y = Clip (wide, high, high)
    ones = Cast <to = 7> (t)  n = ReduceSum (ones, axis)
    p = ReduceProd (ones)  w = Sign (ones) }"""


def test_a_step_stays_as_it_is_where_ranges_show_that_it_is_right(whole):
    run = whole(PROVEN, 18)
    assert not isinstance(run.region.runnable, BySize)
    x = np.array([-(2**31), 2**31 - 1], np.int32)
    y, n, p, w = run(x, np.array([True, False]))
    assert (y.tolist(), n.tolist(), p.tolist(), w.tolist()) == ([7, 7], [1], [0], [1, 0])


def test_a_region_of_other_operators_is_no_such_region(whole):
    text = "g (int64[n] x, float[m] z) => (int64[n] y, float[m] w) { y = Sign (x) w = Relu (z) }"
    run = whole(text)
    assert not isinstance(run.region.runnable, BySize)
    (y, _) = run(EDGES, np.ones(2, np.float32))
    assert y.tolist() == np.sign(EDGES).tolist()
