"""Calls of native code: arguments, results, ownership of memory, and the state afterwards."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, outcomes
from tests.values import assert_same
from treadle.jit.host import array_memory

SUM = """g (int64 n, float[4] p) => (float[4] last, float[N,4] all) {
  last, all = Loop (n, , p) <body = f (int64 i, bool go, float[4] x) => (bool on, float[4] x1,
    float[4] e) {
    on = Identity (go)
    x1 = Add (x, x)
    e = Identity (x)
  }>
}"""
P = np.arange(4, dtype=np.float32)


def is_all_native(session: treadle.InferenceSession) -> bool:
    """Whether native code ran everything: no region had to be planned again."""
    regions = session.plan.main.regions
    return all(r.engine == "jit" and r.otherwise._made is None for r in regions)


def session_of(text: str) -> treadle.InferenceSession:
    """On the native engine, else interp."""
    return treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))


@pytest.mark.parametrize("trips", [-3, 0, 1, 5])
def test_zero_iterations_stay_native(trips):
    session = session_of(SUM)
    last, stacked = session.run(None, {"n": np.array(trips), "p": P})
    count = max(trips, 0)
    assert is_all_native(session)
    assert stacked.shape == (count, 4)
    assert np.array_equal(last, P * 2**count)


def test_a_while_loop_of_zero_iterations_has_empty_stacks():
    text = """g (float limit, float x0, bool go0) => (float last, float[N] all) {
      last, all = Loop (, go0, x0) <body = f (int64 i, bool go, float x) => (bool on, float x1,
        float e) {
        x1 = Add (x, x)
        on = Less (x1, limit)
        e = Identity (x)
      }>
    }"""
    session = session_of(text)
    feed = {"limit": np.float32(10), "x0": np.float32(1)}
    for go in (True, False, True):
        _, stacked = session.run(None, {**feed, "go0": np.array(go)})
        assert stacked.tolist() == [1, 2, 4, 8] * go
    check(text, {**feed, "go0": np.array(True)})


def test_an_empty_stack_of_unknown_shape_has_interps_shape():
    text = """g (int64 n, float[A] p) => (float[N,B] all) {
      go0 = Constant <value = bool {1}> ()
      all = Loop (n, go0) <body = f (int64 i, bool go) => (bool on, float[C] e) {
        on = Identity (go)
        e = Concat <axis = 0> (p, p)
      }>
    }"""
    for trips in (0, 2):
        feed = {"n": np.array(trips), "p": P}
        found = session_of(text).run(None, feed)
        wanted = treadle.InferenceSession(HEAD + text, engines=("interp",)).run(None, feed)
        assert_same(found, wanted, ["all"])


def test_an_empty_slice_has_interps_empty_stacks():
    """The length is known when the kernel is made, the shape of an element nowhere."""
    text = """g (float[A] x, float[B] p) => (float[N,C] all, float s) {
      s = ReduceSum <keepdims = 0> (x)
      all = Scan <num_scan_inputs = 1, body = f (float e) => (float[C] r) {
        zero = Constant <value = float {0.0}> ()
        k = Greater (p, zero)
        c = Compress <axis = 0> (p, k)
        r = Add (c, e)
      }> (x)
    }"""
    session = session_of(text)
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    for count in (2, 0, 3, 0):
        feed = {"x": np.ones(count, np.float32), "p": P}
        assert_same(session.run(None, feed), interp.run(None, feed), ["all", "s"])


@pytest.mark.parametrize("form", ["strided", "unaligned", "read-only"])
def test_arrays_of_any_layout_are_taken(form):
    p = P
    if form == "strided":
        p = np.repeat(P, 2)[::2]
    elif form == "unaligned":
        p = np.frombuffer(b"\0" + P.tobytes(), np.uint8)[1:].view(np.float32)
        assert not p.flags.aligned
    else:
        p = P.copy()
        p.flags.writeable = False
    session = session_of(SUM)
    last, _ = session.run(None, {"n": np.array(3), "p": p})
    assert is_all_native(session)
    assert np.array_equal(last, P * 8)


def test_results_are_arrays_of_their_own():
    session = session_of(SUM)
    feed = {"n": np.array(0), "p": P}
    first, second = session.run(None, feed)[0], session.run(None, feed)[0]
    first += 1
    assert np.array_equal(second, np.arange(4))
    assert np.array_equal(P, np.arange(4))


def test_the_data_pointer_slot_of_arrays_is_found(monkeypatch):
    monkeypatch.setattr(array_memory, "data_offset", lambda: None)
    array_memory.data_pointer_slot.cache_clear()
    try:
        last, _ = session_of(SUM).run(None, {"n": np.array(3), "p": P})
    finally:
        array_memory.data_pointer_slot.cache_clear()
    assert np.array_equal(last, P * 8)


def test_a_declined_signature_is_not_compiled_again(monkeypatch):
    text = """g (int64 n, float[K] p) => (float last) {
      zero = Constant <value = float {0.0}> ()
      last = Loop (n, , zero) <body = f (int64 i, bool go, float x) => (bool on, float x1) {
        on = Identity (go)
        long = Concat <axis = 0> (p, p)
        shape = Shape (long)
        part = Reshape (long, shape)
        e = ReduceSum <keepdims = 0> (part)
        x1 = Add (x, e)
      }>
    }"""
    session = session_of(text)
    feed = {"n": np.array(2), "p": P}
    tries = []

    def refuse(*_):
        from treadle.jit.kernel.declined import Declined

        tries.append(1)
        raise Declined("for a test")

    monkeypatch.setattr("treadle.jit.runtime.kernel_cache.compile_kernel", refuse)
    for _ in range(3):
        assert session.run(None, feed)[0] == 24
    # the region with companions, then the loop alone: as a region and in the new plan
    assert len(tries) == 3
    assert "for a test" in session.explain()


BESIDE = """g (int64[1] count, float[2,2] p) => (float[4] flat, float[2,2] scaled) {
  zero = Constant <value = int64[1] {0}> ()
  n = Squeeze (count, zero)
  start = Tanh (p)
  last = Loop (n, , start) <body = f (int64 i, bool go, float[2,2] x) => (bool on,
    float[2,2] x1) {
    on = Identity (go)
    x1 = Cos (x)
  }>
  shape = Constant <value = int64[1] {-1}> ()
  flat = Reshape (last, shape)
  scaled = Mul (last, p)
}"""


def test_small_steps_around_a_loop_are_in_its_kernel():
    feed = {"count": np.array([3]), "p": P.reshape(2, 2)}
    check(BESIDE, feed)
    session = session_of(BESIDE)
    (region,) = session.plan.main.regions
    assert len(region.steps) == 7
    session.run(None, feed)
    assert is_all_native(session)


def test_shapes_of_dynamic_values_are_companions():
    text = """g (float[K,2] p) => (float[N,2] rows) {
      at = Constant <value = int64 {0}> ()
      yes = Constant <value = bool {1}> ()
      shape = Shape (p)
      trips = Gather (shape, at)
      rows = Loop (trips, yes) <body = f (int64 i, bool go) => (bool on, float[2] row) {
        on = Identity (go)
        taken = Gather (p, i)
        row = Neg (taken)
      }>
    }"""
    feed = {"p": np.arange(6, dtype=np.float32).reshape(3, 2)}
    check(text, feed)
    (region,) = session_of(text).plan.main.regions
    assert region.engine == "jit"


def test_a_step_with_other_readers_is_no_companion():
    text = """g (int64 n, float[K,K] p) => (float[K,K] last, float[K,K] other) {
      start = Tanh (p)
      other = MatMul (start, start)
      last = Loop (n, , start) <body = f (int64 i, bool go, float[K,K] x) => (bool on,
        float[K,K] x1) {
        on = Identity (go)
        x1 = Cos (x)
      }>
    }"""
    session = session_of(text)
    engines = {step.op: r.engine for r in session.plan.main.regions for step in r.steps
               if hasattr(step, "op")}  # fmt: skip
    assert engines == {"Tanh": "interp", "MatMul": "interp"}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_packed_matrix_is_aligned_to_a_cache_line(dtype):
    for columns in (3, 16, 70):
        matrix = np.arange(5 * columns, dtype=dtype).reshape(5, columns)
        panels = array_memory.in_panels(matrix, 80)
        assert array_memory.address(panels) % 64 == 0
        assert panels.strides == (5 * 80 * panels.itemsize, 80 * panels.itemsize, panels.itemsize)
        assert np.array_equal(panels[0, :, :columns], matrix)
        assert not panels[0, :, columns:].any()


UNTOLD = """g (int64 n, float[K,2] p) => (float[2] last, float[K,2] scaled) {
  at = Constant <value = int64[1] {0}> ()
  long = Mul (p, p)
  start = ReduceMax <keepdims = 0> (long, at)
  last = Loop (n, , start) <body = f (int64 i, bool go, float[2] x) => (bool on, float[2] x1) {
    on = Identity (go)
    x1 = Cos (x)
  }>
  scaled = Mul (last, p)
}"""


def untold(rows):
    return {"n": np.array(3), "p": np.linspace(-1, 1, 2 * rows, dtype=np.float32).reshape(-1, 2)}


def test_steps_join_a_loop_whose_extents_only_data_tells():
    check(UNTOLD, untold(3), untold(5), untold(1), untold(9))
    session = session_of(UNTOLD)
    session.run(None, untold(3))
    (region,) = session.plan.main.regions
    assert region.engine == "jit"


@pytest.mark.parametrize("is_first", [True, False])
def test_companions_that_are_large_at_run_time_are_dropped(is_first):
    session = treadle.InferenceSession(HEAD + UNTOLD)
    interp = treadle.InferenceSession(HEAD + UNTOLD, engines=("interp",))
    sizes = (100_000, 3) if is_first else (3, 100_000)
    for rows in sizes:
        names = [output.name for output in session.get_outputs()]
        assert_same(session.run(None, untold(rows)), interp.run(None, untold(rows)), names)
    engines = [region.engine for region in session.plan.main.regions]
    assert engines == (["interp", "jit", "interp"] if is_first else ["jit"])


def test_large_tensors_are_moved_beside_a_loop_by_native_code():
    text = """g (int64 n, float[300,400] p) => (float[300,400] last, float[300,400] half) {
      turned = Transpose (p)
      end = Loop (n, , turned) <body = f (int64 i, bool go, float[400,300] x)
        => (bool on, float[400,300] next) {
        on = Identity (go)
        y = Transpose (x)
        z = Sub (p, y)
        next = Transpose (z)
      }>
      last = Transpose (end)
      low, high = Split <axis = 0, num_outputs = 2> (last)
      wide = Cast <to = 11> (high)
      again = Cast <to = 1> (wide)
      half = Concat <axis = 0> (again, low)
      unread = Transpose (end)
    }"""
    p = np.arange(120_000, dtype=np.float32).reshape(300, 400)
    check(text, *({"n": np.array(n), "p": p} for n in (3, 0, 1)))
    (region,) = treadle.InferenceSession(HEAD + text).plan.main.regions
    assert region.engine == "jit"
    dear = text.replace("Transpose (p)", "Transpose (exp)").replace(
        "      turned", "      exp = Exp (p)\n      turned"
    )
    regions = treadle.InferenceSession(HEAD + dear).plan.main.regions
    assert [region.engine for region in regions] == ["interp", "jit"]


def test_heavy_steps_are_companions_only_with_known_extents():
    text = UNTOLD.replace("long = Mul (p, p)", "long = Softmax (p)")
    engines = [region.engine for region in treadle.InferenceSession(HEAD + text).plan.main.regions]
    assert engines == ["onnxruntime", "jit"]
    told = text.replace("float[K,2]", "float[3,2]")
    (region,) = treadle.InferenceSession(HEAD + told).plan.main.regions
    assert region.engine == "jit"


def test_a_sliced_length_stays_dynamic_with_companions():
    text = """g (float[N,4] p) => (float[N,4] a) {
      q = Mul (p, p)
      a = Scan <num_scan_inputs = 1, body = f (float[4] x) => (float[4] y) {
        y = Cos (x)
      }> (q)
    }"""
    session = session_of(text)
    for rows in range(1, 9):
        p = np.linspace(-1, 1, 4 * rows, dtype=np.float32).reshape(rows, 4)
        assert_same(session.run(None, {"p": p}), [np.cos(p * p)], ["a"])
    assert len(outcomes(session)) == 1


def test_a_large_feed_does_not_affect_small_ones():
    session = treadle.InferenceSession(HEAD + UNTOLD)
    for rows in (3, 4, 5, 100_000, *range(6, 40)):
        session.run(None, untold(rows))
    (region,) = session.plan.main.regions
    assert region.engine == "jit"
    assert len(outcomes(session)) <= 4  # three closed ones at most, and an open one


def test_a_decline_for_a_large_feed_does_not_replan(monkeypatch):
    monkeypatch.setattr(
        "treadle.jit.runtime.region_compiler.why_unprofitable", lambda *_: "for a test"
    )
    refused = treadle.InferenceSession(HEAD + UNTOLD)
    refused.run(None, untold(100_000))
    assert "jit" in [region.engine for region in refused.plan.main.regions]


@pytest.mark.parametrize("extent", [0, 4, 1000, 1024, 5001])
def test_a_long_carried_result_begins_at_a_cache_line(extent: int, rng: np.random.Generator):
    text = SUM.replace("[4]", "[D]").replace("[N,4]", "[N,D]")
    session, held = session_of(text), []
    for _ in range(20):
        p = rng.standard_normal(extent).astype(np.float32)
        last, stacked = session.run(None, {"n": np.array(2), "p": p})
        assert np.array_equal(last, 4 * p)
        assert np.array_equal(stacked, np.stack([p, 2 * p]))
        assert last.flags.writeable
        assert last.flags.c_contiguous
        assert extent < 1024 or array_memory.address(last) % 64 == 0
        held.append((last, np.empty(rng.integers(1, 500), np.uint8)))


ROWS_OF_COLUMNS = """
import resource
import numpy as np
import treadle
session = treadle.InferenceSession('''<ir_version: 8, opset_import: ["" : 18]>
g (float[H, W] x, float[H] s) => (float[H, W] y, float[H] last) {
  last, y = Scan <num_scan_inputs = 1, body = f (float[H] c, float[H] v)
    => (float[H] next, float[H] e) {
      e = Min (c, v)
      next = Identity (e)
    }, scan_input_axes = [1], scan_output_axes = [1]> (s, x)
}''', engines=("jit", "interp"))
feed = {"x": np.ones((512, 512), np.float32), "s": np.ones(512, np.float32)}
faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(3):
    session.run(None, feed)
before = faults()
for _ in range(50):
    session.run(None, feed)
print((faults() - before) / 50)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library")
def test_memory_of_a_call_is_kept_for_the_next_one():
    """One MB of results is 256 pages, each of which would fault again."""
    names = ("MALLOC_", "GLIBC_TUNABLES", "PYTHONMALLOC")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(names)}
    command = [sys.executable, "-c", ROWS_OF_COLUMNS]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert float(ran.stdout) < 20
