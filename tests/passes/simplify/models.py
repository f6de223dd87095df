"""Runs simplified text models in treadle and onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnxruntime
import onnxruntime.capi.onnxruntime_pybind11_state as states

import treadle
from tests.values import assert_same
from treadle.formats import onnx as onnx_files
from treadle.ir import Model, operator_of, walk
from treadle.passes import FOR_RUNTIMES, Report, repair, simplify, to_onnx_loops

ITS_ERRORS = (states.Fail, states.InvalidArgument, states.RuntimeException)


def load(text: str, opset: int = 21, ir: int = 10) -> Model:
    return treadle.load(f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n{text}')


def cleaned(text: str, *passes, opset: int = 21, ir: int = 10) -> tuple[Model, Report]:
    """The model after some passes, or after all."""
    model = load(text, opset, ir)
    return simplify(model, passes) if passes else simplify(model)


def operators(model: Model, inside: str = "main") -> list[str]:
    """The operators of the block at a path, in order."""
    found = [v for v in walk(model) if v.path.rpartition("/")[0] == inside]
    return [operator_of(visit.step) for visit in found]


def saved(model: Model) -> bytes:
    """The model as a file that every runtime takes."""
    mended = repair(model, FOR_RUNTIMES)[0]
    return onnx_files.write_model(to_onnx_loops(mended)).SerializeToString()


def run(model: object, feeds: Mapping[str, object]) -> list:
    return treadle.InferenceSession(model, engines=("interp",)).run(None, dict(feeds))


def run_by_onnxruntime(data: bytes, feeds: Mapping[str, object]) -> list:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {name: _plain(value) for name, value in feeds.items()})


def _plain(value: object) -> object:
    return value if isinstance(value, list) else np.asarray(value)


def same(before: Model, after: Model, *inputs: object) -> None:
    """Fail unless both models give the same, in treadle and in onnxruntime."""
    names = [value.name for value in before.main.results]
    assert [value.name for value in after.main.results] == names
    assert [value.name for value in after.main.params] == [v.name for v in before.main.params]
    feeds = dict(zip((value.name for value in before.main.params), inputs, strict=True))
    assert_same(run(after, feeds), run(before, feeds), names)
    by_onnxruntime = run_by_onnxruntime(saved(after), feeds)
    assert_same(by_onnxruntime, run_by_onnxruntime(saved(before), feeds), names)
