"""onnxruntime's other session methods on every engine: bindings, OrtValues, providers."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import onnxruntime
import pytest

import treadle

MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N, 2] x) => (float[N, 2] y, int64[1] n) <float[2] w = {1, 2}> {
  y = Mul (x, w)
  s = Shape (x)
  zero = Constant <value_ints = [0]> ()
  n = Gather (s, zero)
}
"""
LOOP = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] h, int64 n) => (float[2] last) {
  go = Constant <value = bool {1}> ()
  last = Loop (n, go, h) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] e) {
    d = Identity (c)
    e = Add (a, a)
  }>
}
"""
X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
Y = X * np.array([1, 2], np.float32)
ENGINES = (None, ("jit", "interp"), ("interp",), ("onnxruntime", "interp"))


@pytest.fixture(params=ENGINES, ids=lambda engines: "-".join(engines or ("default",)))
def engines(request):
    return request.param


def _ort(array: np.ndarray):
    return treadle.OrtValue.ortvalue_from_numpy(array)


def test_outputs_are_written_where_they_are_bound(engines) -> None:
    session = treadle.InferenceSession(MODEL, engines=engines)
    binding, y = session.io_binding(), np.zeros((3, 2), np.float32)
    x = X.copy()
    binding.bind_cpu_input("x", x)
    binding.bind_output("n")
    binding.bind_output("y", "cpu", 0, np.float32, [3, 2], y.ctypes.data)
    session.run_with_iobinding(binding)
    assert np.array_equal(y, Y)
    assert [value.shape() for value in binding.get_outputs()] == [[1], [3, 2]]
    x += 1
    session.run_with_iobinding(binding)
    assert np.array_equal(y, (X + 1) * np.array([1, 2], np.float32))
    copied = binding.copy_outputs_to_cpu()
    assert not np.shares_memory(copied[1], y)
    binding.clear_binding_outputs()
    with pytest.raises(RuntimeError, match="no output is bound"):
        session.run_with_iobinding(binding)


def test_a_carried_value_stays_in_its_memory(engines) -> None:
    session = treadle.InferenceSession(LOOP, engines=engines)
    state = _ort(np.ones(2, np.float32))
    binding = session.io_binding()
    binding.bind_ortvalue_input("h", state)
    binding.bind_ortvalue_output("last", state)
    for trips, wanted in ((2, 4), (0, 4), (1, 8), (5, 256)):
        binding.bind_cpu_input("n", np.array(trips))
        session.run_with_iobinding(binding)
        assert state.numpy().tolist() == [wanted, wanted]
        assert binding.get_outputs()[0].data_ptr() == state.data_ptr()


@pytest.mark.parametrize(
    ("bind", "words"),
    [
        (lambda b: b.bind_cpu_input("z", X), 'no input "z"'),
        (lambda b: b.bind_cpu_input("x", [1.0]), "wanted an array"),
        (lambda b: b.bind_output("y", "cpu", 0, np.float32, [2], X.ctypes.data), "bound to"),
        (lambda b: b.bind_output("y", "cpu", 0, np.int64, [3, 2], X.ctypes.data), "bound to"),
        (lambda b: b.bind_input("x", "cuda", 0, np.float32, [1], 8), "bind_ortvalue_input"),
        (lambda b: b.bind_output("q"), 'no output "q"'),
    ],
)
def test_an_invalid_binding_is_an_error(bind, words) -> None:
    session = treadle.InferenceSession(MODEL)
    binding = session.io_binding()
    binding.bind_cpu_input("x", X.copy())

    def run() -> None:
        bind(binding)
        session.run_with_iobinding(binding)

    with pytest.raises(RuntimeError, match=words):
        run()


def test_a_binding_belongs_to_its_session() -> None:
    one, other = (treadle.InferenceSession(MODEL) for _ in range(2))
    with pytest.raises(ValueError, match="of this session"):
        one.run_with_iobinding(other.io_binding())


def test_ortvalues_in_and_out(engines) -> None:
    session = treadle.InferenceSession(MODEL, engines=engines)
    y, n = session.run_with_ort_values(None, {"x": _ort(X)})
    assert np.array_equal(y.numpy(), Y)
    assert n.numpy().tolist() == [3]
    assert np.array_equal(session.run(["y"], {"x": _ort(X)})[0], Y)
    with pytest.raises(TypeError, match="wanted an OrtValue"):
        session.run_with_ort_values(None, {"x": X})


KINDS = {
    "bfloat16": "bfloat16[2] x",
    "texts": "string[2] x",
    "list": "seq(float[2]) x",
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_value_travels(kind, engines) -> None:
    import ml_dtypes

    values = {
        "bfloat16": np.array([1, 2], ml_dtypes.bfloat16),
        "texts": np.array(["a", "bc"], object),
        "list": [np.array([1, 2], np.float32), np.array([3], np.float32)],
    }
    declared = KINDS[kind]
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
g ({declared}) => ({declared.replace("x", "y")}) {{ y = Identity (x) }}"""
    text = text.replace("seq(float[2])", "seq(float[2])")
    session = treadle.InferenceSession(text, engines=engines)
    value = values[kind]
    (made,) = session.run_with_ort_values(None, {"x": _of(session, value)})
    (again,) = session.run(None, {"x": made})
    if isinstance(value, list):
        assert [a.tolist() for a in again] == [a.tolist() for a in value]
    else:
        assert again.dtype == value.dtype
        assert again.tolist() == value.tolist()


