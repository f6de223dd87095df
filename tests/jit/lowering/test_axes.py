"""Axes that an operand has not, in a loop over a tensor whose rank is unknown before the run.

Type inference cannot refuse them, so native code must fail where interp fails.
"""

import numpy as np
import pytest
from onnx import parser

import treadle

CASES = [
    "ReduceSum <axes = [{axis}]> (x)",
    "ReduceMax <axes = [{axis}], keepdims = 0> (x)",
    "ReduceMean <axes = [{axis}], keepdims = 0> (x)",
    "Concat <axis = {axis}> (x, x)",
    "Gather <axis = {axis}> (x, first)",
    "Squeeze <axes = [{axis}]> (x)",
    "Unsqueeze <axes = [{further}]> (x)",
    "Transpose <perm = [{axis}, 0]> (x)",
]
HEAD = '<ir_version: 8, opset_import: ["": 11]>'


def model(call):
    return parser.parse_model(f"""{HEAD} g (int64 n, float[2] s, float x) => (float[2] t, float ys)
      <int64[1] first = {{0}}> {{
      t, ys = Loop (n, "", s) <body = b (int64 i, bool c, float[2] u)
          => (bool d, float[2] v, float y) {{
        d = Identity (c)
        v = Identity (u)
        y = {call}
      }}>
    }}""")


def run(call, x, engines):
    built = model(call)
    for value in (built.graph.input[2], built.graph.output[1]):
        value.type.tensor_type.ClearField("shape")
    body = built.graph.node[0].attribute[0].g
    body.output[2].type.tensor_type.ClearField("shape")
    session = treadle.InferenceSession(built.SerializeToString(), engines=engines)
    feeds = {"n": np.array(2), "s": np.ones(2, np.float32), "x": x}
    return session.run(None, feeds)[1]


@pytest.mark.parametrize("engines", [("interp",), ("jit", "interp"), None])
@pytest.mark.parametrize("call", CASES)
@pytest.mark.parametrize("rank", [1, 2])
def test_an_axis_out_of_range_fails_on_every_engine(call, rank, engines, rng):
    x = rng.standard_normal((2,) * rank).astype(np.float32)
    with pytest.raises(treadle.KernelError, match="loop_0"):
        run(call.format(axis=rank, further=rank + 1), x, engines)
    with pytest.raises(treadle.KernelError, match="loop_0"):
        run(call.format(axis=-rank - 1, further=-rank - 2), x, engines)


@pytest.mark.parametrize("call", ["Softmax <axis = 1> (x)", "Transpose <perm = [1, 0]> (x)"])
def test_an_axis_that_is_there_is_taken(call, rng):
    x = rng.standard_normal((2, 2)).astype(np.float32)
    native = run(call, x, ("jit", "interp"))
    np.testing.assert_allclose(native, run(call, x, ("interp",)), rtol=1e-6)


@pytest.mark.parametrize("engines", [("interp",), ("jit", "interp"), None])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_the_operator_does_not_take_fails_on_every_engine(rank, engines, rng):
    x = np.asarray(rng.standard_normal((2,) * rank), np.float32)
    with pytest.raises(treadle.KernelError, match="rank"):
        run("DepthToSpace <blocksize = 1> (x)", x, engines)


@pytest.mark.parametrize("engines", [("interp",), ("jit", "interp"), None])
@pytest.mark.parametrize(
    "call", ['BitShift <direction = "UP"> (k, k)', "Conv <pads = [1, -2]> (p, p)"]
)
def test_attributes_without_a_meaning_fail_on_every_engine(call, engines):
    text = f"""{HEAD} g (int64 n) => (float ys)
      <uint8[1] k = {{1}}, float[1,1,3] p = {{1, 2, 3}}> {{
      ys = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float y) {{
        d = Identity (c)
        y = {call}
      }}>
    }}"""
    built = parser.parse_model(text)
    body = built.graph.node[0].attribute[0].g
    for value in (built.graph.output[0], body.output[1]):
        value.type.tensor_type.ClearField("shape")
        value.type.tensor_type.elem_type = 2 if "BitShift" in call else 1
    with pytest.raises(treadle.TreadleError):
        treadle.InferenceSession(built.SerializeToString(), engines=engines).run(
            None, {"n": np.array(2)}
        )
