"""Probes of options, enumerations and functions of the package."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.parity.probes import X, ortvalue, probe, session, several

NUMBERS = (True, 1, 0, 2.5, "x", None, np.int64(3), np.bool_(True), -5, 2**40, b"x")
SESSION = (
    "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "enable_profiling",
    "execution_mode", "execution_order", "graph_optimization_level", "inter_op_num_threads",
    "intra_op_num_threads", "log_severity_level", "log_verbosity_level", "logid",
    "optimized_model_filepath", "profile_file_prefix", "use_deterministic_compute",
    "use_per_session_threads",
)  # fmt: skip
RUN = (
    "log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches",
    "terminate",
)  # fmt: skip


def _plain(value: Any) -> Any:
    return str(value) if hasattr(value, "__members__") or hasattr(value, "name") else value


def _set(options: Any, name: str) -> Any:
    """What a field is at first, and after each of many values was set."""
    found = [_plain(getattr(options, name))]
    for value in NUMBERS:
        try:
            setattr(options, name, value)
            found.append(_plain(getattr(options, name)))
        except TypeError:
            found.append("TypeError")
    return found


for _name in SESSION:
    several(
        {f"session_{_name}": lambda o, n=_name: _set(o.SessionOptions(), n)},
        f"SessionOptions.{_name}",
        "onnxruntime.SessionOptions",
    )
for _name in RUN:
    several(
        {f"run_{_name}": lambda o, n=_name: _set(o.RunOptions(), n)},
        f"RunOptions.{_name}",
        "onnxruntime.RunOptions",
    )


@probe("SessionOptions.add_session_config_entry", "SessionOptions.get_session_config_entry")
def entries(ort):
    options = ort.SessionOptions()
    given = options.add_session_config_entry("a", "b")
    options.add_session_config_entry("a", "c")
    return given, options.get_session_config_entry("a")


several(
    {
        "entry_unknown": lambda o: o.SessionOptions().get_session_config_entry("unknown"),
        "entry_no_text": lambda o: o.SessionOptions().add_session_config_entry("a", 3),
        "entry_no_key": lambda o: o.SessionOptions().add_session_config_entry("", ""),
        "entry_long_key": lambda o: o.SessionOptions().add_session_config_entry("k" * 2000, ""),
    },
    "SessionOptions.add_session_config_entry",
    "SessionOptions.get_session_config_entry",
)


@probe("RunOptions.add_run_config_entry", "RunOptions.get_run_config_entry")
def run_entries(ort):
    options = ort.RunOptions()
    return options.add_run_config_entry("a", "b"), options.get_run_config_entry("a")


several(
    {
        "run_entry_unknown": lambda o: o.RunOptions().get_run_config_entry("unknown"),
        "run_entry_no_text": lambda o: o.RunOptions().add_run_config_entry("a", 3),
    },
    "RunOptions.add_run_config_entry",
    "RunOptions.get_run_config_entry",
)

several(
    {
        f"dim_{how}_{number}": lambda o, h=how, a=arguments: getattr(
            o.SessionOptions(), f"add_free_dimension_override_by_{h}"
        )(*a)
        for how in ("name", "denotation")
        for number, arguments in enumerate((("N", 3), ("N", "3"), ("N", 3.5), (3, 3), ("N", -1)))
    },
    "SessionOptions.add_free_dimension_override_by_name",
    "SessionOptions.add_free_dimension_override_by_denotation",
)


@probe("SessionOptions.add_provider", "SessionOptions.has_providers")
def providers_of_options(ort):
    options = ort.SessionOptions()
    before = options.has_providers()
    options.add_provider("CPUExecutionProvider", {})
    made = session(ort, "mul", options)
    return before, options.has_providers(), made.get_providers(), made.run(None, {"X": X})


@probe("SessionOptions.register_custom_ops_library")
def no_library(ort):
    ort.SessionOptions().register_custom_ops_library("/nowhere/at all.so")


@probe("SessionOptions.register_custom_ops_library")
def library_of_another_type(ort):
    ort.SessionOptions().register_custom_ops_library(3)


@probe("onnxruntime.SessionOptions")
def no_such_option(ort):
    ort.SessionOptions().nothing_of_the_kind = 3


@probe("onnxruntime.RunOptions")
def no_such_option_of_a_run(ort):
    ort.RunOptions().nothing_of_the_kind = 3


ENUMERATIONS = ("ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel")
several(
    {
        f"members_of_{name}": lambda o, n=name: [
            (key, member.name, member.value, int(member), str(member), repr(member))
            for key, member in sorted(getattr(o, n).__members__.items())
        ]
        for name in ENUMERATIONS
    },
    *(f"onnxruntime.{name}" for name in ENUMERATIONS),
)


@probe("onnxruntime.GraphOptimizationLevel")
def levels_are_numbers(ort):
    kind = ort.GraphOptimizationLevel
    return kind.ORT_ENABLE_ALL == 99, kind(99) == kind.ORT_ENABLE_ALL, int(kind.ORT_ENABLE_BASIC)


@probe("onnxruntime.ExecutionMode", "SessionOptions.execution_mode")
def modes(ort):
    options = ort.SessionOptions()
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    found = options.execution_mode == ort.ExecutionMode.ORT_PARALLEL
    return found, session(ort, "mul", options).run(None, {"X": X})


def _seeded(ort: Any) -> Any:
    found = []
    for seed in (3, 3, 4):
        given = ort.set_seed(seed)
        found.append(session(ort, "chance").run(None, {})[0].tolist())
    return given, found[0] == found[1], found[0] == found[2]


several(
    {"seed": _seeded, "seed_no_number": lambda o: o.set_seed("x")},
    "onnxruntime.set_seed",
)
several(
    {
        "severity": lambda o: (o.set_default_logger_severity(4), o.set_default_logger_severity(4)),
        "severity_no_number": lambda o: o.set_default_logger_severity("x"),
        "severity_too_high": lambda o: o.set_default_logger_severity(7),
        "severity_too_low": lambda o: o.set_default_logger_severity(-1),
    },
    "onnxruntime.set_default_logger_severity",
)
several(
    {
        "verbosity": lambda o: o.set_default_logger_verbosity(0),
        "verbosity_no_number": lambda o: o.set_default_logger_verbosity("x"),
    },
    "onnxruntime.set_default_logger_verbosity",
)


@probe("onnxruntime.LoraAdapter", "RunOptions.add_active_adapter", "LoraAdapter.Load")
def adapter(ort):
    import os

    path = os.path.join(os.environ["PROBE_FOLDER"], "a.onnx_adapter")
    made = ort.AdapterFormat()
    made.set_parameters({"w": ortvalue(ort, np.array([5, 6], np.float32))})
    made.export_adapter(path)
    loaded, options = ort.LoraAdapter(), ort.RunOptions()
    given = loaded.Load(path), options.add_active_adapter(loaded)
    return given, session(ort, "default").run(None, {"x": X[0]}, options)


@probe("RunOptions.add_active_adapter")
def no_adapter(ort):
    ort.RunOptions().add_active_adapter(3)
