"""The benchmark of recorded models: it checks answers and reports slow models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmarks.measure import Result, measure, with_loads
from benchmarks.recorded_models import print_table
from benchmarks.subjects import subjects

SUBJECT = next(subject for subject in subjects(["exporters"]) if subject.name == "jax_cond")


def test_a_model_is_measured_on_both():
    result = measure(SUBJECT, 0.0)
    assert result.aside == ""
    assert result.onnxruntime > 0
    assert result.treadle > 0


def test_loading_is_measured_on_both(monkeypatch):
    monkeypatch.setattr("benchmarks.measure.LOADS", 1)
    result = with_loads(Result(SUBJECT.name, 1e-6, 1e-6), SUBJECT)
    assert min(result.loads) > 0
    assert result.load_ratio > 0
    assert with_loads(Result("odd", aside="why"), SUBJECT).load_ratio == 0


def test_a_wrong_answer_sets_a_model_aside():
    wrong = [np.asarray(value) + 1 for value in SUBJECT.outputs]
    assert measure(replace(SUBJECT, outputs=wrong), 0.0).aside.startswith("onnxruntime is wrong")


def test_an_output_too_few_sets_a_model_aside():
    more = [*SUBJECT.outputs, SUBJECT.outputs[0]]
    assert "outputs, not" in measure(replace(SUBJECT, outputs=more), 0.0).aside


def test_a_file_that_is_no_model_is_skipped():
    refused = measure(replace(SUBJECT, model=b"\x08"), 0.0)
    assert refused.aside.startswith("onnxruntime refuses")


def test_the_table_marks_what_is_slow(capsys):
    results = [
        Result("quick", 10e-6, 31e-6, loads=(1e-3, 3e-3)),
        Result("tardy", 10e-6, 33e-6, loads=(1e-3, 2e-3)),
        Result("odd", aside="treadle refuses: why"),
    ]
    assert [r.slow for r in results] == [False, True, False]
    print_table(results, 5)
    printed = capsys.readouterr().out
    assert printed.count("  slow\n") == 1
    assert "odd: treadle refuses: why" in printed
    assert "2 models compared, 1 slow" in printed
    assert "load and first call: 2.50 times onnxruntime's in the median" in printed
