"""Values with dynamic extents in native code."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.fences import given
from tests.jit.native import HEAD, check, declined, natives, outcomes
from tests.seeded import drawn, floats

pytestmark = pytest.mark.usefixtures("fences")
TRIPS = [0, 1, 2, 5, 40]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_a_state_that_grows(axis, rows, rng):
    shape = [2, 3]
    shape.insert(axis, rows)
    one = [2, 3]
    one.insert(axis, 1)
    word = "float[A,B,C]"
    text = f"""g (int64 n, {word} p, {word} q) => (float[D,E,F] a, float[N] s, float[N] t) {{
      a, s, t = Loop (n, , p) <body = f (int64 i, bool go, {word} x)
        => (bool on, float[D,E,F] x1, float s, float t) {{
        on = Identity (go)
        k = Cast <to = 1> (i)
        new = Add (q, k)
        x1 = Concat <axis = {axis}> (x, new)
        s = ReduceSum <keepdims = 0> (x1)
        t = ReduceSum <keepdims = 0> (x)
      }}>
    }}"""
    check(
        text,
        *(
            {"n": np.array(trips), "p": floats(rng, *shape), "q": floats(rng, *one)}
            for trips in TRIPS
        ),
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_a_state_that_grows_at_its_end_seldom_asks_for_memory(axis, rng):
    text = f"""g (int64 n, float[A,B] p) => (float[C,D] a) {{
      a = Loop (n, "", p) <body = f (int64 i, bool go, float[A,B] x) => (bool on, float[E,F] x1) {{
        on = Identity (go)
        x1 = Concat <axis = {axis}> (x, p)
      }}>
    }}"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    p = floats(rng, *((1, 3) if axis == 0 else (3, 1)))
    asked = []
    for trips in (1000, 2000, 4000):
        before = given[0]
        (found,) = session.run(None, {"n": np.array(trips), "p": p})
        assert np.array_equal(found, np.concatenate([p] * (trips + 1), axis))
        asked.append(given[0] - before)
    assert asked[2] - asked[1] <= 4
    assert asked[2] < 40


CASES = {
    "states that grow at the front and are swapped": (
        """g (int64 n, float[A] p, float[B] q) => (float[C] a, float[D] b) {
      a, b = Loop (n, , p, q) <body = f (int64 i, bool go, float[E] x, float[F] y)
        => (bool on, float[G] x1, float[H] y1) {
        on = Identity (go)
        y1 = Concat <axis = 0> (q, x)
        x1 = Identity (y)
      }>
    }""", {"p": (2,), "q": (1,)}, TRIPS),
    "a state that shrinks and one that doubles": (
        """g (int64 n, float[A] p) => (float[B] a, float[C] b) {
      a, b = Loop (n, , p, p) <body = f (int64 i, bool go, float[D] x, float[E] y)
        => (bool on, float[F] x1, float[G] y1) {
        on = Identity (go)
        one = Constant <value = int64[1] {1}> ()
        far = Constant <value = int64[1] {100}> ()
        x1 = Slice (x, one, far)
        four = Constant <value = int64 {4}> ()
        m = Less (i, four)
        y1 = If (m) <then_branch = t () => (float[K] u) { u = Concat <axis = 0> (y, y) },
                     else_branch = e () => (float[L] v) { v = Neg (y) }>
      }>
    }""", {"p": (7,)}, TRIPS),
    "shapes that are computed": (
        """g (int64 n, float[6] p) => (float[N] s, int64[N] z, float[M] r) {
      s, z, r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float s, int64 z, float r) {
        on = Identity (go)
        zero = Constant <value = int64[1] {0}> ()
        two = Constant <value = int64[1] {2}> ()
        seven = Constant <value = int64 {7}> ()
        one = Constant <value = int64 {1}> ()
        nothing = Constant <value = int64 {0}> ()
        m = Mod (i, seven)
        k = Unsqueeze (m, zero)
        part = Slice (p, zero, k)
        s = ReduceSum <keepdims = 0> (part)
        shape = Concat <axis = 0> (two, k)
        zeros = ConstantOfShape <value = float[1] {0.5}> (shape)
        counted = Range (nothing, m, one)
        numbers = Cast <to = 1> (counted)
        sum = Add (zeros, numbers)
        wide = Expand (part, shape)
        count = Shape (wide)
        z = ReduceProd <keepdims = 0> (count)
        both = Concat <axis = 1> (sum, zeros)
        flat = Constant <value = int64[1] {-1}> ()
        line = Reshape (both, flat)
        r = ReduceSum <keepdims = 0> (line)
      }>
    }""", {"p": (6,)}, TRIPS),
}  # fmt: skip
"""The text of a model, the shapes of its inputs, and trip counts."""


@pytest.mark.parametrize("case", CASES)
def test_computed_shapes_in_a_loop(case, rng):
    text, shapes, trips = CASES[case]
    check(text, *(drawn(rng, shapes, n) for n in trips))


