"""Attributes and operands for which onnxruntime and interp once gave different answers.

`python -m tools.changed_nodes` finds them. Each wanted value is by the standard's own formula.
"""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import treadle
from treadle import TreadleError

BOTH = pytest.mark.parametrize("engines", [None, ["interp"]])


def run(engines, node, feeds, opset=22, outputs=("y",)):
    info = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in feeds.items()
    ]
    kind = helper.np_dtype_to_tensor_dtype(next(iter(feeds.values())).dtype)
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    graph = helper.make_graph([node], "g", info, results)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 5)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = {} if engines is None else {"engines": engines}
    return treadle.InferenceSession(model.SerializeToString(), **options).run(None, feeds)


@BOTH
@pytest.mark.parametrize(("stride", "where"), [(4, "SAME_UPPER"), (5, "SAME_LOWER")])
def test_transposed_convolutions_keep_the_extent_times_the_stride(engines, stride, where):
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], auto_pad=where, strides=[stride])
    feeds = {"x": np.ones((1, 1, 3), np.float32), "w": np.ones((1, 1, 2), np.float32)}
    (y,) = run(engines, node, feeds)
    before, after = sorted([(stride - 2) // 2, stride - 2 - (stride - 2) // 2])
    before, after = (after, before) if where == "SAME_UPPER" else (before, after)
    kernels = ([1, 1] + [0] * (stride - 2)) * 3
    whole = [0] * before + kernels[: len(kernels) - (stride - 2)] + [0] * after
    assert y.tolist() == [[whole]]


@BOTH
def test_no_variance_is_below_0(engines, rng):
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[-1])
    (y,) = run(engines, node, {"x": rng.random((3, 3, 3, 1)).astype(np.float32)})
    assert not y.any()


@BOTH
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("clip", [float("nan"), -1.0])
def test_a_clip_is_a_number_of_0_or_more(engines, op, clip, rng):
    if engines is None and clip == -1.0:
        pytest.skip("onnxruntime reads it as no clip")
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    node = helper.make_node(op, ["x", "w", "r"], ["y"], hidden_size=2, clip=clip)
    shapes = {"x": (1, 1, 2), "w": (1, 2 * gates, 2), "r": (1, 2 * gates, 2)}
    feeds = {name: rng.random(shape).astype(np.float32) for name, shape in shapes.items()}
    with pytest.raises(TreadleError, match="clip is"):
        run(engines, node, feeds)


@BOTH
def test_a_scale_that_is_nan_makes_nan(engines, rng):
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], scale=float("nan"))
    feeds = {name: rng.random((1, 1, 2, 4)).astype(np.float32) for name in "qkv"}
    (y,) = run(engines, node, feeds, 24)
    assert np.isnan(y).all()


@pytest.mark.parametrize("outputs", [["y"], ["y", "key"], ["y", "", "", "p"]])
@pytest.mark.parametrize("mode", [-1, 4, 2**40])
def test_an_output_mode_that_does_not_exist_gives_one_answer(mode, outputs, rng):
    node = helper.make_node("Attention", ["q", "k", "v"], outputs, qk_matmul_output_mode=mode)
    feeds = {name: rng.random((1, 1, 2, 4)).astype(np.float32) for name in "qkv"}
    names = tuple(filter(None, outputs))
    found, wanted = (run(each, node, feeds, 24, names) for each in (None, ["interp"]))
    assert len(found) == len(names)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@BOTH
def test_a_crop_names_as_many_extents_as_axes(engines):
    node = helper.make_node("CenterCropPad", ["x", "shape"], ["y"])
    with pytest.raises(TreadleError, match="shape has 1 extents for 2 axes"):
        run(engines, node, {"x": np.ones((4, 6), np.float32), "shape": np.array([2])})
    (y,) = run(engines, node, {"x": np.ones((4, 6), np.float32), "shape": np.array([2, 8])})
    assert y.sum(axis=0).tolist() == [0, 2, 2, 2, 2, 2, 2, 0]


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
def test_axes_that_do_not_exist(op):
    node = helper.make_node(op, ["x"], ["y"], axis=2**31 - 1)
    with pytest.raises(TreadleError, match=r"out of range for rank 2|must be in"):
        run(["interp"], node, {"x": np.ones((2, 2), np.float32)}, 11)


X = np.ones((1, 3, 1), np.float32)


@BOTH
def test_axes_that_are_given_but_none_remove_no_axis(engines):
    node = helper.make_node("Squeeze", ["x", "axes"], ["y"])
    (y,) = run(engines, node, {"x": X, "axes": np.zeros(0, np.int64)})
    assert y.shape == X.shape
    node = helper.make_node("Squeeze", ["x"], ["y"])
    node.attribute.add(name="axes", type=onnx.AttributeProto.INTS)
    (y,) = run(engines, node, {"x": X}, 11)
    assert y.shape == X.shape
    (y,) = run(engines, helper.make_node("Squeeze", ["x"], ["y"]), {"x": X})
    assert y.shape == (3,)


