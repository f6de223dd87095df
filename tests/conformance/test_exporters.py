"""Models from torch, jax, scikit-learn and onnxscript give what their exporters' graphs compute."""

from __future__ import annotations

import pytest

import treadle
from tests.conformance.data import EXPORTED, exported
from tests.runners.engines import ENGINES, REFUSALS, session
from tests.values import assert_same
from treadle.errors import TreadleError


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EXPORTED)
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
