"""The models of docs/optimizing.md: optimized, each has fewer steps and the same outputs."""

from __future__ import annotations

import pytest

import treadle
from benchmarks.alternatives import branches, compared, items
from benchmarks.optimize import measured, selective_scan, table, wasteful
from tests.conformance.data import exported
from treadle.ir import show_model

GONE = [
    "loop-invariant steps hoisted",
    "invariant carried values",
    "sequences converted to stacked outputs",
    "growing concats converted to stacked outputs",
    "scatters of rows converted to stacked outputs",
    "loops converted to Scan",
]


@pytest.mark.parametrize(
    ("model", "pass_"), [(each, name) for each, name in zip(wasteful(), GONE, strict=True)]
)
def test_a_wasteful_model_is_measured_without_its_waste(model, pass_):
    title, text, feeds = model
    assert pass_ in treadle.optimize(text, with_report=True)[1].counts
    row = measured(title, treadle.load(text), feeds, 0.0)
    assert title in table([row], [row, row])


def test_an_exporters_scan_loses_its_slices():
    model = treadle.load(exported("torch_script_mamba_256x16")[0])
    assert "Slice" in show_model(model)
    assert "Slice" not in show_model(treadle.optimize(model))
    measured("scan", model, selective_scan(5), 0.0)


@pytest.mark.parametrize("forms", [items(2, 4), branches(0, 4), branches(1, 1), branches(3, 4)])
def test_two_forms_of_a_loop_give_the_same(forms):
    assert compared("forms", *forms, 0.0).ratio > 0
