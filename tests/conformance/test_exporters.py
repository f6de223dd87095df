"""Models from torch, jax, scikit-learn and onnxscript give what their exporters' graphs compute."""

from __future__ import annotations

import pytest

import treadle
from tests.conformance.data import EXPORTED, exported
from tests.runners.engines import ENGINES, REFUSALS, session
from tests.values import assert_same
from treadle.errors import TreadleError
from treadle.ir import DType

EXPORTER_TOLERANCES = {DType.FLOAT64: (2e-5, 2e-6)}

OUT_OF_RANGE = "skl_radius_clf"
"""Holds an index of -1 that the standard does not allow; its outputs are the source framework's."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in EXPORTED if name != OUT_OF_RANGE])
def test_the_outputs_are_those_of_the_exported_graph(name, engine):
    path, inputs, wanted = exported(name)
    if f"exporters/{name}" in REFUSALS[engine]:
        with pytest.raises(TreadleError) as caught:
            session(path, engine).run(None, dict(inputs))
        assert str(caught.value)
        return
    found = session(path, engine).run(list(wanted), dict(inputs))
    assert_same(found, list(wanted.values()), list(wanted))


@pytest.mark.parametrize("name", EXPORTED)
def test_check_finds_no_error(name):
    path, *_ = exported(name)
    errors = [f for f in treadle.check(path) if f.severity == "error"]
    assert {f.code for f in errors} <= {"CF103"}, errors


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_out_of_range_is_read_as_the_exporter_meant(engine):
    path, inputs, wanted = exported(OUT_OF_RANGE)
    found = session(path, engine).run(list(wanted), dict(inputs))
    for value, meant in zip(found, wanted.values(), strict=True):
        assert_same([value.astype(meant.dtype)], [meant], [OUT_OF_RANGE], EXPORTER_TOLERANCES)
