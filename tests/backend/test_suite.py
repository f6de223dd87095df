"""onnx's backend suite through `treadle.backend`, on the default engines."""

from __future__ import annotations

import unittest

import numpy as np
import pytest
from onnx.backend.test import BackendTest

import treadle.backend
from tests.backend import suite
from tests.values import assert_same
from treadle.errors import TreadleError

DRAWN = "its result is drawn at random, and the expected one with a generator nobody can name"
NOT_PASSING = {
    "test_bernoulli": DRAWN,
    "test_bernoulli_double": DRAWN,
    "test_bernoulli_seed": DRAWN,
    "test_bernoulli_expanded": DRAWN,
    "test_bernoulli_double_expanded": DRAWN,
    "test_bernoulli_seed_expanded": DRAWN,
    "test_attention_4d_causal_fp16": "onnxruntime rounds one of 192 float16 numbers the other way",
    "simple/test_gradient_of_add": "Gradient is training, and no runtime has it",
    "simple/test_gradient_of_add_and_mul": "Gradient is training, and no runtime has it",
}
"""Cases of the suite that do not pass, each with its reason; at most eight of one node."""

WITH_CONTROL_FLOW = [n for n, s in suite.node_samples().items() if s.has_control_flow]


def run(sample):
    prepared = treadle.backend.prepare(sample.model)
    names = [value.name for value in sample.model.graph.output]
    for feed in sample.feeds:
        found = prepared.run(feed.inputs)
        assert_same(found, feed.outputs, names, sample.tolerances)


def run_or_know_why(name, sample):
    if name.startswith("test_image_decoder"):
        pytest.importorskip("PIL", reason="images are decoded by Pillow, of the test extra")
    if name not in NOT_PASSING:
        run(sample)
    elif NOT_PASSING[name] is DRAWN:
        check_drawn(sample)
    else:
        with pytest.raises((AssertionError, TreadleError)):
            run(sample)


def check_drawn(sample):
    """As often as chance allows it is the expected one; it always has its dtype and shape."""
    (found,), (wanted,) = (
        treadle.backend.prepare(sample.model).run(sample.feeds[0].inputs),
        sample.feeds[0].outputs,
    )
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert set(found.ravel().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("name", suite.node_samples())
def test_node_cases_of_the_suite(name):
    run_or_know_why(name, suite.node_samples()[name])


@pytest.mark.parametrize("engines", [("interp",), ("jit", "interp")], ids="-".join)
@pytest.mark.parametrize("name", WITH_CONTROL_FLOW)
def test_node_with_control_flow_without_onnxruntime(name, engines):
    sample = suite.node_samples()[name]
    prepared = treadle.backend.prepare(sample.model, engines=engines)
    names = [value.name for value in sample.model.graph.output]
    for feed in sample.feeds:
        assert_same(prepared.run(feed.inputs), feed.outputs, names, sample.tolerances)


@pytest.mark.parametrize("name", suite.folders())
def test_folders_of_the_suite(name):
    run_or_know_why(name, suite.folder_sample(suite.folders()[name]))


@pytest.mark.parametrize("name", suite.light_models())
def test_networks_of_the_suite(name):
    run(suite.light_sample(suite.light_models()[name]))


def test_the_suite_is_the_one_we_know():
    assert len(suite.node_samples()) >= 1884
    assert len(WITH_CONTROL_FLOW) >= 38
    assert len([name for name in NOT_PASSING if name in suite.node_samples()]) <= 8
    assert not set(NOT_PASSING) & set(WITH_CONTROL_FLOW)
    assert len(suite.light_models()) == 9


def test_the_official_runner_takes_the_module():
    official = BackendTest(treadle.backend, __name__)
    for name in ("loop11", "if", "scan9_sum", "range_int32_type_negative_delta_expanded"):
        official.include(f"^test_{name}_(cpu|cuda)$")
    result = _Counted()
    official.test_suite.run(result)
    assert (result.passed, result.errors, result.failures) == (4, [], [])


class _Counted(unittest.TestResult):
    """Counts what passes: whether `testsRun` has skipped tests depends on the release of Python."""

    passed = 0

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.passed += 1


def test_scalars_of_lists_are_distinguished():
    sample = suite.node_samples()["test_loop16_seq_none"]
    (wanted,) = sample.feeds[0].outputs
    with pytest.raises(AssertionError, match=r"\[0\]"):
        assert_same([[np.float32(1), *wanted[1:]]], [wanted], ["seq_res"])