@BOTH
@pytest.mark.parametrize("extents", [(1, 1), (1, 3), (3, 1), (3, 3)])
def test_an_only_aligned_pixel_is_at_the_lower_end(engines, extents):
    theta = np.array([[[2.0, 3, 5], [7, 11, 13]]], np.float32)
    node = helper.make_node("AffineGrid", ["theta", "size"], ["y"], align_corners=1)
    (y,) = run(engines, node, {"theta": theta, "size": np.array([1, 1, *extents])}, 20)
    assert y[0, 0, 0].tolist() == [2 * -1 + 3 * -1 + 5, 7 * -1 + 11 * -1 + 13]


@BOTH
@pytest.mark.parametrize("extent", [0, 2])
def test_the_scale_of_nothing_but_zeros_is_1(engines, extent):
    source = """<ir_version: 10, opset_import: ["" : 21]>
        g (float[n, 3] x) => (uint8[n, 3] y, float scale, uint8 zero) {
            y, scale, zero = DynamicQuantizeLinear (x)
        }"""
    session = treadle.InferenceSession(source, engines=engines)
    y, scale, zero = session.run(None, {"x": np.zeros((extent, 3), np.float32)})
    assert (y.tolist(), scale, zero) == ([[0, 0, 0]] * extent, 1, 0)


def tensor(values, dtype):
    return numpy_helper.from_array(np.array(values, dtype))


def forest(**attributes: int) -> onnx.NodeProto:
    """Two stumps: x0 <= 0 gives 1 to target 0, else 2 to target 1; x1 in {0, 7}: 3 or 4 to 0."""
    return helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, tree_roots=[0, 1],
        nodes_featureids=[0, 1], nodes_modes=tensor([0, 6], np.uint8),
        nodes_splits=tensor([0, 0], np.float64),
        membership_values=tensor([0, 7, np.nan], np.float64),
        nodes_trueleafs=[1, 1], nodes_falseleafs=[1, 1], nodes_truenodeids=[0, 2],
        nodes_falsenodeids=[1, 3], leaf_targetids=[0, 1, 0, 0],
        leaf_weights=tensor([1, 2, 3, 4], np.float64), **attributes,
    )  # fmt: skip


ROWS = np.array([[-1.0, 7.0], [1.0, 0.0], [1.0, 5.0]])


@BOTH
@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (0, [[2, 0], [1.5, 1], [2, 1]]),
        (1, [[4, 0], [3, 2], [4, 2]]),
        (2, [[1, 0], [3, 2], [4, 2]]),
        (3, [[3, 0], [3, 2], [4, 2]]),
    ],
)
def test_trees_join_what_their_leaves_give(engines, function, wanted):
    (y,) = run(engines, forest(aggregate_function=function), {"x": ROWS})
    assert y.tolist() == wanted


@BOTH
def test_transforms_of_trees_have_the_numbers_of_the_standard(engines):
    scores = np.array([[4.0, 0], [3, 2], [4, 2]])
    powers = np.exp(scores)
    (softmax,) = run(engines, forest(post_transform=1), {"x": ROWS})
    (logistic,) = run(engines, forest(post_transform=2), {"x": ROWS})
    np.testing.assert_allclose(softmax, powers / powers.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(logistic, powers / (1 + powers), rtol=1e-6)


@pytest.mark.parametrize("engines", [None, ("interp",), ("onnxruntime", "interp")])
def test_a_flag_of_a_caller_that_is_neither_0_nor_1_leaves_nothing_as_allocated(engines):
    text = """<ir_version: 10, opset_import: ["" : 21, "local" : 1]>
    g (float[9] x) => (float16[9] y) { y = local.f <s = 7> (x) }
    <domain: "local", opset_import: ["" : 21]>
    f <s: int = 1>(x) => (y) { y = Cast <to = 10, saturate: int = @s> (x) }"""
    made = treadle.InferenceSession(text, engines=engines)
    x = np.arange(9, dtype=np.float32)
    for _ in range(3):
        assert made.run(None, {"x": x})[0].tolist() == list(range(9))


@pytest.mark.parametrize("saturate", [-1, 2, 2**32 + 1])
def test_a_flag_that_is_neither_0_nor_1_is_refused(saturate):
    with pytest.raises(treadle.InvalidModel, match="write 0 or 1"):
        treadle.operator("Cast", to=10, saturate=saturate)(np.ones(3, np.float32))
