"""Products of uint8 by int8: right by onnxruntime, also where its own kernels saturate."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import treadle
from treadle.delegate.workarounds.byte_products import saturates

node, info = helper.make_node, helper.make_tensor_value_info
FIRST = np.full((3, 64), 255, np.uint8)
SECOND = np.full((64, 16), 127, np.int8)
SECOND[:, 1::2] = -128
WHOLE = FIRST.astype(np.int64) @ SECOND.astype(np.int64)
MIDDLE, NOUGHT = np.uint8(128), np.int8(0)
LARGE = 20_000 * np.float32(1)


def constants(**arrays: np.ndarray | np.generic) -> list[onnx.TensorProto]:
    """Initializers of these names."""
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()]


def answer(nodes, inputs, outputs, initializers, feeds, level="ENABLE_ALL"):
    """The first output by onnxruntime."""
    graph = helper.make_graph(nodes, "main", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    options = treadle.SessionOptions()
    options.graph_optimization_level = getattr(treadle.GraphOptimizationLevel, f"ORT_{level}")
    session = treadle.InferenceSession(
        model.SerializeToString(), options, engines=("onnxruntime", "interp")
    )
    return session.run(None, feeds)[0]


@pytest.mark.parametrize("level", ["DISABLE_ALL", "ENABLE_ALL"])
@pytest.mark.parametrize("zeros", [{}, {"az": np.uint8(7)}, {"az": np.uint8(7), "bz": np.int8(5)}])
@pytest.mark.parametrize("is_fed", [True, False])
def test_products_of_whole_numbers(is_fed, zeros, level):
    inputs = [info("a", TensorProto.UINT8, ["N", 64])]
    inputs += [info("b", TensorProto.INT8, [64, 16])] * is_fed
    feeds = {"a": FIRST, **({"b": SECOND} if is_fed else {})}
    made = constants(**zeros, **({} if is_fed else {"b": SECOND}))
    product = node("MatMulInteger", ["a", "b", *zeros], ["y"])
    found = answer([product], inputs, [info("y", TensorProto.INT32, ["N", 16])], made, feeds, level)
    first, second = FIRST.astype(np.int64), SECOND.astype(np.int64)
    np.testing.assert_array_equal(
        found, (first - zeros.get("az", MIDDLE * 0)) @ (second - zeros.get("bz", NOUGHT))
    )


@pytest.mark.parametrize("scales", [np.float32(1), np.linspace(0.5, 1, 16, dtype=np.float32)])
@pytest.mark.parametrize("is_in_body", [True, False])
def test_products_of_quantized_matrices(is_in_body, scales):
    zero = np.zeros(scales.shape, np.int8)
    made = constants(s=np.float32(1), z=np.uint8(0), b=SECOND, t=scales, w=zero, u=LARGE, v=MIDDLE)
    product = node("QLinearMatMul", ["a", "s", "z", "b", "t", "w", "u", "v"], ["y"])
    check(product, is_in_body, made, scales)


@pytest.mark.parametrize(("first", "second"), [("int8", "uint8"), ("uint8", "int8")])
@pytest.mark.parametrize("zeros", [[], ["xz"], ["xz", "wz"]])
def test_convolutions_of_whole_numbers(zeros, first, second):
    x, w = (
        np.full(s, np.iinfo(t).max, t) for s, t in (((1, 2, 6, 6), first), ((3, 2, 3, 3), second))
    )
    made = constants(w=w, xz=np.zeros((), first), wz=np.zeros((), second))
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    product = node("ConvInteger", ["x", "w", *zeros], ["y"])
    inputs, y = [info("x", element, x.shape)], info("y", TensorProto.INT32, [1, 3, 4, 4])
    found = answer([product], inputs, [y], made, {"x": x})
    np.testing.assert_array_equal(
        found, np.full((1, 3, 4, 4), 18 * int(x.flat[0]) * int(w.flat[0]))
    )


@pytest.mark.parametrize("fed", ["b", "t", "w", "tw"])
def test_products_that_onnxruntime_makes_of_inputs(fed):
    arrays = {"b": SECOND, "t": np.float32(1), "w": np.int8(0)}
    made = constants(s=np.float32(1), z=np.uint8(0), u=LARGE, v=MIDDLE)
    made += constants(**{name: array for name, array in arrays.items() if name not in fed})
    nodes = [
        node("DequantizeLinear", ["a", "s", "z"], ["x"]),
        node("DequantizeLinear", ["b", "t", "w"], ["f"]),
        node("MatMul", ["x", "f"], ["m"]),
        node("QuantizeLinear", ["m", "u", "v"], ["y"]),
    ]
    feeds = {"a": FIRST, **{name: arrays[name] for name in fed}}
    inputs = [
        info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in feeds.items()
    ]
    found = answer(nodes, inputs, [info("y", TensorProto.UINT8, [3, 16])], made, feeds)
    wanted = np.clip(np.rint(WHOLE / LARGE) + 128, 0, 255)
    assert np.abs(found.astype(np.int64) - wanted).max() <= 1


@pytest.mark.parametrize("scales", [np.float32(1), np.linspace(0.5, 1, 16, dtype=np.float32)])
@pytest.mark.parametrize("has_zero", [True, False])
@pytest.mark.parametrize("is_in_body", [True, False])
def test_products_that_onnxruntime_makes(is_in_body, has_zero, scales):
    zeros = {"w": np.zeros(scales.shape, np.int8)} if has_zero else {}
    made = constants(s=np.float32(1), z=np.uint8(0), b=SECOND, t=scales, u=LARGE, v=MIDDLE, **zeros)
    nodes = [
        node("DequantizeLinear", ["a", "s", "z"], ["x"]),
        node("DequantizeLinear", ["b", "t", *zeros], ["f"], axis=1),
        node("MatMul", ["x", "f"], ["m"]),
        node("QuantizeLinear", ["m", "u", "v"], ["y"]),
    ]
    check(nodes, is_in_body, made, scales)


def check(nodes, is_in_body, made, scales):
    """The product is that of numpy, to one step of the last rounding."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    inputs, shape = [info("a", TensorProto.UINT8, [3, 64])], [3, 16]
    result = info("y", TensorProto.UINT8, shape)
    if is_in_body:
        ends = [node("Identity", ["on"], ["more"])]
        body = helper.make_graph(
            [*nodes, *ends], "body",
            [info("i", TensorProto.INT64, []), info("on", TensorProto.BOOL, []),
             info("before", TensorProto.UINT8, shape)],
            [info("more", TensorProto.BOOL, []), result],
        )  # fmt: skip
        made = made + constants(n=np.int64(2), start=np.zeros(shape, np.uint8))
        nodes = [node("Loop", ["n", "", "start"], ["last"], body=body)]
        result = info("last", TensorProto.UINT8, shape)
    found = answer(nodes, inputs, [result], made, {"a": FIRST})
    wanted = np.clip(np.rint(WHOLE * scales / LARGE) + 128, 0, 255)
    assert np.abs(found.astype(np.int64) - wanted).max() <= 1


def test_whether_the_machine_saturates_is_a_bool():
    assert saturates() in (True, False)
