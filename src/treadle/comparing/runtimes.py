"""Runs a model in a named runtime: treadle's engines, onnxruntime, OpenVINO, onnx.reference."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from treadle import delegate, passes
from treadle.errors import InputError, RunError, Unsupported
from treadle.feeds import convert
from treadle.formats.onnx import reference_run, to_bytes
from treadle.ir import Model
from treadle.recording import Prepare, Run
from treadle.session import InferenceSession

Feeds = Mapping[str, Any]


def prepared_in(runtime: str) -> Prepare:
    """Prepares models for a runtime; raises InputError if it is not installed."""

    def prepare(model: Model) -> Run:
        types = {param.name: param.type for param in model.main.params}
        run = RUNTIMES[runtime](model)
        return lambda feeds: run({k: convert(v, types.get(k)) for k, v in feeds.items()})

    return prepare


def prepared_on(engines: Sequence[str] | None) -> Prepare:
    """How treadle makes models ready on these engines; on the default ones for None."""

    def prepare(model: Model) -> Run:
        session = InferenceSession(model, engines=engines)
        names = [each.name for each in session.get_outputs()]
        return lambda feeds: dict(zip(names, session.run(None, feeds), strict=True))

    return prepare


def _in_onnxruntime(model: Model) -> Run:
    written = passes.to_onnx_loops(model)
    in_onnxruntime = delegate.baseline(to_bytes(written))

    def run(feeds: Feeds) -> dict[str, Any]:
        try:
            outputs = in_onnxruntime(feeds)
        except Exception as error:  # noqa: BLE001  border: onnxruntime raises its own kinds
            raise RunError(f"onnxruntime: {' '.join(str(error).split())}", "main") from None
        return dict(zip(_names(written), outputs, strict=True))

    return run


def _in_reference(model: Model) -> Run:
    written = passes.to_onnx_loops(model)

    def run(feeds: Feeds) -> dict[str, Any]:
        try:
            outputs = reference_run(written, dict(feeds))
        except Exception as error:  # noqa: BLE001  border: onnx.reference raises anything
            raise RunError(f"onnx.reference: {' '.join(str(error).split())}", "main") from None
        return dict(zip(_names(written), outputs, strict=True))

    return run


def _in_openvino(model: Model) -> Run:
    try:
        import openvino
    except ImportError:
        raise InputError("OpenVINO is not installed: pip install openvino") from None
    from treadle.api import save

    names = _names(model)
    with tempfile.TemporaryDirectory() as folder, _openvino_errors():
        path = Path(folder) / "model.xml"
        save(model, path)
        exact = {"INFERENCE_PRECISION_HINT": "f32"}
        request = openvino.Core().compile_model(str(path), "CPU", exact).create_infer_request()

    def run(feeds: Feeds) -> dict[str, Any]:
        with _openvino_errors():
            request.infer({name: np.asarray(value) for name, value in feeds.items()})
            return {name: request.get_output_tensor(k).data.copy() for k, name in enumerate(names)}

    return run


@contextmanager
def _openvino_errors() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        raise Unsupported("OpenVINO", None, " ".join(str(error).split())) from None


def _names(model: Model) -> list[str]:
    return ["" if value is None else value.name for value in model.main.results]


RUNTIMES: Mapping[str, Prepare] = {
    "treadle": prepared_on(None),
    "jit": prepared_on(("jit", "onnxruntime", "interp")),
    "interp": prepared_on(("interp",)),
    "onnxruntime": _in_onnxruntime,
    "openvino": _in_openvino,
    "reference": _in_reference,
}
"""`onnxruntime` is onnxruntime alone; `jit` and `interp` are treadle with this engine first."""