def test_a_list_that_is_read_back(rng: np.random.Generator):
    text = """g (int64 n, float[A,B] p) => (float[C,D] a, float[N,E] s, float[N] t) {
      a, s, t = Loop (n, , p) <body = f (int64 i, bool go, float[A,B] x)
        => (bool on, float[D,E] x1, float[B] s, float t) {
        on = Identity (go)
        last = Constant <value = int64 {-1}> ()
        zero = Constant <value = int64[1] {0}> ()
        s = Gather <axis = 0> (x, last)
        row = Unsqueeze (s, zero)
        half = Constant <value = float {0.5}> ()
        less = Mul (row, half)
        x1 = Concat <axis = 0> (x, less)
        turned = Transpose (x1)
        square = MatMul (turned, x1)
        t = ReduceMax <keepdims = 0> (square)
      }>
    }"""
    for columns in (3, 20):
        check(text, *({"n": np.array(n), "p": floats(rng, 2, columns)} for n in TRIPS if n))


def test_stacks_of_inner_loops():
    text = """g (int64 n, float x0) => (float x, float[N] s) {
      x, s = Loop (n, , x0) <body = f (int64 i, bool go, float a) => (bool on, float b, float s) {
        on = Identity (go)
        b, t, u = Loop (i, , a) <body = h (int64 j, bool g2, float c)
            => (bool o2, float d, float e, float u) {
          k = Cast <to = 1> (j)
          d = Sub (k, c)
          e = Mul (c, k)
          most = Constant <value = float {5}> ()
          o2 = Less (d, most)
          u = Neg (e)
        }>
        v = Sub (t, u)
        s = ReduceSum <keepdims = 0> (v)
      }>
    }"""
    check(text, *({"n": np.array(trips), "x0": np.float32(0.25)} for trips in TRIPS))


def test_stacked_elements_whose_shape_the_body_computes(rng: np.random.Generator):
    text = """g (int64 n, int64 m, float[8] p) => (float[N,M] s) {
      s = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[M] s) {
        on = Identity (go)
        zero = Constant <value = int64[1] {0}> ()
        w = Max (m, i)
        k = Unsqueeze (w, zero)
        part = Slice (p, zero, k)
        s = Neg (part)
      }>
    }"""
    check(text, {"n": np.array(4), "m": np.array(5), "p": floats(rng, 8)})
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(treadle.errors.RunError, match="alike"):
        session.run(None, {"n": np.array(4), "m": np.array(1), "p": floats(rng, 8)})


def test_sizes_beyond_all_memory_are_an_error():
    text = """g (int64 n, int64[2] shape) => (float[A,B] s, float[N] t) {
      zero = Constant <value = float[0,0] {}> ()
      s, t = Loop (n, , zero) <body = f (int64 i, bool go, float[A,B] x)
        => (bool on, float[C,D] x1, float t) {
        on = Identity (go)
        ones = ConstantOfShape <value = float[1] {1}> (shape)
        x1 = Neg (ones)
        t = ReduceSum <keepdims = 0> (x)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"n": np.array(2)}
    session.run(None, {**feed, "shape": np.array([3, 4])})
    for shape in ([2**62, 4], [2**40, 2**40], [-1, 4], [2**31, 2**31]):
        with pytest.raises(treadle.errors.RunError):
            session.run(None, {**feed, "shape": np.array(shape)})


def test_a_stack_without_iterations_has_the_shape_the_interpreter_says(rng: np.random.Generator):
    text = """g (int64 n, float[A] p) => (float[B,C] s) {
      s = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float[M] s) {
        on = Identity (go)
        s = Concat <axis = 0> (p, p)
      }>
    }"""
    for trips in (0, 1, 3):
        feed = {"n": np.array(trips), "p": floats(rng, 2)}
        (check if trips else declined)(text, feed)


def test_ten_thousand_runs_hold_no_more_memory(rng: np.random.Generator):
    text = """g (int64 n, float[A] p) => (float[B] a) {
      a = Loop (n, , p) <body = f (int64 i, bool go, float[A] x) => (bool on, float[B] x1) {
        on = Identity (go)
        x1 = Concat <axis = 0> (x, p)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    for count in range(300):
        n = count % 7
        (found,) = session.run(None, {"n": np.array(n), "p": floats(rng, 2)})
        assert found.shape == (2 + 2 * n,)
    assert len(outcomes(session)) == 1


@pytest.mark.parametrize(("axis", "shape"), [(0, "T,P"), (1, "P,T")])
def test_rows_stacked_from_the_last_whose_extent_the_body_computes(axis, shape, rng):
    text = f"""g (float[T,8] x) => (float[{shape}] y) {{
      y = Scan <num_scan_inputs = 1, scan_output_directions = [1], scan_output_axes = [{axis}],
        body = b (float[8] e) => (float[P] y) {{
          is_set = Cast <to = 9> (e)
          y = Compress <axis = 0> (e, is_set)
        }}> (x)
    }}"""
    feeds = [floats(rng, n, 8) for n in (1, 2, 40, 500)]
    for x in feeds:
        x[:, ::3] = 0
    check(text, *({"x": x} for x in feeds))


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 9)])
def test_data_dependent_extents_of_nonzero_and_compress(shape, rng):
    axes = ",".join(map(str, shape))
    text = f"""g (int64 n, float[{axes}] p) => (float[N] s, int64[N] c, float[N] t) {{
      s, c, t = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float s, int64 c, float t) {{
        on = Identity (go)
        ten = Constant <value = float {{10.0}}> ()
        k = Cast <to = 1> (i)
        l = Div (k, ten)
        x = Sub (p, l)
        r = Relu (x)
        places = NonZero (r)
        turned = Transpose (places)
        found = GatherND (p, turned)
        s = ReduceSum <keepdims = 0> (found)
        c = ReduceSum <keepdims = 0> (places)
        flat = Constant <value = int64[1] {{-1}}> ()
        line = Reshape (r, flat)
        zero = Constant <value = float {{0.0}}> ()
        above = Greater (line, zero)
        kept = Compress (p, above)
        t = ReduceSum <keepdims = 0> (kept)
      }}>
    }}"""
    check(text, *({"n": np.array(n), "p": floats(rng, *shape)} for n in (1, 2, 12)))


