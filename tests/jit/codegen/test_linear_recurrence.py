"""Linear recurrences by parallel prefix: as exact as float64, and not used for jumps."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from tests.jit.native import HEAD, WORDS, check, natives
from tests.seeded import seeded
from treadle.jit.schedule.loops import linear_recurrence
from treadle.jit.toolchain.llvm import host_target

LENGTHS = [0, 1, 3, 8, 33, 64, 100]
pytestmark = pytest.mark.skipif(
    host_target().vector_bytes < 32, reason="vectors of fewer than four numbers"
)


@pytest.fixture(autouse=True)
def short_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of four numbers are enough, as on a machine with AVX2, where it does not pay."""
    monkeypatch.setattr(linear_recurrence, "_MIN_LANES", 4)


def scan(body, dtype="float32", *, states=("m",), outputs=("m",), more="", attributes=""):
    """A Scan over x of `states`, which begin with m0; the body makes `mo` of `m`; stacks `y`."""
    word = WORDS[dtype]
    carried = ", ".join(f"{word} {s}" for s in states)
    following = ", ".join(f"{word} {s}o" for s in states)
    last = ", ".join(f"{s}n" for s in states)
    stacked = ", ".join(f"y{s}" for s in outputs)
    results = ", ".join(f"{word}[T] y{s}" for s in outputs)
    elements = ", ".join(f"{word} e{s}" for s in outputs)
    copies = " ".join(f"e{s} = Identity ({s}o)" for s in outputs)
    return f"""g ({word}[T] x, {word} a, {word} m0 {more}) => ({word} mn, {results}) {{
      {last}, {stacked} = Scan <num_scan_inputs = 1, {attributes} body = b ({carried}, {word} xt)
        => ({following}, {elements}) {{ {body} {copies} }}> ({", ".join(["m0"] * len(states))}, x)
    }}"""


AVERAGE = "d = Sub (xt, m) ad = Mul (a, d) mo = Add (m, ad)"


def feed(rng, length, a=0.3, m0=0.5, dtype="float32"):
    x = rng.standard_normal(length)
    return {"x": x.astype(dtype), "a": np.array(a, dtype), "m0": np.array(m0, dtype)}


def run(text, given, *, linear=True):
    """The answers of native code, which runs several iterations at once or, else, does not."""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    found = session.run(None, given)
    (native,) = natives(session)
    (made,) = native.cache.compiled.values()
    assert not isinstance(made, str), made
    assert (dict(made.code.counts).get("linear", 0) > 0) is linear
    return found


def interpreted(text, given):
    return treadle.InferenceSession(HEAD + text, engines=("interp",)).run(None, given)


def averaged(x, a, m0):
    m, out = float(m0), []
    for value in x.astype(float):
        m += float(a) * (value - m)
        out.append(m)
    return np.array(out)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("a", [0.0, 1e-6, 0.3, 1.0, 1.7, 2.0])
