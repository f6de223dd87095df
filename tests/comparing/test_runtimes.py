"""Models compared in onnx.reference and OpenVINO, and what these runtimes refuse."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.comparing.runtimes import RUNTIMES
from treadle.errors import RunError, Unsupported

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
LOOP = f"""{HEAD}g (float[2] x, int64 n) => (float[2] y) {{
  yes = Constant <value = bool {{1}}> ()
  y = Loop (n, yes, x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t) {{
    on = Identity (go) t = Add (s, x)
  }}>
}}"""
FEEDS = {"x": np.float32([1, 2]), "n": np.array(3)}
GATHER = f"{HEAD}g (float[2] x, int64[1] i) => (float[1] y) {{ y = Gather (x, i) }}"


def expect_installed(runtime: str) -> None:
    if runtime == "openvino":
        pytest.importorskip("openvino")


@pytest.mark.parametrize("runtime", ["onnxruntime", "reference", "openvino"])
def test_a_model_agrees_with_interp(runtime: str) -> None:
    expect_installed(runtime)
    found = treadle.compare((LOOP, runtime), (LOOP, "interp"), FEEDS, values="t")
    assert found, str(found)


@pytest.mark.parametrize("runtime", ["onnxruntime", "reference"])
def test_an_error_of_a_runtime_names_it(runtime: str) -> None:
    run = RUNTIMES[runtime](treadle.load(GATHER))
    with pytest.raises(RunError, match=f"{'onnx.' * (runtime == 'reference')}{runtime}: "):
        run({"x": np.float32([1, 2]), "i": np.array([7])})


def test_a_model_that_openvino_does_not_take_is_unsupported() -> None:
    expect_installed("openvino")
    text = f"{HEAD}g (float[2] x, float[3] z) => (float[2] y) {{ y = Identity (x) }}"
    run = RUNTIMES["openvino"](treadle.load(text))
    with pytest.raises(Unsupported, match="OpenVINO"):
        run({"x": np.float32([[1, 2, 3]]), "z": np.float32([1])})
