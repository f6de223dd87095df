"""Probes of a session's construction and its attributes."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import time
from typing import Any

import numpy as np

from tests.parity.models import external, model
from tests.parity.probes import W, X, ortvalue, probe, session, several

CPU = "CPUExecutionProvider"


def _described(arguments: Any) -> Any:
    return [(a.name, a.type, a.shape) for a in arguments]


def _providers(ort: Any, *args: Any, **kwargs: Any) -> Any:
    made = session(ort, "mul", None, *args, **kwargs)
    return made.get_providers(), made.get_provider_options(), made.run(None, {"X": X})


several(
    {
        "made_of_bytes": lambda o: session(o).run(None, {"X": X}),
        "made_by_keyword": lambda o: o.InferenceSession(path_or_bytes=model("mul")).get_providers(),
        "made_with_options": lambda o: session(o, "mul", o.SessionOptions()).run(None, {"X": X}),
        "made_of_no_model": lambda o: o.InferenceSession(b"abc"),
        "made_of_nothing": lambda o: o.InferenceSession(b""),
        "made_of_no_file": lambda o: o.InferenceSession("/nowhere/at all.onnx"),
        "made_of_a_number": lambda o: o.InferenceSession(3),
        "made_of_none": lambda o: o.InferenceSession(None),
        "made_with_wrong_options": lambda o: session(o, "mul", 3),
        "made_with_a_list_of_options": lambda o: session(o, "mul", [CPU]),
        "made_with_disabled_optimizers": lambda o: session(
            o, disabled_optimizers=["ConstantFolding"]
        ).run(None, {"X": X}),
        "providers_default": _providers,
        "providers_named": lambda o: _providers(o, [CPU]),
        "providers_empty": lambda o: _providers(o, []),
        "providers_tuple": lambda o: _providers(o, (CPU,)),
        "providers_with_options": lambda o: _providers(o, [(CPU, {"use_arena": 0})]),
        "providers_and_options": lambda o: _providers(o, [CPU], [{"use_arena": 0}]),
        "providers_available": lambda o: _providers(o, o.get_available_providers()),
        "providers_not_there": lambda o: _providers(o, ["CUDAExecutionProvider", CPU]),
        "providers_not_there_alone": lambda o: _providers(o, ["CoreMLExecutionProvider"]),
        "providers_twice": lambda o: _providers(o, [CPU, CPU]),
        "providers_unknown": lambda o: _providers(o, ["Nobody"]),
        "providers_unknown_no_fallback": lambda o: _providers(o, ["Nobody"], enable_fallback=False),
        "providers_no_list_no_fallback": lambda o: _providers(o, 3, enable_fallback=False),
        "providers_no_names_no_fallback": lambda o: _providers(o, [3], enable_fallback=False),
        "providers_options_no_list": lambda o: _providers(o, [CPU], 3, enable_fallback=False),
        "providers_options_no_dicts": lambda o: _providers(o, [CPU], ["x"], enable_fallback=False),
        "providers_options_too_many": lambda o: _providers(
            o, [CPU], [{}, {}], enable_fallback=False
        ),
        "providers_options_twice": lambda o: _providers(
            o, [(CPU, {1: 2})], [{3: 4}], enable_fallback=False
        ),
    },
    "onnxruntime.InferenceSession",
    "InferenceSession.get_providers",
    "InferenceSession.get_provider_options",
    "onnxruntime.get_available_providers",
)


def _set_providers(ort: Any, *args: Any) -> Any:
    made = session(ort)
    given = made.set_providers(*args)
    return given, made.get_providers(), made.get_provider_options(), made.run(None, {"X": X})


several(
    {
        "set_providers": lambda o: _set_providers(o, [CPU]),
        "set_providers_to_default": _set_providers,
        "set_providers_with_options": lambda o: _set_providers(o, [CPU], [{"use_arena": "1"}]),
        "set_providers_available": lambda o: _set_providers(o, o.get_available_providers()),
        "set_providers_not_there": lambda o: _set_providers(o, ["CUDAExecutionProvider"]),
        "set_providers_unknown": lambda o: _set_providers(o, ["InvalidProvider"]),
        "set_providers_no_names": lambda o: _set_providers(o, [3]),
    },
    "InferenceSession.set_providers",
)


@probe("InferenceSession.enable_fallback", "InferenceSession.disable_fallback")
def fallback(ort):
    made = session(ort)
    return made.disable_fallback(), made.enable_fallback(), made.run(None, {"X": X})


@probe("onnxruntime.InferenceSession")
def made_of_a_path(ort):
    path = pathlib.Path(os.environ["PROBE_FOLDER"]) / "m.onnx"
    path.write_bytes(model("mul"))
    made = [ort.InferenceSession(path), ort.InferenceSession(str(path), None, [CPU])]
    return [each.run(["Y"], {"X": X}) for each in made]


several(
    {
        f"{what}_of_{name}": lambda o, n=name, m=method: _described(getattr(session(o, n), m)())
        for name in ("mul", "open", "loop", "default", "list", "texts", "bools", "chance")
        for what, method in (
            ("inputs", "get_inputs"),
            ("outputs", "get_outputs"),
            ("defaults", "get_overridable_initializers"),
        )
    },
    "InferenceSession.get_inputs",
    "InferenceSession.get_outputs",
    "InferenceSession.get_overridable_initializers",
    "NodeArg.name",
    "NodeArg.type",
    "NodeArg.shape",
)


@probe("onnxruntime.NodeArg", "NodeArg.name")
def arguments_as_text(ort):
    found = session(ort, "open").get_inputs()
    return [str(a) for a in found], [isinstance(a, ort.NodeArg) for a in found]


META = (
    "custom_metadata_map", "description", "domain", "graph_description", "graph_name",
    "producer_name", "version",
)  # fmt: skip


def _metadata(ort: Any, name: str) -> Any:
    meta = session(ort, name).get_modelmeta()
    return isinstance(meta, ort.ModelMetadata), [getattr(meta, each) for each in META]


several(
    {"metadata": lambda o: _metadata(o, "open"), "metadata_unsaid": lambda o: _metadata(o, "mul")},
    "InferenceSession.get_modelmeta",
    "onnxruntime.ModelMetadata",
    *(f"ModelMetadata.{each}" for each in META),
)


@probe("InferenceSession.get_session_options")
def options_of_a_session(ort):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.logid = 2, "me"
    found = session(ort, "mul", options).get_session_options()
    unsaid = session(ort).get_session_options()
    return (
        found.intra_op_num_threads,
        found.logid,
        unsaid.intra_op_num_threads,
        str(unsaid.graph_optimization_level),
        isinstance(unsaid, ort.SessionOptions),
    )


@probe("InferenceSession.get_input_memory_infos", "InferenceSession.get_output_memory_infos")
def memory_of_inputs_and_outputs(ort):
    made = session(ort, "open")
    return [
        (info.name, info.device_id, str(info.mem_type), str(info.allocator_type))
        for info in (*made.get_input_memory_infos(), *made.get_output_memory_infos())
    ]


@probe("InferenceSession.get_input_epdevices")
def devices_of_inputs(ort):
    found = session(ort, "open").get_input_epdevices()
    return [each and (each.ep_name, str(each.device.type)) for each in found]


@probe("InferenceSession.create_ortvalue_from_shape_and_type")
def ortvalue_of_a_session(ort):
    made = session(ort).create_ortvalue_from_shape_and_type([2, 3], np.float32, "cpu")
    number = session(ort).create_ortvalue_from_shape_and_type([2], 7, "cpu", 0)
    return made.shape(), made.data_type(), number.shape(), number.data_type()


@probe("InferenceSession.release_captured_graph")
def release_a_graph(ort):
    return session(ort).release_captured_graph(), session(ort).release_captured_graph(7)


@probe("InferenceSession.run", "SessionOptions.add_free_dimension_override_by_name")
def dims_by_name(ort):
    options = ort.SessionOptions()
    given = options.add_free_dimension_override_by_name("N", 3)
    options.add_free_dimension_override_by_name("unknown", 4)
    made = session(ort, "open", options)
    return given, _described(made.get_inputs()), made.run(["Y"], {"X": X, "Z": X})


@probe("SessionOptions.add_free_dimension_override_by_name")
def dims_by_name_hold(ort):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    return session(ort, "open", options).run(None, {"X": X[:1], "Z": X[:1]})


@probe("SessionOptions.add_free_dimension_override_by_denotation")
def dims_by_denotation(ort):
    options = ort.SessionOptions()
    given = options.add_free_dimension_override_by_denotation("DATA_BATCH", 3)
    return given, _described(session(ort, "open", options).get_outputs()[:1])


@probe(
    "SessionOptions.add_free_dimension_override_by_denotation",
    "SessionOptions.add_free_dimension_override_by_name",
)
def dims_that_contradict(ort):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 3)
    options.add_free_dimension_override_by_name("N", 4)
    return session(ort, "open", options)


def _with_initializer(ort: Any, name: str, value: Any) -> Any:
    options = ort.SessionOptions()
    given = options.add_initializer(name, value)
    return given, session(ort, "mul", options, [CPU]).run(None, {"X": X})


KEPT = []


def _kept(ort: Any, array: np.ndarray) -> Any:
    """An OrtValue that lives on: onnxruntime holds no reference to it."""
    KEPT.append(ortvalue(ort, array))
    return KEPT[-1]


several(
    {
        "initializer": lambda o: _with_initializer(o, "W", _kept(o, W)),
        "initializer_unknown": lambda o: _with_initializer(o, "Q", _kept(o, W)),
        "initializer_no_value": lambda o: o.SessionOptions().add_initializer("W", 3),
        "initializer_no_name": lambda o: o.SessionOptions().add_initializer(3, _kept(o, W)),
    },
    "SessionOptions.add_initializer",
)


@probe("SessionOptions.add_initializer")
def initializer_twice(ort):
    options = ort.SessionOptions()
    options.add_initializer("W", _kept(ort, W))
    options.add_initializer("W", _kept(ort, W))


def _with_external(ort: Any, data: bytes, names: Any, values: Any) -> Any:
    options = ort.SessionOptions()
    given = options.add_external_initializers(names, values)
    return given, ort.InferenceSession(data, options).run(None, {"X": X})


several(
    {
        "external": lambda o: _with_external(o, external(), ["W"], [_kept(o, W)]),
        "external_unknown": lambda o: _with_external(o, external(), ["Q"], [_kept(o, W)]),
        "external_has_data": lambda o: _with_external(o, model("mul"), ["W"], [_kept(o, W)]),
        "external_too_few": lambda o: _with_external(o, external(), ["W", "V"], [_kept(o, W)]),
        "external_tuples": lambda o: _with_external(o, external(), ("W",), (_kept(o, W),)),
    },
    "SessionOptions.add_external_initializers",
)


def _with_files(ort: Any, names: Any, buffers: Any, lengths: Any) -> Any:
    options = ort.SessionOptions()
    given = options.add_external_initializers_from_files_in_memory(names, buffers, lengths)
    return given, ort.InferenceSession(external(), options).run(None, {"X": X})


several(
    {
        "files": lambda o: _with_files(o, ["w.bin"], [W.tobytes()], [24]),
        "files_as_arrays": lambda o: _with_files(o, ["w.bin"], [W.view(np.uint8).ravel()], [24]),
        "files_too_few": lambda o: _with_files(o, ["w.bin"], [W.tobytes()], [24, 3]),
        "files_no_bytes": lambda o: _with_files(o, ["w.bin"], ["text"], [4]),
    },
    "SessionOptions.add_external_initializers_from_files_in_memory",
)


@probe("SessionOptions.set_load_cancellation_flag")
def given_up(ort):
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    return session(ort, "mul", options)


@probe(
    "InferenceSession.end_profiling",
    "InferenceSession.get_profiling_start_time_ns",
    "SessionOptions.enable_profiling",
    "SessionOptions.profile_file_prefix",
)
def profile(ort):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(os.environ["PROBE_FOLDER"], "profile")
    before = time.time_ns()
    made = session(ort, "loop", options)
    made.run(None, {"h": X[0], "n": np.array(3)})
    path = made.end_profiling()
    lines = pathlib.Path(path).read_text().splitlines()
    events = json.loads("\n".join(lines))
    needed = {"cat", "pid", "tid", "dur", "ts", "ph", "name", "args"}
    return (
        pathlib.Path(path).name.startswith("profile_"),
        path.endswith(".json"),
        all(needed <= event.keys() for event in events),
        {event["cat"] for event in events},
        {e["name"] for e in events if e["cat"] == "Session"} >= {"model_run"},
        lines[0] == "[",
        lines[-1] == "]",
        before - 10**9 < made.get_profiling_start_time_ns() < time.time_ns() + 10**9,
        made.end_profiling(),
    )


@probe("InferenceSession.end_profiling", "InferenceSession.get_profiling_start_time_ns")
def no_profile(ort):
    made = session(ort)
    return made.end_profiling(), made.get_profiling_start_time_ns()


@probe("InferenceSession.get_profiling_start_time_ns")
def profiles_in_order(ort):
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(os.environ["PROBE_FOLDER"], "p")
    made = [session(ort, "mul", options) for _ in range(3)]
    starts = [each.get_profiling_start_time_ns() for each in made]
    for each in made:
        with contextlib.suppress(FileNotFoundError):
            os.remove(each.end_profiling())
    return starts == sorted(starts)
