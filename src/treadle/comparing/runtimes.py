"""A model in a runtime by name: treadle's engines, onnxruntime alone, OpenVINO, onnx.reference."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treadle import delegate, passes
from treadle.errors import InputError, RunError, Unsupported
from treadle.feeds import convert
from treadle.formats.onnx import reference_run, to_bytes
from treadle.ir import Model
from treadle.session import InferenceSession

Feeds = Mapping[str, Any]


def run_in(runtime: str, model: Model, feeds: Feeds) -> dict[str, Any]:
    """The outputs of the model by name; InputError where the runtime is not installed."""
    types = {param.name: param.type for param in model.main.params}
    given = {name: convert(value, types.get(name)) for name, value in feeds.items()}
    return RUNTIMES[runtime](model, given)


def _in_engine(*engines: str) -> Callable[[Model, Feeds], dict[str, Any]]:
    def run(model: Model, feeds: Feeds) -> dict[str, Any]:
        session = InferenceSession(model, engines=engines or None)
        names = [each.name for each in session.get_outputs()]
        return dict(zip(names, session.run(None, feeds), strict=True))

    return run


def _in_onnxruntime(model: Model, feeds: Feeds) -> dict[str, Any]:
    written = passes.to_onnx_loops(model)
    run = delegate.baseline(to_bytes(written))
    try:
        outputs = run(feeds)
    except Exception as error:  # noqa: BLE001  border: onnxruntime raises its own kinds
        raise RunError(f"onnxruntime: {' '.join(str(error).split())}", "main") from None
    return dict(zip(_names(written), outputs, strict=True))


def _in_reference(model: Model, feeds: Feeds) -> dict[str, Any]:
    written = passes.to_onnx_loops(model)
    try:
        outputs = reference_run(written, dict(feeds))
    except Exception as error:  # noqa: BLE001  border: onnx.reference raises anything
        raise RunError(f"onnx.reference: {' '.join(str(error).split())}", "main") from None
    return dict(zip(_names(written), outputs, strict=True))


def _in_openvino(model: Model, feeds: Feeds) -> dict[str, Any]:
    try:
        import openvino
    except ImportError:
        raise InputError("OpenVINO is not installed: pip install openvino") from None
    from treadle.api import save

    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        save(model, path)
        try:
            compiled = openvino.Core().compile_model(str(path), "CPU", exact)
            request = compiled.create_infer_request()
            request.infer({name: np.asarray(value) for name, value in feeds.items()})
        except RuntimeError as error:
            raise Unsupported("OpenVINO", None, " ".join(str(error).split())) from None
        names = _names(model)
        return {name: request.get_output_tensor(k).data.copy() for k, name in enumerate(names)}


def _names(model: Model) -> list[str]:
    return ["" if value is None else value.name for value in model.main.results]


RUNTIMES: Mapping[str, Callable[[Model, Feeds], dict[str, Any]]] = {
    "treadle": _in_engine(),
    "jit": _in_engine("jit", "onnxruntime", "interp"),
    "interp": _in_engine("interp"),
    "onnxruntime": _in_onnxruntime,
    "openvino": _in_openvino,
    "reference": _in_reference,
}
"""`onnxruntime` is onnxruntime alone; `jit` and `interp` are treadle with this engine first."""
