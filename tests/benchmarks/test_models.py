"""Every model of the suite gives the reference's answer in every column."""

from __future__ import annotations

import warnings

import pytest

import treadle
from benchmarks import columns, native
from benchmarks.models import BENCHMARKS
from benchmarks.registry import Benchmark

MODELS = pytest.mark.parametrize("made", BENCHMARKS.values(), ids=BENCHMARKS)
ENGINES = [("interp",), columns.ENGINES]


@pytest.mark.parametrize("engines", ENGINES, ids=lambda engines: engines[0])
@MODELS
def test_a_small_model_gives_the_answer_of_its_reference(made: Benchmark, engines: tuple[str, ...]):
    instance = made.make(made.small)
    wanted = instance.reference(**instance.feed)
    found = treadle.InferenceSession(instance.model, engines=engines).run(None, instance.feed)
    assert columns.fault(made, found, wanted) == ""


@MODELS
def test_onnxruntime_gives_it(made: Benchmark):
    instance = made.make(made.small)
    found = columns.onnxruntime_call(instance, 1)()
    assert columns.fault(made, found, instance.reference(**instance.feed)) == ""


@pytest.mark.skipif(native.compiler() is None, reason="no gcc")
@pytest.mark.parametrize(
    "made", [b for b in BENCHMARKS.values() if native.has_twin(b)], ids=lambda made: made.name
)
def test_c_gives_it(made: Benchmark):
    instance = made.make(made.small)
    wanted = instance.reference(**instance.feed)
    assert columns.fault(made, native.prepare(made, instance, wanted)(), wanted) == ""


@MODELS
def test_jax_gives_it(made: Benchmark):
    pytest.importorskip("jax")
    instance = made.make(made.small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = columns.jax_call(made, instance)
        if call is None:
            pytest.skip("not written in JAX")
        assert columns.fault(made, call(), instance.reference(**instance.feed)) == ""
