"""Session options and run options reach onnxruntime."""

from __future__ import annotations

from types import SimpleNamespace

import onnxruntime
import pytest

from treadle.delegate import Options


def test_fields_are_set_by_their_own_names():
    made = Options(intra_op_num_threads=1, graph_optimization_level="basic").session_options()
    assert made.intra_op_num_threads == 1
    assert int(made.graph_optimization_level) == 1
    assert made.log_severity_level == 4


def test_unset_options_have_onnxruntimes_defaults():
    made, default = Options.of().session_options(), onnxruntime.SessionOptions()
    for name in ("intra_op_num_threads", "graph_optimization_level", "enable_mem_pattern"):
        assert getattr(made, name) == getattr(default, name)


def test_false_is_an_explicit_value():
    assert (
        not Options.of(SimpleNamespace(enable_mem_pattern=False))
        .session_options()
        .enable_mem_pattern
    )


def test_from_options_of_onnxruntime_itself():
    source = onnxruntime.SessionOptions()
    source.inter_op_num_threads = 3
    source.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
    source.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = Options.of(source).session_options()
    assert made.inter_op_num_threads == 3
    assert made.execution_mode == source.execution_mode
    assert made.graph_optimization_level == source.graph_optimization_level
    assert made.log_severity_level == 4


def test_configuration_entries():
    source = SimpleNamespace(config_entries={"session.disable_prepacking": "1"})
    made = Options.of(source).session_options()
    assert made.get_session_config_entry("session.disable_prepacking") == "1"


@pytest.mark.parametrize(
    ("providers", "options", "wanted"),
    [
        (None, None, (("CPUExecutionProvider", {}),)),
        (["A", ("B", {"x": 1})], None, (("A", {}), ("B", {"x": 1}))),
        (["A"], [{"y": 2}], (("A", {"y": 2}),)),
    ],
)
def test_providers(providers, options, wanted):
    assert Options.of(None, providers, options).providers == wanted
