"""Simplified models have the outputs of the original, on interp and where onnxruntime was right."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime.capi.onnxruntime_pybind11_state as states
import pytest

import treadle
from tests.conformance.data import EXPORTED, edges, exported
from tests.conformance.test_control_flow import LITERAL, RUNS_ALL_THE_SAME, WITH_VALUES, WRONG
from tests.conformance.test_exporters import OUT_OF_RANGE
from tests.passes.simplify.models import run_by_onnxruntime, saved
from tests.runners.engines import REFUSALS, session
from tests.values import assert_same
from treadle.errors import TreadleError
from treadle.formats import read
from treadle.passes import simplify

RUN = [n for n in EXPORTED if n != OUT_OF_RANGE and f"exporters/{n}" not in REFUSALS["interp"]]


def _is_error(each) -> bool:
    return isinstance(each, type) and issubclass(each, Exception)


_ITS_ERRORS = (
    RuntimeError,
    ValueError,
    *(each for each in vars(states).values() if _is_error(each)),
)


def agrees(found, wanted, names) -> bool:
    try:
        assert_same(found, wanted, names)
    except AssertionError:
        return False
    return True


def by_onnxruntime(data, feeds):
    """What onnxruntime gives, None where it refuses or fails."""
    try:
        return run_by_onnxruntime(data, feeds)
    except _ITS_ERRORS:
        return None


@pytest.mark.parametrize("name", WITH_VALUES)
def test_a_simplified_edge_case_gives_the_same(name):
    edge = edges()[name]
    model = treadle.optimize(edge.source)
    options = {"omitted_condition": "ignore"} if name in LITERAL else {}
    prepared = session(model, "interp", **options)
    names = [value.name for value in prepared.get_outputs()]
    feeds = dict(zip((v.name for v in prepared.get_inputs()), edge.inputs, strict=True))
    assert_same(prepared.run(None, feeds), edge.expect, names)
    before = by_onnxruntime(saved(treadle.load(edge.source)), feeds)
    if before is not None and agrees(before, edge.expect, names):
        assert_same(by_onnxruntime(saved(model), feeds), edge.expect, names)


@pytest.mark.parametrize("name", [name for name in WRONG if name not in RUNS_ALL_THE_SAME])
def test_a_simplified_invalid_model_still_raises(name):
    edge = edges()[name]
    model, findings = read(edge.source)
    if model is None or any(found.blocks for found in findings):
        return
    names = [value.name for value in model.main.params]
    feeds = dict(zip(names, edge.inputs, strict=False))
    with pytest.raises(TreadleError):
        session(simplify(model)[0], "interp").run(None, feeds)


@pytest.mark.parametrize("name", RUN)
def test_a_simplified_exporter_model_gives_the_same(name):
    path, inputs, wanted = exported(name)
    model = treadle.optimize(path)
    found = session(model, "interp").run(list(wanted), dict(inputs))
    assert_same(found, list(wanted.values()), list(wanted))
    names = [value.name for value in model.main.results]
    before = by_onnxruntime(path.read_bytes(), inputs)
    expected = [np.asarray(wanted[each]) for each in names if each in wanted]
    if before is not None and len(expected) == len(names) and agrees(before, expected, names):
        data = saved(model)
        onnx.checker.check_model(data)
        assert_same(by_onnxruntime(data, inputs), expected, names)


@pytest.mark.parametrize("name", EXPORTED)
def test_simplifying_twice_changes_nothing(name):
    path, *_ = exported(name)
    model = treadle.optimize(path)
    assert str(simplify(model)[1]) == ""
    assert str(simplify(treadle.load(saved(model)))[1]) == ""
