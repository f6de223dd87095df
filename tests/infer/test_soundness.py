"""Every value of every iteration has its inferred type."""

from dataclasses import replace

import numpy as np
import pytest

from tests.backend.suite import node_samples
from tests.conformance.data import EXPORTED, edges, exported
from tests.infer.models import admits, violations, watched
from treadle.errors import TreadleError
from treadle.ir import (
    Optional,
    Sequence,
    Symbol,
    Tensor,
    add_dims,
    clone_with_new_values,
    tensor,
    typed,
)
from treadle.tracing import ValueMade

RUNNING = [name for name, edge in edges().items() if edge.expect != "error"]
REFUSED = ("skl_gpc", "skl_radius_clf")


@pytest.mark.parametrize("name", RUNNING)
def test_every_value_of_an_edge_case_is_of_its_type(name):
    edge = edges()[name]
    model, events = watched(edge.source, edge.inputs)
    assert any(isinstance(event, ValueMade) for event in events)
    assert not violations(model, events)


@pytest.mark.parametrize("name", [name for name in EXPORTED if name not in REFUSED])
def test_every_value_of_an_exporters_model_is_of_its_type(name):
    path, inputs, _ = exported(name)
    model, events = watched(path, inputs)
    assert any(isinstance(event, ValueMade) for event in events)
    assert not violations(model, events)


def test_every_value_of_the_suites_control_flow_is_of_its_type():
    samples = [s for s in node_samples().values() if s.has_control_flow]
    assert len(samples) > 30
    for sample in samples:
        for feed in sample.feeds:
            assert not violations(*watched(sample.model, feed.inputs))


@pytest.mark.parametrize(
    ("type_", "value", "fits"),
    [
        (tensor("float32", 2, Symbol("N")), np.zeros((2, 5), np.float32), True),
        (tensor("float32", 2), np.zeros((3,), np.float32), False),
        (tensor("float32"), np.zeros((), np.float64), False),
        (Tensor(), np.zeros((3,)), True),
        (Sequence(tensor("int64")), [np.array(1), np.array(2)], True),
        (Sequence(tensor("int64")), [np.array([1])], False),
        (Optional(tensor("int64")), None, True),
        (tensor("int64"), None, False),
        (None, None, True),
    ],
)
def test_a_type_admits_only_its_own_values(type_, value, fits):
    assert admits(type_, value) is fits


def test_a_violation_names_the_value_and_the_iteration():
    model, events = watched(
        '<ir_version: 10, opset_import: ["" : 21]>\ng (float[2] x) => (y) { y = Relu(x) }',
        [np.zeros(2, np.float32)],
    )
    wrong = ValueMade("main", (3,), "y", np.zeros(7, np.float32))
    assert violations(model, [*events, wrong]) == ["main y (3,): float32[2] does not admit (7,)"]


def test_a_run_that_fails_raises_one_of_our_errors():
    with pytest.raises(TreadleError):
        watched(edges()["L34"].source, edges()["L34"].inputs)


@pytest.mark.parametrize("wrong", ["N+1", "trips", "iteration", "carried"])
def test_a_dim_whose_symbols_the_run_gives_another_number_is_a_violation(wrong):
    model, events = watched(
        """<ir_version: 10, opset_import: ["" : 21]>
        g (float[N] x, int64 M) => (s) {
            s = Loop <body = b (int64 i, bool c, a) => (c, d) {
                y = Relu(x) d = Concat<axis=0>(a, a) }> (M, "", x) }""",
        [np.zeros(5, np.float32), np.array(2)],
    )
    assert not violations(model, events)
    dims = {
        "N+1": add_dims(Symbol("N"), 1),
        "trips": Symbol("main/loop_0.trips"),
        "iteration": Symbol("main/loop_0.iteration"),
        "carried": add_dims(Symbol("main/loop_0:a.0"), 1),
    }

    def lie(value):
        is_one = value.name == ("s" if wrong == "trips" else "a" if wrong == "carried" else "y")
        return typed(value, tensor("float32", dims[wrong]) if is_one else value.inferred)

    assert violations(replace(model, main=clone_with_new_values(model.main, lie)), events)