def test_a_moving_average_is_as_exact_as_float64(length, a, rng):
    given = feed(rng, length, a)
    last, ys = run(scan(AVERAGE), given)
    wanted = averaged(**given)
    whole = length - length % (host_target().vector_bytes // 8)
    np.testing.assert_allclose(ys[:whole], wanted[:whole], rtol=1.2e-7, atol=1e-9)
    np.testing.assert_allclose(ys, wanted, rtol=2e-6, atol=2e-7)
    assert last == (ys[-1] if length else given["m0"])


@pytest.mark.parametrize("attributes", [
    "scan_input_directions = [1],", "scan_output_directions = [1],",
    "scan_input_directions = [1], scan_output_directions = [1],",
])  # fmt: skip
def test_slices_and_stacks_in_reverse(attributes, rng):
    text = scan(AVERAGE, attributes=attributes)
    for length in LENGTHS:
        given = feed(rng, length)
        for found, wanted in zip(run(text, given), interpreted(text, given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("body", [
    "mo = Add (m, xt)", "mo = Sub (xt, m)", "mo = Sub (m, xt)",
    "n = Neg (m) h = Mul (n, a) mo = Add (h, xt)", "mo = Mul (m, a)",
    "s = Add (m, xt) t = Sub (s, m) mo = Add (t, a)",
    "q = Div (m, two) mo = Sub (q, xt)",
    "g = Abs (xt) h = Min (g, a) k = Mul (h, m) mo = Add (k, xt)",
    "p = Equal (xt, a) w = Where (p, a, xt) mo = Add (m, w)",
])  # fmt: skip
def test_forms_of_linear_recurrences(body, rng):
    text = scan(body, more=", float two")
    for length in (5, 64, 77):
        given = feed(rng, length, 0.9) | {"two": np.array(2, np.float32)}
        with np.errstate(all="ignore"):
            wanted = interpreted(text, given)
        for found, value in zip(run(text, given), wanted, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-5, atol=1e-5)


def test_a_value_that_stays_is_not_carried(rng: np.random.Generator):
    text, given = scan("mo = Identity (m)", more=", float two"), feed(rng, 5, 0.9)
    given |= {"two": np.array(2, np.float32)}
    for found, value in zip(run(text, given, linear=False), interpreted(text, given), strict=True):
        np.testing.assert_array_equal(found, value)


def test_float64_runs_sequentially(rng: np.random.Generator):
    given = feed(rng, 64, dtype="float64")
    text = scan(AVERAGE, "float64")
    for found, wanted in zip(run(text, given, linear=False), interpreted(text, given), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("values", [
    [-1e20] + [1.0] * 60, [0.0, 1e20, -1e20] + [3.0] * 60, [1.0] * 30 + [1e15, -1e15] + [1.0] * 30,
    [0.0] * 20 + [1.0] + [0.0] * 30,
])  # fmt: skip
@pytest.mark.parametrize("start", [0.0, 1e20, -0.0])
def test_cancellation_makes_a_block_run_sequentially(values, start, rng):
    text = scan("mo = Add (m, xt)")
    given = feed(rng, len(values), m0=start) | {"x": np.array(values, np.float32)}
    for found, wanted in zip(run(text, given), interpreted(text, given), strict=True):
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def test_vector_blocks_resume_after_a_cancellation(rng: np.random.Generator):
    given = feed(rng, 10_000)
    given["x"][::1000] = 0
    given["x"][5000:5002] = [1e20, -1e20]
    last, ys = run(scan(AVERAGE), given)
    np.testing.assert_allclose(
        ys[6000:], averaged(given["x"][5500:], 0.3, ys[5499])[500:], rtol=1e-5, atol=1e-6
    )
    assert last == ys[-1]


def test_zero_keeps_its_sign(rng: np.random.Generator):
    given = feed(rng, 24, 0.5, m0=-0.0)
    _, ys = run(scan("mo = Mul (m, a)"), given)
    assert np.signbit(ys).all()
    assert not ys.any()


def test_adding_and_subtracting_a_constant_rounds_as_interp(rng: np.random.Generator):
    body = "k = Mul (m, a) s = Add (k, xt) r = Add (s, c) mo = Sub (r, c)"
    text = scan(body, more=", float c")
    given = feed(rng, 40) | {"c": np.array(12582912, np.float32)}
    given["x"] *= 20
    for found, wanted in zip(run(text, given, linear=False), interpreted(text, given), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_overflow_within_a_block_of_iterations():
    x = np.tile(np.array([3e38, -3e38], np.float32), 20)
    given = {"x": x, "a": np.array(0.9, np.float32), "m0": np.array(0, np.float32)}
    with np.errstate(all="ignore"):
        wanted = interpreted(scan(AVERAGE), given)
    for found, value in zip(run(scan(AVERAGE), given), wanted, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize(("steps", "linear"), [(20, True), (100, False)])
def test_analysis_time_is_linear_in_the_body(steps, linear, rng):
    lines = ["n0 = Identity (m)"]
    for k in range(steps):
        lines += [f"d{k} = Sub (xt, n{k}) h{k} = Mul (a, d{k}) n{k + 1} = Add (n{k}, h{k})"]
    text = scan(" ".join([*lines, f"mo = Identity (n{steps})"]))
    given = feed(rng, 40, 0.1)
    started = time.perf_counter()
    found = run(text, given, linear=linear)
    assert time.perf_counter() - started < 10
    for each, wanted in zip(found, interpreted(text, given), strict=True):
        np.testing.assert_allclose(each, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(
    "body", ["s = Mul (m, a) mo = Add (s, xt)", "s = Sub (xt, m) mo = Mul (s, a)"]
)
def test_integers_wrap_as_in_interp(dtype, body, rng):
    for length in (7, 40, 123):
        x = rng.integers(0, 100, length).astype(dtype)
        given = {"x": x, "a": np.array(93, dtype), "m0": np.array(7, dtype)}
        text = scan(body, dtype)
        for found, wanted in zip(run(text, given), interpreted(text, given), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_states_that_depend_on_earlier_states(rng: np.random.Generator):
    body = (
        AVERAGE
        + " dd = Mul (d, d) e = Sub (dd, s) ae = Mul (a, e) so = Add (s, ae) po = Identity (m)"
    )
    text = scan(body, states=("p", "s", "m"), outputs=("m", "s", "p")).replace(
        "float mn,", "float sn,"
    )
    for length in LENGTHS:
        given = feed(rng, length)
        for found, wanted in zip(run(text, given), interpreted(text, given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("place", "value"), [
    (0, np.inf), (9, -np.inf), (20, np.nan), (39, np.inf), (17, 3e38), (3, -3.3e38)
])  # fmt: skip
def test_infinities_and_nan_equal_sequential_results(place, value, rng):
    given = feed(rng, 40)
    given["x"][place] = value
    with np.errstate(all="ignore"):
        wanted = interpreted(scan("s = Mul (m, a) mo = Add (s, xt)"), given)
    found = run(scan("s = Mul (m, a) mo = Add (s, xt)"), given)
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5)
        assert np.isnan(each).tolist() == np.isnan(other).tolist()


@pytest.mark.parametrize("a", [1.0001, -1.5, 30.0, np.inf, np.nan])
def test_growing_states_are_bitwise_equal(a, rng):
    text = scan("s = Mul (m, a) mo = Add (s, xt)")
    given = feed(rng, 100, a)
    with np.errstate(all="ignore"):
        wanted = interpreted(text, given)
    for each, other in zip(run(text, given), wanted, strict=True):
        np.testing.assert_array_equal(each, other)


@pytest.mark.parametrize("body", [
    "p = Less (m, xt) w = Where (p, a, xt) mo = Add (m, w)",
    "k = Cast <to = 6> (m) f = Cast <to = 1> (k) mo = Add (f, xt)",
    "s = Mul (m, m) t = Mul (s, a) mo = Add (t, xt)",
    "s = Div (a, m) mo = Add (s, xt)",
    "s = Max (m, xt) mo = Mul (s, a)",
    "s = Floor (m) mo = Add (s, xt)",
])  # fmt: skip
def test_nonlinear_bodies_run_sequentially(body, rng):
    text = scan(body)
    given = feed(rng, 64, 0.3)
    for each, other in zip(run(text, given, linear=False), interpreted(text, given), strict=True):
        np.testing.assert_array_equal(each, other)


def test_mutually_dependent_states_run_sequentially(rng: np.random.Generator):
    body = "po = Add (m, xt) h = Mul (p, a) mo = Sub (h, xt)"
    text = scan(body, states=("m", "p"))
    given = feed(rng, 64)
    for each, other in zip(run(text, given, linear=False), interpreted(text, given), strict=True):
        np.testing.assert_array_equal(each, other)


def test_a_counted_inner_loop():
    text = """g (int64[N] counts, float[T] x, float a) => (float[N] last) {
      yes = Constant <value = bool {1}> ()
      last = Scan <num_scan_inputs = 1, body = outer (int64 n) => (float end) {
        zero = Constant <value = float {0.0}> ()
        end = Loop <body = inner (int64 i, bool c, float m) => (bool go, float mo) {
          go = Identity (c)
          f = Cast <to = 1> (i)
          h = Mul (a, m)
          mo = Add (h, f)
        }> (n, yes, zero)
      }> (counts)
    }"""
    counts = np.array([0, 3, 100, 8, 57])
    given = {"counts": counts, "x": np.zeros(4, np.float32), "a": np.array(0.5, np.float32)}
    (last,) = run(text, given)
    for n, end in zip(counts.tolist(), last.tolist(), strict=True):
        m = 0.0
        for i in range(n):
            m = 0.5 * m + i
        assert end == pytest.approx(m, rel=2e-7)


def test_masks_broadcasts_and_strides(rng: np.random.Generator):
    text = """g (float[T, 1] x, bool[T] done, float[1, T] rate, float[1] m0) => (float[1, T] ys) {
      last, ys = Scan <num_scan_inputs = 3, scan_input_axes = [0, 0, 1], scan_output_axes = [1],
        body = b (float[1] m, float[1] xt, bool end, float[1] r) => (float[1] mo, float[1] y) {
        none = Constant <value = float[1] {0.0}> ()
        k = Where (end, none, r)
        h = Mul (m, k)
        mo = Add (h, xt)
        y = Identity (mo)
      }> (m0, x, done, rate)
    }"""
    for length in (4, 50):
        given = {
            "x": rng.standard_normal((length, 1)).astype(np.float32),
            "done": rng.random(length) < 0.2,
            "rate": rng.random((1, length)).astype(np.float32),
            "m0": np.ones(1, np.float32),
        }
        (ys,) = run(text, given)
        (wanted,) = interpreted(text, given)
        np.testing.assert_allclose(ys, wanted, rtol=1e-5, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_linear_body(data):
    rng = seeded((data,))
    dtype = data.draw(st.sampled_from(["float32", "int32"]))
    names, lines = ["m", "xt", "a"], []
    for number in range(data.draw(st.integers(1, 6))):
        op = data.draw(st.sampled_from(["Add", "Sub", "Mul"]))
        left, right = (data.draw(st.sampled_from(names)) for _ in range(2))
        lines.append(f"n{number} = {op} ({left}, {right})")
        names.append(f"n{number}")
    lines.append(f"mo = Identity ({names[-1]})")
    length = data.draw(st.integers(0, 70))
    x = rng.uniform(-1, 1, length) if dtype == "float32" else rng.integers(-9, 9, length)
    given = {"x": x.astype(dtype), "a": np.array(0.5 if dtype == "float32" else 3, dtype)}
    check(scan(" ".join(lines), dtype), given | {"m0": np.array(1, dtype)})
