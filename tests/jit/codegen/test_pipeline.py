"""Pipelines of stacked loops: the same bits for any number of threads, errors, and limits.

Here workers are always woken and waited for, whatever they are expected to gain.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import treadle
from benchmarks.stacks import feed, model
from tests.jit.native import outcomes
from treadle.errors import RunError
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.threads import thread_pool

SIZE = 16
"""The recurrent matrix has 1,024 elements: the least for which loops are not fused."""
Arrays = dict[str, np.ndarray]


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (("least", 1), ("patience", 0), ("waits", True)):
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, name, value)
    yield
    assert not thread_pool._pools[-1].lock.locked()


def session(text: str, threads: int) -> treadle.InferenceSession:
    options = treadle.SessionOptions(intra_op_num_threads=threads)
    return treadle.InferenceSession(text, options, engines=("jit", "interp"))


def stages(made: treadle.InferenceSession) -> int:
    """The number of loops of a session that run in pipelines."""
    kernels = [each for each in outcomes(made) if isinstance(each, CompiledKernel)]
    return sum(dict(kernel.code.counts).get("stages", 0) for kernel in kernels)


def bits(made: treadle.InferenceSession, given: Arrays) -> list[bytes]:
    return [each.tobytes() for each in made.run(None, given)]


CASES = [
    ("Scans", 3, False, (2, 3, 4), (500, 65, 2, 1, 0)),
    ("Loops", 2, False, (2,), (65, 1, 0)),
    ("Scans", 2, True, (2,), (65, 1, 0)),
    ("Loops", 2, True, (2,), (65,)),
]


@pytest.mark.parametrize(("form", "layers", "between", "counts", "trips"), CASES)
def test_any_number_of_threads_gives_the_same_bits(form, layers, between, counts, trips):
    text = model(form, SIZE, layers, between)
    if between:  # a linear layer that is as large as those that make loops stages
        text = text.replace("float[16, 16] L0", "float[16, 64] L0, float[64, 16] M0")
        text = text.replace("(l0)", "(m0)")
        text = text.replace("r0 =", "d0 = Dropout (l0)\n m0 = MatMul (d0, M0)\n r0 =")
    alone = session(text, 1)
    several = {threads: session(text, threads) for threads in counts}
    for steps in trips:
        given = feed(SIZE, steps, layers)
        if between:
            given |= {"L0": given["W0"], "M0": given["W0"].T.copy()}
        wanted = bits(alone, given)
        for threads, made in several.items():
            assert bits(made, given) == wanted, (threads, steps)
    assert stages(alone) == 0
    assert all(stages(made) >= layers for made in several.values())


def test_all_results_of_every_loop():
    text = model("Scans", SIZE, 3).replace(
        f"(float[T, 1, {SIZE}] y2)",
        ", ".join([f"(float[1, {SIZE}] h0, float[1, {SIZE}] c1", f"float[T, 1, {SIZE}] y0",
                   f"float[T, 1, {SIZE}] y1", f"float[1, {SIZE}] h2)"]),
    )  # fmt: skip
    given = feed(SIZE, 100, 3)
    assert bits(session(text, 3), given) == bits(session(text, 1), given)


ROTATING = """w{k}, y{k} = Scan <num_scan_inputs = 1, body = cell{k}
      (float[2048] w, float[1, 32] xt) => (float[2048] v, float[1, 32] y) {{
        first = Slice (w, none, one)
        rest = Slice (w, one, all)
        turned = Concat <axis = 0> (rest, first)
        both = Add (turned, w)
        v = Sin (both)
        mixed = MatMul (xt, W)
        head = Slice (w, none, some)
        y = Add (mixed, head)
      }}> (start, {given})"""


def test_double_buffers_in_stages():
    """A state of 4 kB and more has two buffers, which a function of its own distinguishes."""
    layers = ROTATING.format(k=0, given="x") + "\n" + ROTATING.format(k=1, given="y0")
    text = f"""<ir_version: 10, opset_import: ["" : 22]>
    g (float[T, 1, 32] x, float[2048] start, float[32, 32] W)
        => (float[2048] w0, float[2048] w1, float[T, 1, 32] y1) {{
      none = Constant <value_ints = [0]> ()
      one = Constant <value_ints = [1]> ()
      some = Constant <value_ints = [32]> ()
      all = Constant <value_ints = [2048]> ()
      {layers}
    }}"""
    made = session(text, 2)
    given = {"start": np.linspace(0, 1, 2048, dtype=np.float32),
             "W": np.linspace(-1, 1, 1024, dtype=np.float32).reshape(32, 32)}  # fmt: skip
    for steps in (70, 71):
        given["x"] = np.linspace(0, 1, steps * 32, dtype=np.float32).reshape(steps, 1, 32)
        assert bits(made, given) == bits(session(text, 1), given)
    assert stages(made) == 2
    assert "double buffer" in made.explain("schedule")


IN_A_LOOP = """<ir_version: 10, opset_import: ["" : 22]>
  g (float[T, 1, 32] x, float[1, 32] start, float[32, 32] W, int64 times)
      => (float[1, 32] last, float[times, T, 1, 32] all) {
    zero = Sub (start, start)
    last, all = Loop <body = again
        (int64 t, bool go, float[1, 32] a) => (bool on, float[1, 32] b, float[T, 1, 32] z) {
      on = Identity (go)
      h, y = Scan <num_scan_inputs = 1, body = first
        (float[1, 32] h0, float[1, 32] xt) => (float[1, 32] h1, float[1, 32] yt) {
          moved = MatMul (h0, W)
          both = Add (moved, xt)
          sum = Add (both, a)
          h1 = Tanh (sum)
          yt = Identity (h1)
        }> (zero, x)
      b = Sin (a)
      k, z = Scan <num_scan_inputs = 1, body = second
        (float[1, 32] k0, float[1, 32] kt) => (float[1, 32] k1, float[1, 32] zt) {
          moved = MatMul (k0, W)
          both = Add (moved, kt)
          sum = Add (both, b)
          k1 = Tanh (sum)
          zt = Identity (k1)
        }> (zero, y)
    }> (times, , start)
  }"""


@pytest.mark.parametrize("times", [0, 1, 3])
def test_what_a_stage_reads_is_not_overwritten_between_the_loops(times, rng):
    """b takes the memory of a only after the first loop has read a."""
    given = {"x": rng.normal(size=(70, 1, 32)), "start": rng.normal(size=(1, 32)),
             "W": rng.normal(size=(32, 32)) / 6}  # fmt: skip
    given = {name: array.astype(np.float32) for name, array in given.items()}
    given["times"] = np.int64(times)
    made = session(IN_A_LOOP, 2)
    assert bits(made, given) == bits(session(IN_A_LOOP, 1), given)
    assert stages(made) == 2
    wanted = treadle.InferenceSession(IN_A_LOOP, engines=("interp",)).run(None, given)
    for found, array in zip(made.run(None, given), wanted, strict=True):
        np.testing.assert_allclose(found, array, rtol=1e-4, atol=1e-5)


FAILING = model("Loops", SIZE, 2).replace(
    "on = Identity (go)", "on = Identity (go)\n twice = Mul (t, two)\n bad = Gather (B0, twice)"
).replace("fed = MatMul", "fed0 = Add (xt, bad)\n fed = MatMul").replace(
    "zeroth = Constant", "two = Constant <value = int64 {2}> ()\n zeroth = Constant"
).replace("MatMul (xt", "MatMul (fed0")  # fmt: skip


def test_an_index_out_of_range_is_the_error_of_one_thread():
    said = []
    for threads in (1, 3):
        with pytest.raises(RunError) as raised:
            session(FAILING, threads).run(None, feed(SIZE, 100, 2))
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert "iteration 32" in said[0]


LONG = 10**6


def test_a_limit_of_seconds_ends_a_pipeline():
    made, given = session(model("Scans", SIZE, 2), 2), feed(SIZE, 10, 2)
    wanted = bits(made, given)
    with pytest.raises(RunError):
        made.run(None, feed(SIZE, LONG, 2), treadle.RunOptions(max_seconds=0.05))
    assert bits(made, given) == wanted


def test_an_interrupt_ends_a_pipeline():
    made, given = session(model("Scans", SIZE, 2), 2), feed(SIZE, LONG, 2)
    short = feed(SIZE, 10, 2)
    wanted = bits(made, short)
    gc.collect()  # Python drops a KeyboardInterrupt that is raised in a finalizer
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        made.run(None, given)
    timer.join()
    assert bits(made, short) == wanted


def test_threads_that_come_late_or_never_are_not_waited_for(monkeypatch):
    monkeypatch.setattr(thread_pool.POOL_SETTINGS, "waits", False)
    made, given = session(model("Scans", SIZE, 3), 3), feed(SIZE, 200, 3)
    wanted = bits(made, given)
    with ThreadPoolExecutor(4) as pool:
        works = [pool.submit(bits, made, given) for _ in range(40)]
        assert all(work.result(60) == wanted for work in works)


def test_explain_names_the_pipeline():
    made = session(model("Scans", SIZE, 2), 2)
    made.run(None, feed(SIZE, 10, 2))
    assert "stacked loops in a pipeline" in made.explain()
    assert "pipeline: stage 2 of 2" in made.explain("schedule")
