"""A fault of the compiler: another engine answers, and a warning gives the reason."""

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, outcomes
from treadle.errors import InternalCompilerWarning
from treadle.jit import codegen, internal_errors

TEXT = """g (int64 n, float[2] p) => (float[2] y) {
  y = Loop (n, , p) <body = f (int64 i, bool go, float[2] x) => (bool on, float[2] x1) {
    on = Identity (go)
    x1 = Add (x, x)
  }>
}"""
FEED = {"n": np.array(3), "p": np.ones(2, np.float32)}


@pytest.fixture
def broken(monkeypatch):
    def emit_kernel(*_):
        raise AssertionError("no such place")

    monkeypatch.setattr(codegen, "emit_kernel", emit_kernel)


def session():
    return treadle.InferenceSession(HEAD + TEXT, engines=("jit", "interp"))


@pytest.mark.usefixtures("broken")
def test_another_engine_answers(monkeypatch):
    monkeypatch.delenv("TREADLE_DEBUG")
    monkeypatch.setattr(internal_errors, "_warned", set())
    found = session()
    with pytest.warns(
        InternalCompilerWarning, match=r"no such place.*jit/runtime/compilation.*please report"
    ):
        (y,) = found.run(None, FEED)
    session().run(None, FEED)  # told once
    assert y.tolist() == [8, 8]
    assert "a fault of the native engine itself (AssertionError: no such place)" in found.explain()


@pytest.mark.usefixtures("broken")
def test_tests_see_the_fault():
    with pytest.raises(AssertionError, match="no such place"):
        session().run(None, FEED)


def test_a_kernel_without_faults_is_compiled():
    found = session()
    found.run(None, FEED)
    assert not [why for why in outcomes(found) if isinstance(why, str)]