def _of(session, value):
    from treadle import delegate

    return delegate.to_ortvalue(value, session.output_type("y"))


def test_an_asynchronous_run_tells_its_outputs_or_its_error(engines) -> None:
    session = treadle.InferenceSession(MODEL, engines=engines)
    told, heard = [], threading.Event()

    def finished(outputs, data, error) -> None:
        told.append((outputs, data, error))
        heard.set()

    session.run_async(["y"], {"x": X}, finished, 7)
    assert heard.wait(20)
    assert np.array_equal(told[0][0][0], Y)
    assert told[0][1:] == (7, "")
    heard.clear()
    session.run_async(["y"], {"x": X.astype(np.int64)}, finished, 8)
    assert heard.wait(20)
    assert told[1][0] == []
    assert "int64" in told[1][2]
    with pytest.raises(ValueError, match=r"Required inputs \(\['x'\]\)"):
        session.run_async(None, {}, finished, 9)


def test_a_provider_that_is_not_there_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="'CUDAExecutionProvider' is not in available") as heard:
        session = treadle.InferenceSession(
            MODEL, providers=["CUDAExecutionProvider", "CPUExecutionProvider"]
        )
    assert heard[0].filename == __file__
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_provider_options() == {"CPUExecutionProvider": {}}


def test_an_unknown_provider_falls_back_or_is_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = treadle.InferenceSession(MODEL, providers=["Nobody"])
        assert session.get_providers() == ["CPUExecutionProvider"]
        with pytest.raises(RuntimeError, match="Unknown Provider Type: Nobody"):
            session.set_providers(["Nobody"])
        with pytest.raises(RuntimeError, match="Unknown Provider Type: Nobody"):
            treadle.InferenceSession(MODEL, providers=["Nobody"], enable_fallback=False)
    assert np.array_equal(session.run(["y"], {"x": X})[0], Y)


def test_other_providers_are_those_onnxruntime_registers() -> None:
    available = onnxruntime.get_available_providers()
    session = treadle.InferenceSession(MODEL, providers=available)
    peer = onnxruntime.InferenceSession(_bytes(), providers=available)
    assert session.get_providers() == peer.get_providers()
    assert session.get_provider_options() == peer.get_provider_options()
    session.set_providers(["CPUExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert np.array_equal(session.run(["y"], {"x": X})[0], Y)


def _bytes() -> bytes:
    from treadle.formats.onnx import to_bytes

    return to_bytes(treadle.load(MODEL))


@pytest.mark.parametrize("providers", [3, "CPUExecutionProvider", [3], [("A", 3)]])
def test_an_invalid_list_of_providers_is_a_value_error(providers) -> None:
    with pytest.raises(ValueError, match="provider"):
        treadle.InferenceSession(MODEL, providers=providers)


def test_free_dims_are_overridden(engines) -> None:
    options = treadle.SessionOptions()
    options.add_free_dimension_override_by_name("N", 3)
    session = treadle.InferenceSession(MODEL, options, engines=engines)
    assert [a.shape for a in session.get_inputs()] == [[3, 2]]
    assert session.get_outputs()[0].shape == [3, 2]
    assert np.array_equal(session.run(["y"], {"x": X})[0], Y)
    with pytest.raises(ValueError, match=r"\[3,2\] is wanted"):
        session.run(None, {"x": X[:1]})


def test_free_dims_are_overridden_by_denotation() -> None:
    import onnx

    proto = onnx.load_from_string(_bytes())
    proto.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    options = treadle.SessionOptions()
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 3)
    session = treadle.InferenceSession(proto.SerializeToString(), options)
    assert session.get_outputs()[0].shape == [3, 2]
    options.add_free_dimension_override_by_name("N", 4)
    with pytest.raises(ValueError, match="DATA_BATCH is overridden with 3"):
        treadle.InferenceSession(proto.SerializeToString(), options)


def test_initializers_are_taken_from_the_options(engines) -> None:
    options = treadle.SessionOptions()
    options.add_initializer("w", _ort(np.array([3, 4], np.float32)))
    options.add_initializer("unknown", _ort(np.array([3, 4], np.float32)))
    session = treadle.InferenceSession(MODEL, options, engines=engines)
    assert np.array_equal(session.run(["y"], {"x": X})[0], X * np.array([3, 4], np.float32))
    other = treadle.SessionOptions()
    other.add_initializer("w", _ort(np.array([3, 4])))
    with pytest.raises(ValueError, match=r'"w" is given as int64\[2\], wanted float32\[2\]'):
        treadle.InferenceSession(MODEL, other)


def test_external_data_are_taken_from_the_options(engines) -> None:
    import onnx

    proto = onnx.load_from_string(_bytes())
    (tensor,) = proto.graph.initializer
    tensor.ClearField("raw_data")
    tensor.ClearField("float_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", "w.bin"), ("offset", "4"), ("length", "8")):
        tensor.external_data.add(key=key, value=value)
    weights = np.array([3, 4], np.float32)
    by_value, by_file = treadle.SessionOptions(), treadle.SessionOptions()
    by_value.add_external_initializers(["w"], [_ort(weights)])
    data = b"----" + weights.tobytes() + b"more"
    by_file.add_external_initializers_from_files_in_memory(["w.bin"], [data], [12])
    for options in (by_value, by_file):
        session = treadle.InferenceSession(proto.SerializeToString(), options, engines=engines)
        assert np.array_equal(session.run(["y"], {"x": X})[0], X * weights)
    with pytest.raises(ValueError, match="has data of its own"):
        treadle.InferenceSession(MODEL, by_value)


