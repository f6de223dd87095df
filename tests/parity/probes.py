"""Calls that onnxruntime and treadle answer alike, each a function of the package.

A probe says which public names it stands for. What it gives is compared, or what it raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.parity.models import model, with_maps

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
W = np.array([[2, 1], [4, 3], [6, 5]], np.float32)

Probe = Callable[[Any], Any]
PROBES: dict[str, Probe] = {}
COVERED: dict[str, set[str]] = {}


def probe(*names: str) -> Callable[[Probe], Probe]:
    """Register a function as the probe of public names: "InferenceSession.run"."""

    def add(function: Probe) -> Probe:
        PROBES[function.__name__] = function
        for name in names:
            COVERED.setdefault(name, set()).add(function.__name__)
        return function

    return add


def several(cases: dict[str, Probe], *names: str) -> None:
    """Register functions by name."""
    for name, function in cases.items():
        PROBES[name] = function
        for public in names:
            COVERED.setdefault(public, set()).add(name)


def session(ort: Any, name: str = "mul", *args: Any, **kwargs: Any) -> Any:
    """A session of a model."""
    return ort.InferenceSession(model(name), *args, **kwargs)


def _feed(name: str = "mul") -> dict[str, Any]:
    return {"X": X} if name == "mul" else {"h": np.ones(2, np.float32), "n": np.array(3)}


# running

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


def ortvalue(ort: Any, array: np.ndarray) -> Any:
    """An OrtValue over an array."""
    return ort.OrtValue.ortvalue_from_numpy(array)


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

# bindings


def _binding(ort: Any, bind: Callable[[Any], object]) -> Any:
    """What comes of a session that is run with what `bind` binds."""
    made = session(ort)
    binding = made.io_binding()
    binding.bind_cpu_input("X", X)
    bind(binding)
    binding.synchronize_inputs()
    made.run_with_iobinding(binding)
    binding.synchronize_outputs()
    copied = [value.copy() for value in binding.copy_outputs_to_cpu()]
    return copied, [value.numpy().copy() for value in binding.get_outputs()]


several(
    {
        "bound": lambda o: _binding(o, lambda b: b.bind_output("Y")),
        "bound_to_cpu": lambda o: _binding(o, lambda b: b.bind_output("Y", "cpu")),
        "bound_to_device": lambda o: _binding(o, lambda b: b.bind_output("Y", "cpu", 0)),
        "bound_nothing": lambda o: _binding(o, lambda b: None),
        "bound_unknown_input": lambda o: _binding(o, lambda b: b.bind_cpu_input("Q", X)),
        "bound_unknown_output": lambda o: _binding(o, lambda b: b.bind_output("Q")),
        "bound_a_list": lambda o: _binding(o, lambda b: b.bind_cpu_input("X", [1.0])),
        "bound_wrong_dtype": lambda o: _binding(
            o, lambda b: (b.bind_cpu_input("X", X.astype(np.int64)), b.bind_output("Y"))
        ),
        "bound_wrong_shape": lambda o: _binding(
            o, lambda b: (b.bind_cpu_input("X", X[:1]), b.bind_output("Y"))
        ),
        "bound_fortran": lambda o: _binding(
            o, lambda b: (b.bind_cpu_input("X", np.asfortranarray(X)), b.bind_output("Y"))
        ),
        "bound_no_device": lambda o: _binding(o, lambda b: b.bind_output("Y", "nothing")),
        "bound_an_address_alone": lambda o: _binding(
            o, lambda b: b.bind_output("Y", "cpu", 0, None, None, X.ctypes.data)
        ),
        "bound_too_small": lambda o: _binding(
            o, lambda b: b.bind_output("Y", "cpu", 0, np.float32, [2], X.copy().ctypes.data)
        ),
        "bound_another_dtype": lambda o: _binding(
            o, lambda b: b.bind_output("Y", "cpu", 0, np.int32, [3, 2], X.copy().ctypes.data)
        ),
        "bound_cleared": lambda o: _binding(
            o, lambda b: (b.bind_output("Y"), b.clear_binding_outputs())
        ),
        "bound_anew": lambda o: _binding(
            o,
            lambda b: (
                b.bind_output("Y"),
                b.clear_binding_inputs(),
                b.bind_cpu_input("X", X + 1),
            ),
        ),
        "bound_unfed": lambda o: _binding(
            o, lambda b: (b.bind_output("Y"), b.clear_binding_inputs())
        ),
    },
    "IOBinding.bind_cpu_input",
    "IOBinding.bind_output",
    "IOBinding.clear_binding_inputs",
    "IOBinding.clear_binding_outputs",
    "IOBinding.copy_outputs_to_cpu",
    "IOBinding.get_outputs",
    "IOBinding.synchronize_inputs",
    "IOBinding.synchronize_outputs",
    "InferenceSession.io_binding",
    "InferenceSession.run_with_iobinding",
)


@probe("IOBinding.bind_input", "IOBinding.bind_output", "InferenceSession.run_with_iobinding")
def bound_to_addresses(ort):
    made, x, y = session(ort), X.copy(), np.zeros_like(X)
    binding = made.io_binding()
    binding.bind_input("X", "cpu", 0, np.float32, [3, 2], x.ctypes.data)
    binding.bind_output("Y", "cpu", 0, 1, (3, 2), y.ctypes.data)
    made.run_with_iobinding(binding)
    first = y.copy()
    x += 1
    made.run_with_iobinding(binding, ort.RunOptions())
    return first, y, binding.get_outputs()[0].data_ptr() == y.ctypes.data


@probe("IOBinding.bind_ortvalue_input", "IOBinding.bind_ortvalue_output")
def bound_to_ortvalues(ort):
    made = session(ort)
    place = ort.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float32)
    binding = made.io_binding()
    binding.bind_ortvalue_input("X", ortvalue(ort, X))
    binding.bind_ortvalue_output("Y", place)
    made.run_with_iobinding(binding)
    (given,) = binding.get_outputs()
    return place.numpy().copy(), given.data_ptr() == place.data_ptr(), given.shape()


@probe("IOBinding.get_outputs_as_ortvaluevector", "IOBinding.get_outputs")
def bound_outputs_in_order(ort):
    made = session(ort, "open")
    binding = made.io_binding()
    binding.bind_cpu_input("X", X)
    binding.bind_cpu_input("Z", X)
    binding.bind_output("S")
    binding.bind_output("Y")
    made.run_with_iobinding(binding)
    vector = binding.get_outputs_as_ortvaluevector()
    return type(vector).__name__, [value.numpy().copy() for value in vector]


@probe("IOBinding.bind_ortvalue_input", "IOBinding.bind_ortvalue_output")
def bound_a_carried_value(ort):
    made, state = session(ort, "loop"), ortvalue(ort, np.ones(2, np.float32))
    binding = made.io_binding()
    binding.bind_ortvalue_input("h", state)
    binding.bind_ortvalue_output("last", state)
    found = []
    for trips in (2, 0, 1, 5):
        binding.bind_cpu_input("n", np.array(trips))
        made.run_with_iobinding(binding)
        found.append(state.numpy().copy())
    return found


@probe("InferenceSession.run_with_iobinding", "onnxruntime.IOBinding")
def bound_to_another_session(ort):
    return session(ort).run_with_iobinding(ort.IOBinding(session(ort)))


@probe("onnxruntime.IOBinding")
def bound_by_the_class(ort):
    made = session(ort)
    binding = ort.IOBinding(made)
    binding.bind_cpu_input("X", X)
    binding.bind_output("Y")
    made.run_with_iobinding(binding)
    copied = [value.copy() for value in binding.copy_outputs_to_cpu()]
    return isinstance(made.io_binding(), ort.IOBinding), copied


@probe("IOBinding.copy_outputs_to_cpu")
def bound_without_a_run(ort):
    binding = session(ort).io_binding()
    return binding.copy_outputs_to_cpu(), binding.get_outputs()
