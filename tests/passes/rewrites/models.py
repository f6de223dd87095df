"""Text models for tests of rewrites, and the comparison of two models' outputs."""

from __future__ import annotations

import numpy as np
import onnx

import treadle
from tests.passes.simplify.models import run, run_by_onnxruntime, saved
from treadle.formats import onnx as onnx_files
from treadle.ir import Loop, operator_of, walk


def model(text: str, opset: int = 17, ir: int = 10):
    local = ', "local" : 1' if "local" in text else ""
    return treadle.load(f'<ir_version: {ir}, opset_import: ["" : {opset}{local}]>\n{text}')


def same(before, after, feeds, close: bool = False) -> None:
    """Fail unless both models give the same in treadle, and the new one in onnxruntime."""
    wanted = run(before, feeds)
    onnx.checker.check_model(onnx_files.write_model(after), full_check=True)
    for found in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        for one, other in zip(found, wanted, strict=False):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            if close:
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(one, other)


def loops(found) -> int:
    return sum(isinstance(visit.step, Loop) for visit in walk(found))


def every_operator(found) -> list[str]:
    return [operator_of(visit.step) for visit in walk(found)]


def border(found) -> list[tuple[str, object]]:
    values = (*found.main.params, *found.main.results)
    return [(value.name, value.declared) for value in values]
