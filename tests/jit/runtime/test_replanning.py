"""A loop that native code declines at run time is planned again without it, once."""

from __future__ import annotations

import threading

import numpy as np

import treadle
from tests.jit.native import HEAD, natives
from tests.values import assert_same
from treadle.jit.kernel.declined import Declined
from treadle.jit.runtime import kernel_cache

START = 'start = Einsum <equation = "ij,jk->ik"> (p, p)'
MODEL = """g (int64 n, float[2,2] p) => (float[2,2] y) {
  start = Einsum <equation = "ij,jk->ik"> (p, p)
  last = Loop (n, , start) <body = f (int64 i, bool go, float[2,2] x) => (bool on,
    float[2,2] x1) {
    on = Identity (go)
    x1 = Cos (x)
  }>
  y = Einsum <equation = "ij,jk->ik"> (last, p)
}"""
FEED = {"n": np.array(3), "p": np.eye(2, dtype=np.float32)}
ALL = ("jit", "onnxruntime", "interp")


def refusing(monkeypatch, is_refused=lambda region: True):
    """Native code that is declined for such regions; gives the list of tries."""
    tries: list[int] = []
    whole = kernel_cache.compile_kernel

    def compile_kernel(compiler, *given):
        tries.append(len(compiler.region.steps))
        if is_refused(compiler.region):
            raise Declined("for a test")
        return whole(compiler, *given)

    monkeypatch.setattr(kernel_cache, "compile_kernel", compile_kernel)
    return tries


def engines_of(session):
    return [region.engine for region in session.plan.main.regions]


def test_the_next_run_is_one_region_of_the_next_engine(monkeypatch):
    tries = refusing(monkeypatch)
    session = treadle.InferenceSession(HEAD + MODEL, engines=ALL)
    assert engines_of(session) == ["onnxruntime", "jit", "onnxruntime"]
    first = session.run(None, FEED)
    assert engines_of(session) == ["onnxruntime"]
    assert_same(session.run(None, FEED), first, ["y"])
    assert tries == [1]


def test_explain_gives_the_reason_of_the_decline(monkeypatch):
    refusing(monkeypatch)
    session = treadle.InferenceSession(HEAD + MODEL, engines=("jit", "interp"))
    session.run(None, FEED)
    assert "for a test" in session.explain()


def test_a_kernel_for_other_data_keeps_the_loop(monkeypatch):
    session = treadle.InferenceSession(HEAD + MODEL.replace("2,2", "K,K"), engines=ALL)
    session.run(None, FEED)
    refusing(monkeypatch)
    session.run(None, {**FEED, "p": np.eye(3, dtype=np.float32)})
    assert "jit" in engines_of(session)


def test_companions_are_dropped_first(monkeypatch):
    tries = refusing(monkeypatch, lambda region: len(region.steps) > 1)
    text = MODEL.replace(START, "start = Tanh (p)")
    session = treadle.InferenceSession(HEAD + text, engines=ALL)
    first = session.run(None, FEED)
    assert_same(session.run(None, FEED), first, ["y"])
    assert engines_of(session).count("jit") == 1
    assert tries == [2, 1, 1]  # together, then alone, then in the new plan


def test_a_run_that_is_bounded_or_watched_has_its_own_plan(monkeypatch):
    refusing(monkeypatch)
    session = treadle.InferenceSession(HEAD + MODEL, engines=ALL)
    for _ in range(2):
        session.run(None, FEED, treadle.RunOptions(max_seconds=9))
        session.run(None, FEED, treadle.RunOptions(max_iterations=9))
        session.run(None, FEED, listener=treadle.Recorder())
    assert engines_of(session) == ["onnxruntime"]


def test_threads_that_replan_at_once(monkeypatch):
    count = 8
    refusing(monkeypatch)
    session = treadle.InferenceSession(HEAD + MODEL, engines=ALL)
    found: list = [None] * count

    def run(number):
        found[number] = session.run(None, FEED)[0]

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.allclose(each, found[0]) for each in found)
    assert engines_of(session) == ["onnxruntime"]


def test_a_decline_is_decided_while_no_kernel_is_compiled(monkeypatch):
    """The kernels are looked through: a thread that adds one meanwhile would end that in error."""
    refusing(monkeypatch)
    session = treadle.InferenceSession(
        HEAD + MODEL.replace("2,2", "K,K"), engines=("jit", "interp")
    )
    (native,) = natives(session)

    class Looked(dict):
        def values(self):
            assert native.cache.lock.locked()
            return super().values()

    native.cache.compiled = Looked()
    session.run(None, FEED)
    assert native.cache.compiled
