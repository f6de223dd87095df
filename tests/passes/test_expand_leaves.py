"""Operators that a runtime lacks are replaced by their definition."""

import numpy as np
import pytest

from tests.passes.models import load, run
from treadle.formats import schema_function
from treadle.ir import Leaf, Model, walk
from treadle.passes import decompose_ops

CELU = """g (float[3] x) => (float[3] y) {
    z = Celu <alpha = 2.0> (x)
    y = Neg (z)
}"""
IN_A_LOOP = """g (int64 n, float[3] x) => (float[3] y) {
    y = Loop (n, "", x) <body = b (int64 i, bool c, float[3] v) => (bool c, float[3] w) {
        w = Celu (v) }>
}"""
UNDEFINED = """g (float[3] x) => (float[3] y) { y = Erf (x) }"""


def _operators(model: Model) -> set[str]:
    return {visit.step.op for visit in walk(model) if isinstance(visit.step, Leaf)}


def _expanded(model: Model, *lacking: str) -> Model:
    def expand(step, types):
        return schema_function(step, types, model.opsets)

    return decompose_ops(model, expand, lambda leaf: leaf.op in lacking)


@pytest.mark.parametrize("source", [CELU, IN_A_LOOP])
def test_a_definition_takes_the_place_of_a_leaf(source: str) -> None:
    model = load(source)
    expanded = _expanded(model, "Celu")
    assert "Celu" not in _operators(expanded)
    x = np.array([-2, 0.5, 3], np.float32)
    feeds = (np.array(3), x) if source is IN_A_LOOP else (x,)
    for one, two in zip(run(expanded, *feeds), run(model, *feeds), strict=True):
        np.testing.assert_allclose(one, two, 1e-6)


def test_operators_in_a_definition_are_expanded_too() -> None:
    expanded = _expanded(load(CELU), "Celu", "Elu")
    assert not {"Celu", "Elu"} & _operators(expanded)


def test_a_model_without_missing_operators_is_returned() -> None:
    model = load(CELU)
    assert _expanded(model, "Gelu") is model


def test_operators_without_a_definition_are_declined() -> None:
    model = load(UNDEFINED)
    assert _expanded(model, "Erf") is model
