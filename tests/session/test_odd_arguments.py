"""Arguments of every wrong kind, to public functions, options and runs: treadle's errors alone.

The tests run with TREADLE_DEBUG=1, so a bug inside leaves as it is.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import pathlib
import warnings

import ml_dtypes
import numpy as np
import pytest

import treadle

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n] x, int64 k) => (float[n] y) {
  y = Loop (k, , x) <body = b (int64 i, bool c, float[n] a) => (bool d, float[n] e) {
    d = Identity(c)
    e = Add(a, x)
  }>
}"""
PLAIN = """<ir_version: 10, opset_import: ["" : 21]>
g (float x) => (float y) { y = Neg (x) }"""
FEEDS = {"x": np.ones(2, np.float32), "k": np.array(2)}
ALLOWED = (treadle.TreadleError, MemoryError)


class Text(str):
    __slots__ = ()


class NoArray:
    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise ZeroDivisionError


class NoLength:
    def __len__(self) -> int:
        return -1

    def __getitem__(self, _: object) -> object:
        return self


def odd() -> dict[str, object]:
    endless: list[object] = []
    endless.append(endless)
    return {
        "None": None, "True": True, "0": 0, "-1": -1, "2**70": 2**70, "nan": float("nan"),
        "inf": float("inf"), "1.5": 1.5, "empty text": "", "NUL": "x\0y", "surrogate": "a\ud800",
        "no bytes": b"", "bytes": b"\xff\0\x01", "list": [], "dict": {}, "tuple": (),
        "object": object(), "generator": (k for k in range(3)), "set": {1}, "class": int,
        "function": lambda *_: 1 / 0, "endless": endless, "range": range(3), "text": Text("x"),
        "deep": functools.reduce(lambda inner, _: [inner], range(3000), []),
        "ragged": [[1, 2], [3]], "mixed list": [None, "x", 1], "mixed dict": {1: 2, None: "x"},
        "dict of objects": {"x": np.array([object()], object)}, "view": memoryview(b"abc"),
        "path": pathlib.Path("/nonexistent/x.onnx"), "NUL path": pathlib.Path("x\0y"),
        "folder": "/", "device": "/dev/null", "no array": NoArray(), "no length": NoLength(),
        "0-d": np.array(3), "objects": np.array([1, "a", None], object),
        "no elements": np.zeros((0, 3), np.float32),
        "stride 0": np.broadcast_to(np.float32(0), (2**46,)),
        "matrix of stride 0": np.broadcast_to(np.float64(0), (2**23, 2**23)),
        "reversed": np.arange(6, dtype=np.float32)[::-1], "big endian": np.arange(3).astype(">f4"),
        "structured": np.zeros(2, [("a", "i4"), ("b", "f4")]), "void": np.zeros(2, "V5"),
        "records": np.rec.array([(1, 2.0)]), "masked": np.ma.array([1.0, 2.0], mask=[0, 1]),
        "float16": np.ones(2, np.float16), "bfloat16": np.ones(2, ml_dtypes.bfloat16),
        "int4": np.zeros(2, ml_dtypes.int4), "longdouble": np.ones(2, np.longdouble),
        "complex": np.ones(2, complex), "dates": np.array(["2020-01-01"], "M8[D]"),
        "array of text": np.array(["a\0b", "\ud800"]), "array of bytes": np.array([b"\xff"]),
        "text objects": np.array(["a\0b", "\ud800", 3], object),
    }  # fmt: skip


def survive(call, *given: object, **named: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(*ALLOWED):
            call(*given, **named)


FUNCTIONS = (
    "check", "infer", "load", "optimize", "repair", "save", "operator", "unroll", "reroll",
    "rewrite", "specialize", "convert_dtype", "convert_version", "expose", "set_seed",
    "set_default_logger_severity", "InferenceSession", "LoadLimits", "Predictor", "Recorder",
    "Progress", "RunOptions", "SessionOptions",
)  # fmt: skip
GOOD = {
    "path": "m.onnx", "dtype": "float16", "opset": 21, "values": "*", "seed": 1, "severity": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_public_function(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function = getattr(treadle, name)
    parameters = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    needed = [each.name for each in parameters if each.default is each.empty]
    for parameter in parameters:
        for value in odd().values():
            given = {each: GOOD.get(each, PLAIN) for each in needed}
            survive(function, **{**given, parameter.name: value})
    treadle.set_default_logger_severity(4)


TYPES = (
    "float[n]", "int64[n]", "string[n]", "bool", "bfloat16[n]", "uint4[n]", "complex64[n]",
    "seq(float[n])", "optional(float[n])",
)  # fmt: skip


@pytest.mark.parametrize("type_", TYPES)
def test_every_kind_of_input(type_):
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
    g ({type_} x) => ({type_} y) {{ y = Identity (x) }}"""
    session = treadle.InferenceSession(text)
    for value in odd().values():
        survive(session.run, None, {"x": value})
        survive(session.run, None, {"x": [value]})


def test_the_arguments_of_a_run():
    session = treadle.InferenceSession(TEXT)
    bounded = treadle.RunOptions(max_seconds=1, max_iterations=20)
    for value in odd().values():
        survive(session.run, None, value)
        survive(session.run, value, FEEDS)
        survive(session.run, [value], FEEDS)
        survive(session.run, None, FEEDS, value)
        survive(session.run, None, {**FEEDS, "k": value}, bounded)
        survive(session.run_with_ort_values, None, value)
        survive(session.explain, value)
        survive(session.set_providers, value)
        survive(session.output_type, value)


def setting(options: type, name: str, use) -> None:
    for value in odd().values():
        given = options()
        try:
            setattr(given, name, value)
        except ALLOWED:
            continue
        survive(use, given)


def fields(options: type) -> list[str]:
    made = options()
    names = [
        name for name in dir(made) if name[0] != "_" and not callable(getattr(made, name, int))
    ]
    return [name for name in names if not isinstance(getattr(options, name, None), property)]


def test_the_fields_of_run_options():
    session = treadle.InferenceSession(PLAIN)
    for name in fields(treadle.RunOptions):
        setting(
            treadle.RunOptions,
            name,
            lambda given: session.run(None, {"x": np.float32(1)}, given),
        )


def test_the_fields_of_session_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in fields(treadle.SessionOptions):
        if not name.startswith(("log", "enable_profiling")):  # onnxruntime writes to stderr
            setting(
                treadle.SessionOptions,
                name,
                lambda given: treadle.InferenceSession(PLAIN, given, engines=["interp"]),
            )


@pytest.mark.parametrize("op", ["Add", "Reshape", "TopK", "Cast", "StringConcat", "Loop"])
def test_the_operands_of_an_operator(op):
    for value in odd().values():
        survive(lambda v: treadle.operator(op)(v, v), value)
        survive(lambda v: treadle.operator(op, axis=v, to=v)(np.ones(2), np.array([0])), value)


@pytest.mark.parametrize("kind", [treadle.SessionOptions, treadle.RunOptions])
def test_options_whose_constructor_did_not_end_have_a_repr(kind):
    half = kind.__new__(kind)
    assert repr(half) == f"{kind.__name__}()"
    half.logid = "a"
    assert repr(half) == f"{kind.__name__}(logid='a')"
    whole = repr(kind())
    assert all(name + "=" in whole for name in ("log_severity_level", "logid"))
