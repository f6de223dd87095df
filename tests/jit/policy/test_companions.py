"""Operators beside a loop that join its region."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from treadle import InferenceSession, SessionOptions
from treadle.jit.runtime import kernel_records

TEXT = """<ir_version: 8, opset_import: ["" : 18]>
g (float[T,2,{wide}] x, float[2,{wide}] h0) => (float[T,2,{wide}] y) {{
  turned = Transpose <perm = [1, 0]> (w)
  half = Cast <to = 1> (turned)
  last, y = Scan <num_scan_inputs = 1, body = b (float[2,{wide}] h, float[2,{wide}] v)
    => (float[2,{wide}] h1, float[2,{wide}] out) {{
    p = MatMul (h, half)
    s = Add (p, v)
    h1 = Tanh (s)
    out = Identity (h1)
  }}> (h0, x)
}}"""


def model(wide: int, rng: np.random.Generator, *, is_input: bool = False) -> bytes:
    """An RNN whose weights are transposed and converted beside the loop."""
    made = onnx.parser.parse_model(TEXT.format(wide=wide))
    if is_input:
        made.graph.input.append(
            onnx.helper.make_tensor_value_info("w", onnx.TensorProto.DOUBLE, [wide, wide])
        )
    else:
        weight = rng.uniform(-0.02, 0.02, (wide, wide))
        made.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    return bytes(made.SerializeToString())


@pytest.mark.parametrize(("is_input", "regions"), [(False, 1), (True, 2)])
def test_moves_of_large_constants_join(
    is_input: bool, regions: int, rng: np.random.Generator
) -> None:
    """They are folded, however large; those of an input are computed in each run."""
    data = model(800, rng, is_input=is_input)
    session = InferenceSession(data)
    assert len(session.plan.main.regions) == regions
    feed = {
        "x": rng.uniform(-1, 1, (5, 2, 800)).astype(np.float32),
        "h0": np.zeros((2, 800), np.float32),
    }
    if is_input:
        feed["w"] = rng.uniform(-0.02, 0.02, (800, 800))
    found = session.run(None, feed)
    wanted = InferenceSession(data, engines=("interp",)).run(None, feed)
    np.testing.assert_allclose(found[0], wanted[0], 1e-4, 1e-5)


@pytest.mark.parametrize(("most", "count"), [(2**26, 1), (1000, 0)])
def test_kernels_of_large_constants_have_no_record(
    most: int, count: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    written: list[bytes] = []
    monkeypatch.setattr(kernel_records, "_MAX_CONSTANT_BYTES", most)
    monkeypatch.setattr(kernel_records._Pickler, "dump", lambda self, record: written.append(b""))
    options = SessionOptions()
    options.cache_dir = str(tmp_path)
    path = tmp_path / "model.onnx"
    path.write_bytes(model(40, rng))
    session = InferenceSession(path, options)
    feed = {
        "x": rng.uniform(-1, 1, (5, 2, 40)).astype(np.float32),
        "h0": np.zeros((2, 40), np.float32),
    }
    session.run(None, feed)
    assert len(written) == count
