"""Errors that leave a public function: treadle's, the caller's own, and InternalError for bugs."""

import numpy as np
import pytest

import treadle
from treadle import checks, execution, formats, passes
from treadle.errors import InternalError

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float x) => (y) { y = Neg (x) }"""
FEED = {"x": np.float32(1)}


def broken(*_, **__):
    raise IndexError("no such place")


def a_session():
    return treadle.InferenceSession(TEXT, engines=("interp",))


def a_run():
    a_session().run(None, FEED, treadle.RunOptions(max_seconds=9))


CASES = {
    "load": (formats, "read", lambda: treadle.load(TEXT)),
    "check": (checks, "check", lambda: treadle.check(TEXT)),
    "optimize": (passes, "simplify", lambda: treadle.optimize(TEXT)),
    "repair": (passes, "repair", lambda: treadle.repair(TEXT)),
    "InferenceSession": (passes, "prepare", a_session),
    "InferenceSession.run": (execution.Program, "__call__", a_run),
}


@pytest.mark.parametrize(("name", "case"), CASES.items(), ids=CASES)
def test_a_bug_is_an_internal_error_that_names_the_function(name, case, monkeypatch):
    room, function, call = case
    monkeypatch.setattr(room, function, broken)
    with pytest.raises(IndexError, match=r"^no such place$"):
        call()
    monkeypatch.delenv("TREADLE_DEBUG")
    told = rf"^{name}\w* failed inside treadle.*no such place \(in .*report.*treadle .*onnx"
    with pytest.raises(InternalError, match=told) as caught:
        call()
    assert isinstance(caught.value.__cause__, IndexError)


def test_memory_errors_pass(monkeypatch):
    def empty(*_, **__):
        raise MemoryError

    monkeypatch.delenv("TREADLE_DEBUG")
    monkeypatch.setattr(formats, "read", empty)
    with pytest.raises(MemoryError):
        treadle.load(TEXT)


def test_errors_of_a_listener_pass(monkeypatch):
    def listener(event):
        raise LookupError("the caller's own")

    monkeypatch.delenv("TREADLE_DEBUG")
    with pytest.raises(LookupError, match="the caller's own"):
        treadle.InferenceSession(TEXT, listener=listener)
    with pytest.raises(LookupError, match="the caller's own"):
        a_session().run(None, FEED, listener=listener)


def test_an_interrupt_that_an_import_turned_into_an_error_is_one(monkeypatch):
    def interrupted(*_, **__):
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setenv("TREADLE_DEBUG", "")
    monkeypatch.setattr(formats, "read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        treadle.load(TEXT)


def test_a_bug_is_told_where_no_file_can_be_opened(monkeypatch):
    from importlib import metadata

    def refuse(_name):
        raise OSError(24, "Too many open files")

    def fail(*_args, **_options):
        raise AssertionError("a bug")

    monkeypatch.delenv("TREADLE_DEBUG", raising=False)
    monkeypatch.setattr(metadata, "version", refuse)
    monkeypatch.setattr(formats, "read", fail)
    with pytest.raises(InternalError, match=r"treadle \?, numpy \?"):
        treadle.load("m.onnx")


def test_what_is_nested_too_deeply_for_python_exceeds_the_depth(monkeypatch):
    functions = "".join(
        f"""<domain: "local", opset_import: ["" : 21, "local" : 1]> f{k} (a) => (c) {{
            c = {f"local.f{k + 1}" if k < 600 else "Relu"} (a) }}"""
        for k in range(601)
    )
    text = f"""<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[2] x) => (float[2] y) {{ y = local.f0 (x) }} {functions}"""
    for debugging in ("", "1"):
        monkeypatch.setenv("TREADLE_DEBUG", debugging)
        with pytest.raises(
            treadle.LoadLimitExceeded, match=r"nested too deeply .*LoadLimits\.depth"
        ):
            treadle.infer(text, limits=treadle.LoadLimits(depth=None))


def test_a_recursion_error_of_the_caller_passes(monkeypatch):
    def listener(_event):
        raise RecursionError("the caller's own")

    monkeypatch.delenv("TREADLE_DEBUG")
    with pytest.raises(RecursionError, match="the caller's own"):
        a_session().run(None, FEED, listener=listener)
