"""Random programs: engines agree, files round-trip, and checks find nothing."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from hypothesis import given

import treadle
from tests.formats.onnx.normal import normal
from tests.jit.fences import fenced
from tests.runners.engines import session
from tests.strategies import programs
from tests.values import assert_same
from treadle.passes import simplify


def run(source, feeds, engine="interp"):
    prepared = session(source, engine)
    names = [value.name for value in prepared.get_outputs()]
    return names, prepared.run(None, dict(feeds))


def run_by_onnxruntime(text, feeds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    data = text
    if isinstance(text, str):
        data = onnx.parser.parse_model(text).SerializeToString()
    prepared = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in prepared.run(None, dict(feeds))]


@given(programs(onnxruntime_is_right=True))
def test_interp_agrees_with_onnxruntime(program):
    names, found = run(program.text, program.feeds)
    assert_same(found, run_by_onnxruntime(program.text, program.feeds), names)


@given(programs())
def test_the_default_engines_agree_with_interp(program):
    names, wanted = run(program.text, program.feeds)
    _, found = run(program.text, program.feeds, "default")
    assert_same(found, wanted, names)


@given(programs())
def test_native_code_agrees_with_interp(program):
    names, wanted = run(program.text, program.feeds)
    _, found = run(program.text, program.feeds, "jit")
    assert_same(found, wanted, names)


@given(programs(grows=True))
def test_native_code_agrees_with_interp_on_dynamic_shapes(program):
    names, wanted = run(program.text, program.feeds)
    with fenced():
        _, found = run(program.text, program.feeds, "jit")
    assert_same(found, wanted, names)


@given(programs())
def test_a_saved_program_is_the_same(program):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.onnx"
        treadle.save(treadle.load(program.text), path)
        assert normal(onnx.load(path)) == normal(onnx.parser.parse_model(program.text))
        names, found = run(path, program.feeds)
    _, wanted = run(program.text, program.feeds)
    assert_same(found, wanted, names)


@given(programs())
def test_a_simplified_program_gives_the_same_and_simplifies_no_further(program):
    names, wanted = run(program.text, program.feeds)
    better, _ = simplify(treadle.load(program.text))
    assert_same(run(better, program.feeds)[1], wanted, names)
    assert str(simplify(better)[1]) == ""


@given(programs(grows=True))
def test_a_simplified_program_of_sequences_gives_the_same_and_simplifies_no_further(program):
    names, wanted = run(program.text, program.feeds)
    better, _ = simplify(treadle.load(program.text))
    assert_same(run(better, program.feeds)[1], wanted, names)
    assert str(simplify(better)[1]) == ""


@given(programs(onnxruntime_is_right=True))
def test_onnxruntime_gives_the_same_for_a_simplified_program(program):
    names, wanted = run(program.text, program.feeds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "better.onnx"
        treadle.save(treadle.optimize(program.text), path)
        onnx.checker.check_model(path, full_check=True)
        assert_same(run_by_onnxruntime(path.read_bytes(), program.feeds), wanted, names)


@given(programs(onnxruntime_is_right=True))
def test_an_unrolled_program_is_the_same_or_is_refused(program):
    try:
        straight = treadle.unroll(program.text, most=6)
    except treadle.Unsupported:
        return
    names, wanted = run(program.text, program.feeds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "straight.onnx"
        treadle.save(straight, path)
        onnx.checker.check_model(path, full_check=True)
        assert_same(run(straight, program.feeds)[1], wanted, names)
        assert_same(run_by_onnxruntime(path.read_bytes(), program.feeds), wanted, names)


@given(programs())
def test_check_finds_no_error(program):
    assert [f for f in treadle.check(program.text) if f.severity == "error"] == []