def test_a_cancelled_load_raises() -> None:
    options = treadle.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(treadle.Terminated, match="set_load_cancellation_flag"):
        treadle.InferenceSession(MODEL, options)


def test_seeded_random_numbers_repeat() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
g () => (float[4] y) { y = RandomNormal <shape = [4]> () }"""

    def drawn(engines):
        treadle.set_seed(3)
        return treadle.InferenceSession(text, engines=engines).run(None, {})[0].tolist()

    assert drawn(("interp",)) == drawn(("interp",))
    assert drawn(None) == drawn(None)


def test_an_adapter_supplies_missing_feeds(tmp_path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, float[2] a = {0, 0}) => (float[2] y) { y = Add (x, a) }"""
    made = treadle.AdapterFormat()
    made.set_parameters({"a": _ort(np.array([1, 2], np.float32))})
    made.export_adapter(str(tmp_path / "a.onnx_adapter"))
    adapter, options = treadle.LoraAdapter(), treadle.RunOptions()
    adapter.Load(tmp_path / "a.onnx_adapter")
    options.add_active_adapter(adapter)
    session = treadle.InferenceSession(text)
    x = np.array([1, 1], np.float32)
    assert session.run(None, {"x": x}, options)[0].tolist() == [2, 3]
    assert session.run(None, {"x": x})[0].tolist() == [1, 1]
    with pytest.raises(ValueError, match="is not an adapter"):
        adapter.Load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("intra_op_num_threads", "2"),
        ("intra_op_num_threads", 2.5),
        ("enable_profiling", "yes"),
        ("graph_optimization_level", 99),
        ("execution_mode", treadle.GraphOptimizationLevel.ORT_DISABLE_ALL),
        ("profile_file_prefix", 3),
        ("omitted_condition", "go on"),
    ],
)
def test_options_are_checked_as_they_are_set(name, value) -> None:
    with pytest.raises(TypeError, match=f"{name} is"):
        setattr(treadle.SessionOptions(), name, value)


def test_options_of_a_run_are_checked_as_they_are_set() -> None:
    with pytest.raises(TypeError, match=r"RunOptions.max_seconds is '2' \(str\), wanted a number"):
        treadle.RunOptions(max_seconds="2")
    with pytest.raises(TypeError, match="max_iterations"):
        treadle.RunOptions(max_iterations=2.5)


def test_a_missing_name_of_onnxruntime_names_an_alternative() -> None:
    session = treadle.InferenceSession(MODEL)
    with pytest.raises(AttributeError, match="does not tune"):
        session.get_tuning_results()
    with pytest.raises(AttributeError, match="runs models; train in the framework"):
        _ = treadle.training
    with pytest.raises(AttributeError, match="providers by name"):
        treadle.SessionOptions().set_provider_selection_policy(3)
    assert not hasattr(session, "nothing_of_the_kind")
