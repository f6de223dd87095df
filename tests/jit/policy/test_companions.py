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


JOINED = """<ir_version: 8, opset_import: ["" : 18]>
g (int64 n, float[{wide}, {wide}] x) => (float[{wide}, {wide}] y) {{
  axis = Constant <value = int64[1] {{0}}> ()
  zero = Constant <value = int64 {{0}}> ()
  one = Constant <value = int64 {{1}}> ()
  row = Unsqueeze (x, axis)
  states = Concat <axis = 0> (row, row)
  last = Loop (n, , states) <body = b (int64 i, bool go, float[2, {wide}, {wide}] s)
    => (bool on, float[2, {wide}, {wide}] t) {{
    on = Identity (go)
    p = Gather <axis = 0> (s, zero)
    q = Gather <axis = 0> (s, one)
    pq = Add (p, q)
    above = Unsqueeze (q, axis)
    below = Unsqueeze (pq, axis)
    t = Concat <axis = 0> (above, below)
  }}>
  y = Gather <axis = 0> (last, one)
}}"""


def test_states_joined_outside_a_loop_join_it_at_any_size(rng: np.random.Generator) -> None:
    """The loop takes them apart, so that none is copied."""
    text = JOINED.format(wide=600)
    session = InferenceSession(text)
    assert len(session.plan.main.regions) == 1
    feed = {"n": np.array(4), "x": rng.integers(0, 9, (600, 600)).astype(np.float32)}
    for _ in range(2):
        np.testing.assert_array_equal(session.run(None, feed)[0], feed["x"] * 8)


LOOKUP = """<ir_version: 8, opset_import: ["" : 18]>
g (int64 n, int64 token) => (float[64] y) {
  start = Gather <axis = 0> (table, token)
  y = Loop (n, , start) <body = b (int64 i, bool go, float[64] s) => (bool on, float[64] t) {
    on = Identity (go)
    t = Add (s, s)
  }>
}"""


@pytest.mark.parametrize(("rows", "regions"), [(100, 1), (4000, 2)])
def test_large_tables_are_no_part_of_a_kernel(
    rows: int, regions: int, rng: np.random.Generator
) -> None:
    made = onnx.parser.parse_model(LOOKUP)
    table = rng.random((rows, 64), np.float32)
    made.graph.initializer.append(onnx.numpy_helper.from_array(table, "table"))
    session = InferenceSession(made.SerializeToString())
    assert len(session.plan.main.regions) == regions
    found = session.run(None, {"n": np.array(2), "token": np.array(7)})
    np.testing.assert_array_equal(found[0], table[7] * 4)


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
