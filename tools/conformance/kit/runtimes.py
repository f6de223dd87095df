"""The known runtimes: each loads a model and returns a function that runs it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

Run = Callable[[dict[str, Any]], list[Any]]
"""Maps inputs by name to a list of outputs."""


def treadle(path: Path) -> Run:
    """Treadle with its default engines."""
    from treadle import InferenceSession

    session = InferenceSession(path)
    return lambda feeds: list(session.run(None, feeds))


def treadle_interp(path: Path) -> Run:
    """Treadle with interp alone."""
    from treadle import InferenceSession

    session = InferenceSession(path, engines=["interp"])
    return lambda feeds: list(session.run(None, feeds))


def reference(path: Path) -> Run:
    """Onnx's reference evaluator, which represents an optional as a list of one element."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(path))
    outputs = onnx.load(path).graph.output
    optional = [each.type.HasField("optional_type") for each in outputs]

    def run(feeds: dict[str, Any]) -> list[Any]:
        given = zip(evaluator.run(None, feeds), optional, strict=True)
        return [
            v[0] if is_one and isinstance(v, list) and len(v) == 1 else v for v, is_one in given
        ]

    return run


def onnxruntime(path: Path) -> Run:
    """Onnxruntime on the CPU with one thread; types that numpy lacks are passed as OrtValues."""
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    borders = [each.type for each in (*session.get_inputs(), *session.get_outputs())]
    if not any(word in text for text in borders for word in ("bfloat", "float8", "int4", "int2")):
        return lambda feeds: list(session.run(None, feeds))
    names = [each.name for each in session.get_outputs()]

    def run(feeds: dict[str, Any]) -> list[Any]:
        given = {name: _ort_value(ort, value) for name, value in feeds.items()}
        return [_ort_array(each) for each in session.run_with_ort_values(names, given)]

    return run


def _ort_value(ort: Any, array: np.ndarray) -> Any:
    if array.dtype.isbuiltin == 1:
        return ort.OrtValue.ortvalue_from_numpy(array)
    number = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    raw = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, number)


def _ort_array(value: Any) -> np.ndarray:
    dtype = onnx.helper.tensor_dtype_to_np_dtype(value.element_type())
    if dtype.isbuiltin == 1 or not value.is_tensor():
        return value.numpy()
    size = value.tensor_size_in_bytes()
    raw = bytes((ctypes.c_uint8 * size).from_address(value.data_ptr())) if size else b""
    return np.frombuffer(raw, dtype).reshape(value.shape())


def openvino(path: Path) -> Run:
    """OpenVINO on the CPU, in the precision of the model.

    With INFERENCE_NUM_THREADS=1 OpenVINO 2026.4 loses errors of a run and gives old memory.
    """
    import openvino as ov

    core = ov.Core()
    hints = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(core.read_model(path), "CPU", hints)
    request = compiled.create_infer_request()

    def run(feeds: dict[str, Any]) -> list[Any]:
        request.infer({name: _ov_value(ov, value) for name, value in feeds.items()})
        return [_ov_array(request.get_tensor(port)) for port in compiled.outputs]

    return run


def _ov_value(ov: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == ml_dtypes.bfloat16:
        return ov.Tensor(np.ascontiguousarray(value).view(np.uint16), value.shape, ov.Type.bf16)
    if isinstance(value, np.ndarray) and value.dtype == object:
        return ov.Tensor(value.astype(str))
    return value


def _ov_array(tensor: Any) -> np.ndarray:
    if tensor.get_element_type().get_type_name() == "string":
        return tensor.str_data
    data = tensor.data.copy()
    if tensor.get_element_type().get_type_name() == "bf16":
        return data.view(ml_dtypes.bfloat16)
    return data


RUNTIMES: Mapping[str, tuple[str, Callable[[Path], Run]]] = {
    "treadle": ("treadle", treadle),
    "treadle.interp": ("treadle", treadle_interp),
    "onnxruntime": ("onnxruntime", onnxruntime),
    "onnx.reference": ("onnx", reference),
    "openvino": ("openvino", openvino),
}
"""For each runtime, the package that has its version, and the function that loads a model."""
