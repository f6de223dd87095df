"""The case files agree with the oracles and with the schemas; no engine runs here."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import onnx
import onnx.parser
import pytest

from tests.cases.loader import FOLDER, NEWEST, VERSIONS, cases
from tests.values import assert_same, read_value, write_value

CONTROL_FLOW = ("If", "Loop", "Scan")


def _plain(value):
    """What an oracle takes: Python numbers for whole numbers and bools, arrays for the rest."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype in (np.bool_, np.int64):
        return value.item()
    return value


@pytest.mark.parametrize("name", [n for n, c in cases().items() if any(r.outputs for r in c.runs)])
def test_expected_values_are_those_of_the_oracle(name):
    folder, stem = name.split("/")
    oracle = getattr(importlib.import_module(f"tests.cases.oracles.{folder}"), stem)
    names = set(inspect.signature(oracle).parameters)
    for run in cases()[name].runs:
        if run.outputs is None:
            continue
        assert names >= set(run.inputs)
        wanted = oracle(**{k: _plain(v) for k, v in run.inputs.items()})
        assert_same(list(run.outputs.values()), _outputs(wanted), list(run.outputs))


def _outputs(given):
    return [v if v is None or isinstance(v, list) else np.asarray(v) for v in given]


@pytest.mark.parametrize("name", cases())
def test_the_text_is_a_model_with_those_inputs_and_outputs(name):
    case = cases()[name]
    model = onnx.parser.parse_model(case.model(case.opsets[-1]))
    inputs = {value.name for value in model.graph.input}
    for run in case.runs:
        assert set(run.inputs) <= inputs
        if run.outputs is not None:
            assert list(run.outputs) == [value.name for value in model.graph.output]


def test_every_version_of_the_control_flow_operators_is_run():
    known = {
        schema.since_version
        for op in CONTROL_FLOW
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.name == op and not schema.domain
    }
    assert known - {1} <= set(VERSIONS)  # version 1 is that of opset 7 and 8
    assert min(onnx.defs.onnx_opset_version(), NEWEST) == NEWEST


def test_every_oracle_has_a_case():
    for module in FOLDER.glob("oracles/*.py"):
        if module.stem == "__init__":
            continue
        oracles = vars(importlib.import_module(f"tests.cases.oracles.{module.stem}"))
        own = {n for n, f in oracles.items() if inspect.isfunction(f) and n[0] != "_"}
        own -= {"f32", "i64", "stacked", "carried_and_stacked"}
        missing = {n for n in own if f"{module.stem}/{n}" not in cases()}
        assert not missing


@pytest.mark.parametrize(
    "written",
    [
        {"float32": [[1.5, 2.0]]},
        {"int64": 3},
        {"bool": [True, False]},
        {"string": ["a", "b"]},
        {"bfloat16": [1.5]},
        {"int4": [-8, 7]},
        {"complex64": [[1.0, 2.0]]},
        {"float32": [], "shape": [0, 2]},
        {"seq": [{"int64": 1}, {"int64": [1, 2]}]},
        {"none": True},
    ],
)
def test_values_are_written_as_they_are_read(written):
    import tomllib

    text = write_value(read_value(written))
    again = tomllib.loads(f"value = {text}")["value"]
    assert_same([read_value(again)], [read_value(written)], ["value"])


def test_differences_are_seen():
    one = np.float32([1, 2])
    for other in (np.float64([1, 2]), np.float32([1, 2.001]), np.float32([[1, 2]]), [one], None):
        with pytest.raises(AssertionError, match="value"):
            assert_same([one], [other], ["value"])
    assert_same([np.float32([np.nan, 1 + 1e-6])], [np.float32([np.nan, 1])], ["value"])