def test_a_reshaped_state_that_grows_is_multiplied_with(rng: np.random.Generator):
    text = """g (int64 n, float[A,8,4] p, float[1,8,4] q) => (float[B,8,4] a, float[N,1,32] s) {
      a, s = Loop (n, "", p) <body = f (int64 i, bool go, float[C,8,4] x)
        => (bool on, float[D,8,4] x1, float[1,32] y) {
        on = Identity (go)
        x1 = Concat <axis = 0> (x, q)
        wide = Constant <value = int64[2] {-1, 32}> ()
        rows = Reshape (x, wide)
        one = Constant <value = int64[1] {1}> ()
        sums = ReduceSum (rows, one)
        left = Transpose (sums)
        y = MatMul (left, rows)
      }>
    }"""
    check(text, {"n": np.array(5), "p": floats(rng, 6, 8, 4), "q": floats(rng, 1, 8, 4)})


def test_an_extent_inferred_from_the_other_operand_of_a_concat(rng: np.random.Generator):
    text = """g (int64 n, float[1,6] p, float[1,3] q) => (float[2,3] a, int64 k) {
      zeros = Constant <value = float[2,3] {0, 0, 0, 0, 0, 0}> ()
      a, k = Loop (n, "", zeros, n) <body = f (int64 i, bool go, float[2,3] x, int64 m)
        => (bool on, float[2,3] x1, int64 m1) {
        on = Identity (go)
        m1 = Abs (m)
        zero = Constant <value = int64[1] {0}> ()
        one = Constant <value = int64[1] {1}> ()
        end = Unsqueeze (m, zero)
        part = Slice (p, zero, end, one)
        y = Concat <axis = 0> (q, part)
        x1 = Add (x, y)
      }>
    }"""
    check(text, {"n": np.array(3), "p": floats(rng, 1, 6), "q": floats(rng, 1, 3)})


def test_a_stack_read_by_shape_only():
    text = """g (int64 n) => (int64 a) {
      three = Constant <value = int64 {3}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      a = Loop (three, "", n) <body = f (int64 i, bool go, int64 x) => (bool on, int64 x1) {
        on = Identity (go)
        y, rows = Loop (three, "", x) <body = f2 (int64 i2, bool go2, int64 z)
          => (bool on2, int64 z1, int64[K] row) {
          on2 = Identity (go2)
          z1 = Abs (z)
          row = Range (zero, z, one)
        }>
        size = Shape <start = 1> (rows)
        width = Squeeze (size)
        x1 = Add (i, width)
      }>
    }"""
    check(text, {"n": np.array(3)})


@pytest.mark.parametrize("size", [4, 40])
def test_a_window_of_a_state_that_moves(size, rng):
    text = f"""g (int64 n, float[{size}] p) => (float[{size}] a, float[N,2] s) {{
      a, s = Loop (n, "", p) <body = f (int64 i, bool go, float[{size}] x)
        => (bool on, float[{size}] x1, float[2] w) {{
        on = Identity (go)
        zero = Constant <value = int64[1] {{0}}> ()
        two = Constant <value = int64[1] {{2}}> ()
        at = Unsqueeze (i, zero)
        end = Add (at, two)
        w = Slice (x, at, end)
        x1 = Neg (x)
      }}>
    }}"""
    check(text, *({"n": np.array(n), "p": floats(rng, size)} for n in (1, 2, 3)))


def test_a_kernel_made_for_values_is_found_by_them_alone():
    text = """g (int64 n, int64[2] shape) => (float[N] t) {
      t = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float t) {
        on = Identity (go)
        k = Cast <to = 1> (i)
        ones = ConstantOfShape <value = float[1] {1}> (shape)
        more = Mul (ones, k)
        t = ReduceSum <keepdims = 0> (more)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    for shape in ([3, 4], [5, 6], [2, 2]):
        (found,) = session.run(None, {"n": np.array(3), "shape": np.array(shape)})
        assert found.tolist() == [k * shape[0] * shape[1] for k in range(3)]
        (native,) = natives(session)
        assert all(len(key) == 2 + len(native.cache.values.all) for key in native.cache.by_shapes)
