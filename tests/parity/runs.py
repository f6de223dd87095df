"""Probes of runs: feeds, output names and results of every type, also in threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tests.parity.models import with_maps
from tests.parity.probes import X, ortvalue, probe, session, several


def _feed(name: str = "mul") -> dict[str, Any]:
    return {"X": X} if name == "mul" else {"h": np.ones(2, np.float32), "n": np.array(3)}


several(
    {
        "run_all": lambda o: session(o).run(None, {"X": X}),
        "run_empty_list": lambda o: session(o).run([], {"X": X}),
        "run_by_name": lambda o: session(o).run(["Y"], {"X": X}),
        "run_by_tuple": lambda o: session(o).run(("Y",), {"X": X}),
        "run_twice_the_same": lambda o: session(o).run(["Y", "Y"], {"X": X}),
        "run_by_keywords": lambda o: session(o).run(output_names=None, input_feed={"X": X}),
        "run_keyword_options": lambda o: session(o).run(None, {"X": X}, run_options=o.RunOptions()),
        "run_positional_options": lambda o: session(o).run(None, {"X": X}, o.RunOptions()),
        "run_one_of_two": lambda o: session(o, "open").run(["S"], {"X": X, "Z": X}),
        "run_in_another_order": lambda o: session(o, "open").run(["S", "Y"], {"X": X, "Z": X}),
        "run_a_loop": lambda o: session(o, "loop").run(None, _feed("loop")),
        "run_a_loop_of_no_trips": lambda o: session(o, "loop").run(
            None, {"h": np.ones(2, np.float32), "n": np.array(0)}
        ),
        "run_a_list": lambda o: session(o).run(None, {"X": X.tolist()}),
        "run_not_contiguous": lambda o: session(o).run(None, {"X": X[:, [1, 0]]}),
        "run_a_stride": lambda o: session(o).run(None, {"X": np.repeat(X, 2, 0)[::2]}),
        "run_fortran": lambda o: session(o).run(None, {"X": np.asfortranarray(X)}),
        "run_read_only": lambda o: session(o).run(None, {"X": _read_only(X)}),
        "run_nothing_fed": lambda o: session(o).run(None, {}),
        "run_one_missing": lambda o: session(o, "open").run(None, {"X": X}),
        "run_unknown_input": lambda o: session(o).run(None, {"X": X, "Q": X}),
        "run_only_unknown_input": lambda o: session(o).run(None, {"Q": X}),
        "run_unknown_output": lambda o: session(o).run(["Q"], {"X": X}),
        "run_an_output_as_text": lambda o: session(o).run("Y", {"X": X}),
        "run_wrong_dtype": lambda o: session(o).run(None, {"X": X.astype(np.float64)}),
        "run_wrong_extent": lambda o: session(o).run(None, {"X": X[:1]}),
        "run_wrong_rank": lambda o: session(o).run(None, {"X": X[0]}),
        "run_wrong_options": lambda o: session(o).run(None, {"X": X}, 3),
        "run_none_for_a_tensor": lambda o: session(o).run(None, {"X": None}),
        "run_failing": lambda o: session(o, "fails").run(
            None, {"x": np.ones(2, np.float32), "z": np.ones(3, np.float32)}
        ),
        "run_sequences": lambda o: session(o, "list").run(None, {"x": [X[0], X[1]]}),
        "run_an_empty_sequence": lambda o: session(o, "list").run(["n"], {"x": []}),
        "run_an_optional": lambda o: session(o, "optional").run(None, {"x": X[0]}),
        "run_an_absent_optional": lambda o: session(o, "optional").run(None, {"x": None}),
        "run_an_unfed_optional": lambda o: session(o, "optional").run(None, {}),
        "run_texts": lambda o: session(o, "texts").run(None, {"x": np.array([["a", "b"]] * 2)}),
        "run_text_lists": lambda o: session(o, "texts").run(None, {"x": [["a", "b"], ["c", "d"]]}),
        "run_bytes": lambda o: session(o, "texts").run(
            None, {"x": np.array([[b"a", b"b"]] * 2, "S8")}
        ),
        "run_objects": lambda o: session(o, "texts").run(
            None, {"x": np.array([["a", "ü"]] * 2, object)}
        ),
        "run_voids": lambda o: session(o, "texts").run(
            None, {"x": np.array([b"must", b"have", b"same", b"size"], np.void).reshape(2, 2)}
        ),
        "run_voids_with_zeros": lambda o: session(o, "texts").run(
            None, {"x": np.array([b"a\0b\0"] * 4, np.void).reshape(2, 2)}
        ),
        "run_unicode": lambda o: session(o, "texts").run(
            None, {"x": np.array([["Olá", "你好"], ["여보세요", "hello"]])}
        ),
        "run_bools": lambda o: session(o, "bools").run(
            None, {"a": np.array([[True, True], [False, False]]), "b": np.ones((2, 2), bool)}
        ),
        "run_an_ortvalue": lambda o: session(o).run(None, {"X": ortvalue(o, X)}),
        "run_a_default": lambda o: session(o, "default").run(None, {"x": X[0]}),
        "run_an_overridden_default": lambda o: session(o, "default").run(
            None, {"x": X[0], "w": X[1]}
        ),
        "run_a_default_alone": lambda o: session(o, "default").run(None, {"w": X[1]}),
    },
    "InferenceSession.run",
)


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _maps(ort: Any, name: str, feed: dict[str, Any]) -> Any:
    made = ort.InferenceSession(with_maps(name))
    described = [(a.type, a.shape) for a in (*made.get_inputs(), *made.get_outputs())]
    return described, made.run(None, feed)


MAP = {0: 25.0, 1: 5.13, 2: 0.0}
several(
    {
        "run_giving_maps": lambda o: _maps(o, "texts", {"x": X}),
        "run_giving_maps_of_numbers": lambda o: _maps(o, "numbers", {"x": X}),
        "run_a_map": lambda o: _maps(o, "take", {"d": MAP}),
        "run_a_map_of_float32": lambda o: _maps(
            o, "take", {"d": {np.int64(k): np.float32(v) for k, v in MAP.items()}}
        ),
        "run_a_map_of_float64": lambda o: _maps(
            o, "take", {"d": {np.int32(k): np.float64(v) for k, v in MAP.items()}}
        ),
        "run_a_map_of_wrong_keys": lambda o: _maps(o, "take", {"d": {**MAP, "a": 1.0}}),
        "run_a_map_that_is_none": lambda o: _maps(o, "take", {"d": 3}),
    },
    "InferenceSession.run",
)


@probe("InferenceSession.run")
def run_gives_what_nobody_else_has(ort):
    x = np.ones(2, np.float32)
    y, again = session(ort, "passed").run(None, {"x": x})
    again += 1
    return x, y, again


@probe("InferenceSession.run")
def run_in_threads(ort):
    made, shared = [], session(ort)
    threads = [
        threading.Thread(target=lambda: made.append(shared.run(None, {"X": X})[0]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return made


@probe("InferenceSession.run", "RunOptions.terminate")
def run_terminated(ort):
    options = ort.RunOptions()
    options.terminate = True
    return session(ort).run(None, {"X": X}, options)


@probe("InferenceSession.run", "RunOptions.only_execute_path_to_fetches")
def run_only_the_path(ort):
    options = ort.RunOptions()
    options.only_execute_path_to_fetches = True
    return session(ort, "open").run(["S"], {"X": X, "Z": X}, options)


@probe("InferenceSession.run", "RunOptions.add_run_config_entry")
def run_shrinking_the_arena(ort):
    options = ort.RunOptions()
    options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return session(ort).run([], {"X": X}, options)


several(
    {
        "ort_values": lambda o: [
            v.numpy().copy() for v in session(o).run_with_ort_values(None, {"X": ortvalue(o, X)})
        ],
        "ort_values_by_name": lambda o: [
            (v.shape(), v.data_type(), v.device_name(), v.is_tensor())
            for v in session(o).run_with_ort_values(["Y"], {"X": ortvalue(o, X)})
        ],
        "ort_values_missing": lambda o: session(o).run_with_ort_values(None, {}),
        "ort_values_unknown_output": lambda o: session(o).run_with_ort_values(
            ["Q"], {"X": ortvalue(o, X)}
        ),
        "ort_values_wrong_dtype": lambda o: session(o).run_with_ort_values(
            None, {"X": ortvalue(o, X.astype(np.int64))}
        ),
        "ort_values_of_texts": lambda o: [
            v.data_type() for v in session(o, "texts").run_with_ort_values(None, {"x": _texts(o)})
        ],
        "ort_values_of_a_loop": lambda o: [
            v.numpy().copy()
            for v in session(o, "loop").run_with_ort_values(
                None, {"h": ortvalue(o, X[0]), "n": ortvalue(o, np.array(2))}
            )
        ],
    },
    "InferenceSession.run_with_ort_values",
)


def _texts(ort: Any) -> Any:
    import onnxruntime

    from treadle import delegate

    assert onnxruntime
    return delegate.to_ortvalue(np.array([["a", "b"], ["c", "d"]], object))


@probe("InferenceSession.run_with_ortvaluevector")
def run_with_a_vector(ort):
    from onnxruntime.capi.onnxruntime_pybind11_state import OrtValueVector

    feeds, fetches = OrtValueVector(), OrtValueVector()
    feeds.push_back(ortvalue(ort, X)._get_c_value())
    cpu = ort.OrtDevice.make("cpu", 0)._get_c_device()
    session(ort).run_with_ortvaluevector(ort.RunOptions(), ["X"], feeds, ["Y"], fetches, [cpu])
    return [value.numpy().copy() for value in fetches]


def _run_async(ort: Any, output_names: Any, feed: dict[str, Any], options: Any = None) -> Any:
    heard, told = threading.Event(), []

    def finished(outputs: Any, data: Any, error: str) -> None:
        told.extend((list(outputs), data, bool(error)))
        heard.set()

    threads = ort.SessionOptions()
    threads.intra_op_num_threads = 2
    given = session(ort, "mul", threads).run_async(output_names, feed, finished, "mine", options)
    assert heard.wait(20)
    return given, told


several(
    {
        "async": lambda o: _run_async(o, ["Y"], {"X": X}),
        "async_all": lambda o: _run_async(o, None, {"X": X}),
        "async_options": lambda o: _run_async(o, [], {"X": X}, o.RunOptions()),
        "async_wrong_dtype": lambda o: _run_async(o, None, {"X": X.astype(np.int64)}),
        "async_wrong_shape": lambda o: _run_async(o, None, {"X": X[:1]}),
        "async_unknown_output": lambda o: _run_async(o, ["Q"], {"X": X}),
        "async_missing": lambda o: _run_async(o, None, {}),
    },
    "InferenceSession.run_async",
)
