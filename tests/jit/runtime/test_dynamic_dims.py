"""Inputs of many lengths: after a few shapes one kernel serves all."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives, outcomes
from tests.seeded import floats
from tests.values import assert_same
from treadle.errors import RunError
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import SymbolicDim
from treadle.jit.runtime import kernel_cache
from treadle.jit.runtime.dynamic_dims import DynamicDimTracker
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.runtime.specialize import DynamicDims

ATTENDED = """g (int64 n, float[B,T,D] k, float[B,T] m, float[B,D] q0)
    => (float[B,D] q, float[N,B] s) {
  q, s = Loop (n, "", q0) <body = f (int64 i, bool go, float[B,D] q)
    => (bool on, float[B,D] q1, float[B] r) {
    on = Identity (go)
    last = Constant <value = int64[1] {-1}> ()
    column = Unsqueeze (q, last)
    raw = MatMul (k, column)
    flat = Squeeze (raw, last)
    seen = Add (flat, m)
    w = Softmax <axis = -1> (seen)
    one = Constant <value = int64[1] {1}> ()
    row = Unsqueeze (w, one)
    read = MatMul (row, k)
    q1 = Squeeze (read, one)
    r = ReduceMax <keepdims = 0> (seen, last)
  }>
}"""


def attended(rng, batch, length, wide=6):
    return {"n": np.array(3), "k": floats(rng, batch, length, wide),
            "m": floats(rng, batch, length), "q0": floats(rng, batch, wide)}  # fmt: skip


def checked(text, feeds):
    native = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    names = [output.name for output in native.get_outputs()]
    for feed in feeds:
        assert_same(native.run(None, feed), interp.run(None, feed), names)
    return outcomes(native)


def test_a_third_length_makes_the_axis_dynamic(rng: np.random.Generator):
    feeds = [attended(rng, 2, length) for length in (3, 7, *range(20, 60))]
    assert len(checked(ATTENDED, feeds)) == 3


def test_two_axes_that_change_are_two_extents(rng: np.random.Generator):
    shapes = [(2, 3), (3, 4), (4, 5), (5, 5), (6, 5), (5, 9), (9, 5), (2, 30), (12, 31)]
    feeds = [attended(rng, *shape) for shape in shapes]
    made = checked(ATTENDED, feeds)
    assert len(made) < 8
    assert not [why for why in made if isinstance(why, str)]


def test_extents_of_one_broadcast(rng: np.random.Generator):
    text = """g (int64 n, float[A] x, float[B] y) => (float[C] a) {
      a = Loop (n, "", x) <body = f (int64 i, bool go, float[A] x) => (bool on, float[A] x1) {
        on = Identity (go)
        x1 = Add (x, y)
      }>
    }"""
    lengths = [(3, 3), (4, 4), (5, 5), (6, 6), (6, 1), (7, 1), (1, 1), (8, 1), (9, 1), (9, 9)]
    made = checked(
        text, [{"n": np.array(2), "x": floats(rng, a), "y": floats(rng, b)} for a, b in lengths]
    )
    assert not [why for why in made if isinstance(why, str)]


def test_a_shape_fed_as_data_with_a_dynamic_axis(rng: np.random.Generator):
    text = """g (int64 n, float[A] x0, int64[K] shape) => (float[P,Q] a) {
      zero = Constant <value = float[1,1] {0.0}> ()
      a = Loop (n, "", zero) <body = f (int64 i, bool go, float[P,Q] x)
          => (bool on, float[B,C] x1) {
        on = Identity (go)
        y = Reshape (x0, shape)
        x1 = Neg (y)
      }>
    }"""
    shapes = [{"x0": floats(rng, 2 * k), "shape": np.array([2, k])} for k in range(2, 9)]
    checked(text, [{"n": np.array(2), **given} for given in shapes])


def test_without_a_dynamic_kernel_dims_become_static_again(monkeypatch, rng):
    text = """g (int64 n, float[A] x) => (float[A] a) {
      a = Loop (n, "", x) <body = f (int64 i, bool go, float[A] x) => (bool on, float[A] x1) {
        on = Identity (go)
        x1 = Neg (x)
      }>
    }"""
    whole, tries = kernel_cache.compile_kernel, []

    def compile_kernel(compiler, kernel, lengths):
        if lengths is not compiler.base:
            tries.append(lengths)
            raise Declined("for a test")
        return whole(compiler, kernel, lengths)

    monkeypatch.setattr(kernel_cache, "compile_kernel", compile_kernel)
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    for length in (4, 5, 6, 7, 6, 4, 8):
        x = floats(rng, length)
        assert_same(session.run(None, {"n": np.array(3), "x": x}), [-x], ["a"])
    (native,) = natives(session)
    assert native.cache.dynamic_dims.is_closed
    assert len(tries) == 1
    made = [each for each in native.cache.compiled.values() if isinstance(each, CompiledKernel)]
    assert len(made) == 5, "a kernel for every length"


SUM = """g (int64 n, float[A] x, float[B] y) => (float[A] a) {
  a = Loop (n, "", x) <body = f (int64 i, bool go, float[A] x) => (bool on, float[A] x1) {
    on = Identity (go)
    x1 = Add (x, y)
  }>
}"""


def test_feeds_that_fail_everywhere_do_not_make_dims_static(rng: np.random.Generator):
    session = treadle.InferenceSession(HEAD + SUM, engines=("jit", "interp"))
    for length in (2, 3, 4):
        session.run(None, {"n": np.array(2), "x": floats(rng, length), "y": floats(rng, length)})
    (native,) = natives(session)
    for a, b in ((5, 4), (6, 4), (7, 4), (4, 3)):
        with pytest.raises(RunError):
            session.run(None, {"n": np.array(2), "x": floats(rng, a), "y": floats(rng, b)})
    assert not native.cache.dynamic_dims.is_closed
    made = len(native.cache.compiled)
    for length in range(8, 20):
        session.run(None, {"n": np.array(2), "x": floats(rng, length), "y": floats(rng, length)})
    assert len(native.cache.compiled) == made


def test_kernels_that_failed_to_fit_are_forgotten(monkeypatch, rng):
    session = treadle.InferenceSession(HEAD + SUM, engines=("jit", "interp"))
    for length in (2, 3, 4, 9):
        session.run(None, {"n": np.array(2), "x": floats(rng, length), "y": floats(rng, length)})
    (native,) = natives(session)
    assert not native.cache.dynamic_dims.is_closed
    assert native.cache.by_shapes
    monkeypatch.setattr(kernel_cache.KernelCache, "_has_static_kernel", lambda *_: True)
    cache = native.cache
    for length in (5, 6, 7):
        arrays = [np.array(2), floats(rng, length), floats(rng, length)]
        cache._misfit_dims(arrays, cache.dynamic_dims.lengths(arrays))
    assert cache.dynamic_dims.is_closed
    x = floats(rng, 9)
    (found,) = session.run(None, {"n": np.array(2), "x": x, "y": x})
    assert np.allclose(found, 3 * x)
    assert ((9,), (9,)) in [tuple(shape for _, shape in key)[1:] for key in native.cache.compiled]


def test_an_axis_as_long_as_a_sequence_by_chance(rng: np.random.Generator):
    text = """g (int64 n, float[A] x, seq(float[2]) l) => (float[C] a, float[N,2] e) {
      a, e = Loop (n, "", x) <body = f (int64 i, bool go, float[A] x)
          => (bool on, float[A] x1, float[2] e) {
        on = Identity (go)
        x1 = Neg (x)
        zero = Constant <value = int64 {0}> ()
        e = SequenceAt (l, zero)
      }>
    }"""
    lengths = [(2, 2), (3, 3), (4, 4), (5, 5), (6, 2), (7, 1), (8, 3), (9, 9)]
    made = checked(text, [
        {"n": np.array(2), "x": floats(rng, a), "l": [floats(rng, 2) for _ in range(b)]}
        for a, b in lengths
    ])  # fmt: skip
    assert len(made) <= 4
    assert not [why for why in made if isinstance(why, str)]


def test_equal_lengths_become_separate_dims_when_they_differ():
    text = """g (float[A] x, float[B] y, float[C] z) => (float a, float b) {
      zero = Constant <value = float {0}> ()
      a = Scan <num_scan_inputs = 1, body = f (float s, float e) => (float s1) {
        m = Mul (z, e)
        r = ReduceSum <keepdims = 0> (m)
        s1 = Add (s, r)
      }> (zero, x)
      b = Scan <num_scan_inputs = 1, body = f (float s, float e) => (float s1) {
        m = Mul (z, e)
        k = Add (m, a)
        r = ReduceSum <keepdims = 0> (k)
        s1 = Add (s, r)
      }> (zero, y)
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    for first, second, third in ((2, 2, 3), (3, 3, 2), (4, 4, 7), (5, 5, 5), (5, 6, 7), (2, 9, 2)):
        extents = {"x": first, "y": second, "z": third}
        feed = {name: np.ones(extent, np.float32) for name, extent in extents.items()}
        assert session.run(None, dict(feed)) == interp.run(None, dict(feed))


def opened(openings, *shapes):
    """The axes that are open after arrays of these shapes came, one pair or more a run."""
    for each in shapes:
        found = openings.lengths([np.zeros(shape, np.float32) for shape in each])
    return found.open


def test_an_axis_is_dynamic_from_its_third_extent():
    openings = DynamicDimTracker(DynamicDims())
    assert opened(openings, [(2, 5)], [(3, 5)], [(2, 5)], [(3, 5)]) == {}
    assert list(opened(openings, [(4, 5)])) == [(0, 0)]
    assert list(opened(openings, [(2, 5)])) == [(0, 0)], "it stays open"
    assert opened(openings, [(1, 5)], [(0, 5)]) == {}, "one and nothing are no lengths like others"


def test_axes_that_were_always_equally_long_are_one_extent():
    openings = DynamicDimTracker(DynamicDims())
    alike = opened(openings, *([(k, 7), (k,)] for k in (2, 3, 4)))
    assert alike[0, 0] is alike[1, 0]
    again = opened(openings, [(9, 7), (9,)])
    assert again[0, 0] is alike[0, 0], "the same names give the same extents"
    apart = opened(openings, [(9, 7), (8,)])
    assert apart[0, 0] is not apart[1, 0]


def test_an_axis_as_long_as_a_dynamic_dim_is_that_dim():
    told = SymbolicDim("told")
    openings = DynamicDimTracker(DynamicDims({(1, 0): told}))
    found = opened(openings, *([(k, 7), (k,)] for k in (2, 3, 4)))
    assert found == {(0, 0): told, (1, 0): told}


def test_dtypes_and_ranks_are_tracked_separately():
    openings = DynamicDimTracker(DynamicDims())
    opened(openings, [(2,)], [(3,)], [(2, 4)])
    assert openings.lengths([np.zeros(4)]).open == {}
    assert opened(openings, [(4,)])


def test_old_shapes_are_forgotten():
    openings = DynamicDimTracker(DynamicDims())
    opened(openings, [(2, 2)], [(3, 2)], [(4, 2)], *([(5, k)] for k in range(2, 70)))
    assert list(opened(openings, [(5, 3)])) == [(0, 1)]


@pytest.mark.parametrize("closing", [lambda o, made: [o.miss(made) for _ in range(3)],
                                     lambda o, _: o.close()])  # fmt: skip
def test_dims_that_always_miss_stay_static(closing):
    openings = DynamicDimTracker(DynamicDims())
    opened(openings, [(2,)], [(3,)], [(4,)])
    made = openings.lengths([np.zeros(4, np.float32)])
    for _ in range(9):
        openings.miss(openings.base)
    openings.miss(made)
    openings.miss(made)
    assert not openings.is_closed
    closing(openings, made)
    assert openings.is_closed
    assert openings.lengths([np.zeros(5, np.float32)]) is openings.base


def test_a_boxed_sequence_has_no_dynamic_length(rng: np.random.Generator):
    text = """g (int64 n, float[K] p, seq(float[?]) s) => (float[M] r) {
      last = Constant <value = int64 {-1}> ()
      r = Loop (n, , p) <body = f (int64 i, bool go, float[L] a) => (bool on, float[L] b) {
        on = Identity (go)
        x = SequenceAt (s, last)
        m = ReduceMax <keepdims = 0> (x)
        b = Add (a, m)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    for length, extents in ((2, (3, 3)), (3, (3, 2)), (4, (1, 2)), (5, (3, 4)), (6, (2, 2))):
        feed = {"n": np.array(2), "p": floats(rng, length), "s": [floats(rng, e) for e in extents]}
        assert_same(session.run(None, dict(feed)), interp.run(None, dict(feed)), ["r"])


FED = """g (float[T,3] x, float[T] w, float[3] k, float[3] h0) => (float[3] h, float[T,3] all) {
  first = Constant <value = int64 {0}> ()
  by = Constant <value = int64 {1}> ()
  extent = Shape <start = 0, end = 1> (w)
  limit = Squeeze (extent)
  numbers = Range (first, limit, by)
  scaled = Mul (x, k)
  made = Tanh (scaled)
  weight = Abs (w)
  h, all = Scan <num_scan_inputs = 3, body = b (float[3] h, float[3] xt, float wt, int64 t)
    => (float[3] ho, float[3] y) {
    number = Cast <to = 1> (t)
    sum = Add (h, xt)
    by = Add (number, wt)
    ho = Div (sum, by)
    y = Identity (ho)
  }> (h0, made, weight, numbers)
}"""


def test_one_kernel_serves_all_lengths_of_what_is_made_before_a_loop(rng: np.random.Generator):
    feeds = [
        {"x": floats(rng, length, 3), "w": 1 + np.abs(floats(rng, length)), "k": floats(rng, 3),
         "h0": floats(rng, 3)}
        for length in (4, 1, 9, 0, 70)
    ]  # fmt: skip
    assert len(checked(FED, feeds)) == 1


def test_what_feeds_a_loop_is_in_its_region():
    session = treadle.InferenceSession(HEAD + FED, engines=("jit", "interp"))
    (region,) = [line for line in str(session.explain()).splitlines() if "Scan" in line]
    assert all(word in region for word in ("Range", "Mul", "Tanh", "Abs"))
