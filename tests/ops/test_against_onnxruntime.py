"""Every version of the operators that onnxruntime implements, on the same operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.node_suite import differences
from tests.ops.peer import ours, theirs
from tests.seeded import seeded
from treadle import ops
from treadle.ir import Kind, dtype_of


def floats(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.asarray(rng.normal(size=shape)).astype(dtype)


def positive(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.uniform(0.1, 2, size=shape)).astype(np.float32)


def ints(*values: Any, dtype: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def whole(
    rng: np.random.Generator, low: int, high: int, *shape: int, dtype: Any = np.int64
) -> np.ndarray:
    return rng.integers(low, high, shape).astype(dtype)


X = floats(seeded("X"), 2, 3, 4)
PLANE = floats(seeded("PLANE"), 1, 2, 6, 7)
SMALL = floats(seeded("SMALL"), 2, 4)

UNARY = ["Abs", "Neg", "Ceil", "Floor", "Exp", "Tanh", "Sigmoid", "Relu", "Softplus", "Softsign",
         "Erf", "Sign", "Round", "Cos", "Sin", "Tan", "Atan", "Cosh", "Sinh", "Asinh", "Identity",
         "HardSwish", "Mish", "Reciprocal", "IsNaN"]  # fmt: skip
ACTIVATIONS: dict[str, list[dict[str, Any]]] = {
    "LeakyRelu": [{}, {"alpha": 0.3}], "Elu": [{}, {"alpha": 0.7}], "Celu": [{}, {"alpha": 2.0}],
    "Selu": [{}, {"alpha": 1.1, "gamma": 2.0}], "HardSigmoid": [{}, {"alpha": 0.4, "beta": 0.1}],
    "ThresholdedRelu": [{}, {"alpha": 0.2}], "Shrink": [{}, {"lambd": 0.4, "bias": 0.2}],
    "Softmax": [{}, {"axis": 0}, {"axis": 1}, {"axis": 2}, {"axis": -1}],
    "LogSoftmax": [{}, {"axis": 0}, {"axis": 1}], "Hardmax": [{}, {"axis": 0}, {"axis": 1}],
    "Flatten": [{}, {"axis": 0}, {"axis": 2}, {"axis": 3}], "Gelu": [{}, {"approximate": "tanh"}],
    "LpNormalization": [{}, {"axis": 0, "p": 1}],
    "MeanVarianceNormalization": [{"axes": [0, 2]}], "Transpose": [{}, {"perm": [1, 2, 0]}],
    "ArgMax": [{}, {"axis": 1, "keepdims": 0}], "ArgMin": [{}, {"axis": 2}],
    "Shape": [{}], "Size": [{}],
}  # fmt: skip
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "Less", "GreaterOrEqual",
          "LessOrEqual", "Max", "Min", "Sum", "Mean"]  # fmt: skip
REDUCTIONS = ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]  # fmt: skip

POOLED: list[dict[str, Any]] = [
    {}, {"pads": [1, 1, 1, 0], "strides": [2, 2]}, {"auto_pad": "SAME_UPPER"},
    {"auto_pad": "SAME_LOWER", "strides": [2, 3]}, {"auto_pad": "VALID"},
    {"ceil_mode": 1, "strides": [2, 2]}, {"dilations": [2, 1]},
    {"ceil_mode": 1, "strides": [2, 3], "pads": [1, 1, 1, 1]},
]  # fmt: skip
VARIADIC = {"Max", "Min", "Sum", "Mean"}
BROADCASTING = 8
# forms of older versions that mean something else, or nothing, in these: operands, attributes
REFUSED = {("Resize", v, 2, n) for v in (13, 18, 19) for n in (0, 1)} | {("Split", 18, 1, 1)}
Case = tuple[str, list[Any], int, dict[str, Any]]


def _everything(rng: np.random.Generator) -> list[Case]:
    cases: list[Case] = [(op, [X], 1, {}) for op in UNARY]
    cases += [(op, [X], 1, each) for op, all_ in ACTIVATIONS.items() for each in all_]
    cases += [(op, [positive(rng, 2, 3, 4), positive(rng, 3, 1)], 1, {}) for op in BINARY]
    cases += [
        (op, [whole(rng, -9, 9, 6, dtype=np.int32), whole(rng, 1, 5, 6, dtype=np.int32)], 1, {})
        for op in ("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Max", "Min")
    ]
    cases += [(op, [positive(rng, 2, 3)], 1, {}) for op in ("Log", "Sqrt", "Acosh")]
    cases += [(op, [positive(rng, 2, 3) / 3], 1, {}) for op in ("Acos", "Asin", "Atanh")]
    for op in REDUCTIONS:
        for keepdims in (0, 1):
            cases += [(op, [positive(rng, 2, 3, 4)], 1, {"keepdims": keepdims})]
            cases += [(op, [positive(rng, 2, 3, 4)], 1, {"axes": [0, 2], "keepdims": keepdims})]
            cases += [(op, [positive(rng, 2, 3, 4), ints(0, -1)], 1, {"keepdims": keepdims})]
    return cases + _shapes(rng) + _indices(rng) + _spatial(rng) + _recurrent(rng) + _rest(rng)


def _shapes(rng: np.random.Generator) -> list[Case]:
    return [
        ("Reshape", [X, ints(0, -1)], 1, {}),
        ("Reshape", [X, ints(4, 3, 2)], 1, {"allowzero": 1}),
        ("Squeeze", [floats(rng, 1, 3, 1)], 1, {}),
        ("Squeeze", [floats(rng, 1, 3, 1)], 1, {"axes": [0]}),
        ("Squeeze", [floats(rng, 1, 3, 1), ints(-1)], 1, {}),
        ("Unsqueeze", [X], 1, {"axes": [0, 2]}),
        ("Unsqueeze", [X, ints(0, -1)], 1, {}),
        ("Concat", [X, X], 1, {"axis": 1}),
        ("Split", [floats(rng, 6, 2)], 2, {"axis": 0}),
        ("Split", [floats(rng, 6, 2)], 2, {"axis": 0, "num_outputs": 2}),
        ("Split", [floats(rng, 6, 2)], 2, {"axis": 0, "split": [1, 5]}),
        ("Split", [floats(rng, 6, 2), ints(4, 2)], 2, {}),
        ("Split", [floats(rng, 7, 2)], 3, {"num_outputs": 3}),
        ("Slice", [X], 1, {"starts": [0, 1], "ends": [2, 100], "axes": [1, 2]}),
        ("Slice", [X], 1, {"starts": [0, -2], "ends": [2, -1]}),
        ("Slice", [X, ints(1), ints(3), ints(-1)], 1, {}),
        ("Slice", [X, ints(-1, 5), ints(-100, 0), ints(1, 2), ints(-1, -2)], 1, {}),
        ("Expand", [floats(rng, 3, 1), ints(2, 1, 4)], 1, {}),
        ("Tile", [SMALL, ints(2, 3)], 1, {}),
        ("Trilu", [X], 1, {"upper": 0}),
        ("Trilu", [X, np.array(1)], 1, {}),
        ("DepthToSpace", [floats(rng, 1, 8, 2, 3)], 1, {"blocksize": 2}),
        ("DepthToSpace", [floats(rng, 1, 8, 2, 3)], 1, {"blocksize": 2, "mode": "CRD"}),
        ("SpaceToDepth", [floats(rng, 1, 2, 4, 6)], 1, {"blocksize": 2}),
        ("Pad", [SMALL], 1, {"pads": [1, 0, 2, 1], "value": 1.5}),
        ("Pad", [SMALL], 1, {"pads": [1, 1, 0, 2], "mode": "reflect"}),
        ("Pad", [SMALL, ints(1, 0, -1, 2)], 1, {}),
        ("Pad", [SMALL, ints(1, 0, 0, 2), np.array(2.5, np.float32)], 1, {}),
        ("Pad", [SMALL, ints(0, 1, 1, 2)], 1, {"mode": "edge"}),
        ("Pad", [SMALL, ints(1, 2), None, ints(-1)], 1, {"mode": "wrap"}),
        ("ReverseSequence", [floats(rng, 4, 3), ints(1, 4, 2)], 1, {}),
        ("EyeLike", [SMALL], 1, {"k": 1}),
        ("ConstantOfShape", [ints(2, 3)], 1, {}),
        ("Range", [np.array(1, np.int64), np.array(9, np.int64), np.array(3, np.int64)], 1, {}),
        ("Range", [np.float32(1)[...], np.float32(2)[...], np.float32(0.25)[...]], 1, {}),
    ]


def _indices(rng: np.random.Generator) -> list[Case]:
    data = floats(rng, 3, 4)
    where = whole(rng, -3, 3, 2, 4)
    return [
        ("Gather", [data, ints([0, -1], [2, 1])], 1, {}),
        ("Gather", [data, np.array(1)], 1, {"axis": 1}),
        ("GatherElements", [data, where], 1, {}),
        ("GatherND", [data, ints([0, 1], [2, 3])], 1, {}),
        ("GatherND", [floats(rng, 2, 3, 4), ints([[1], [0]], [[2], [2]])], 1, {"batch_dims": 1}),
        ("Scatter", [data, where, floats(rng, 2, 4)], 1, {}),
        ("ScatterElements", [data, ints([0, 2, 1, 0]), floats(rng, 1, 4)], 1, {}),
        ("ScatterElements", [data, where, floats(rng, 2, 4)], 1, {"reduction": "add"}),
        ("ScatterElements", [data, where, floats(rng, 2, 4)], 1, {"reduction": "max"}),
        ("ScatterND", [data, ints([0], [2]), floats(rng, 2, 4)], 1, {}),
        ("ScatterND", [data, ints([0], [0]), floats(rng, 2, 4)], 1, {"reduction": "mul"}),
        ("Compress", [data, np.array([False, True, True])], 1, {"axis": 0}),
        ("Compress", [data, np.array([False, True, True])], 1, {}),
        ("NonZero", [ints([1, 0], [0, 3])], 1, {}),
        ("OneHot", [ints(0, -1, 9), np.array(4), np.array([2.0, 5.0], np.float32)], 1, {}),
        ("OneHot", [ints(0, 1), np.array(3), np.array([2.0, 5.0], np.float32)], 1, {"axis": 0}),
        ("TopK", [floats(rng, 3, 6)], 2, {"k": 2}),
        ("TopK", [floats(rng, 3, 6), ints(3)], 2, {}),
        ("TopK", [ints([3, 1, 3, 2, 1]), ints(4)], 2, {"largest": 0}),
        ("Unique", [ints(3, 1, 3, 2, 1)], 4, {}),
        ("Unique", [ints(3, 1, 3, 2, 1)], 4, {"sorted": 0}),
        ("Unique", [ints([1, 2], [1, 2], [0, 5])], 4, {"axis": 0}),
        ("CumSum", [data, np.array(1)], 1, {}),
        ("CumSum", [data, np.array(0)], 1, {"exclusive": 1, "reverse": 1}),
        ("Where", [np.array([True, False]), floats(rng, 3, 2), floats(rng, 1, 2)], 1, {}),
        ("ArgMax", [ints([3, 1, 3])], 1, {"axis": 1, "select_last_index": 1}),
    ]


def _spatial(rng: np.random.Generator) -> list[Case]:
    weight, square = floats(rng, 4, 2, 3, 3), {"kernel_shape": [3, 3]}
    channels = [floats(rng, 2) for _ in range(3)]
    cases: list[Case] = [
        ("Conv", [PLANE, weight], 1, {}),
        ("Conv", [PLANE, weight, floats(rng, 4)], 1, {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
        ("Conv", [PLANE, floats(rng, 4, 1, 3, 2)], 1, {"group": 2, "dilations": [2, 3]}),
        ("Conv", [PLANE, weight], 1, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
        ("Conv", [PLANE, weight], 1, {"auto_pad": "SAME_LOWER", "strides": [2, 3]}),
        ("Conv", [floats(rng, 2, 3, 9), floats(rng, 2, 3, 4)], 1, {"auto_pad": "VALID"}),
        ("ConvTranspose", [PLANE, floats(rng, 2, 3, 3, 3)], 1, {"strides": [2, 3]}),
        ("ConvTranspose", [PLANE, floats(rng, 2, 3, 3, 3), floats(rng, 3)], 1,
         {"pads": [1, 0, 1, 2], "dilations": [2, 1], "output_padding": [0, 0]}),
        ("ConvTranspose", [floats(rng, 1, 4, 5), floats(rng, 4, 2, 3)], 1,
         {"group": 2, "strides": [2]}),
        ("ConvTranspose", [PLANE, floats(rng, 2, 1, 3, 3)], 1,
         {"strides": [2, 2], "output_shape": [13, 14]}),
        ("ConvTranspose", [PLANE, floats(rng, 2, 1, 3, 3)], 1,
         {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ("MaxUnpool", [floats(rng, 1, 1, 2, 2), ints([[[0, 2], [9, 11]]])], 1,
         {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("MaxRoiPool", [PLANE, np.array([[0, 1, 1, 5, 4], [0, 0, 0, 6, 5]], np.float32)], 1,
         {"pooled_shape": [2, 3], "spatial_scale": 0.7}),
        ("GlobalAveragePool", [PLANE], 1, {}),
        ("GlobalMaxPool", [PLANE], 1, {}),
        ("GlobalLpPool", [PLANE], 1, {"p": 2}),
        ("LRN", [floats(rng, 1, 5, 2, 2)], 1, {"size": 3, "alpha": 0.5, "bias": 1.5}),
        ("InstanceNormalization", [PLANE, floats(rng, 2), floats(rng, 2)], 1, {}),
        ("BatchNormalization", [PLANE, *channels, positive(rng, 2)], 1, {}),
        ("BatchNormalization", [PLANE, *channels, positive(rng, 2)], 3,
         {"training_mode": 1, "momentum": 0.7}),
        ("LayerNormalization", [X, floats(rng, 4), floats(rng, 4)], 3, {}),
        ("LayerNormalization", [X, floats(rng, 3, 4)], 1, {"axis": 1}),
        ("Upsample", [PLANE], 1, {"scales": [1.0, 1.0, 2.0, 3.0]}),
        ("Upsample", [PLANE, np.array([1, 1, 2, 1.5], np.float32)], 1, {"mode": "linear"}),
        ("Upsample", [PLANE, np.array([1, 1, 1.5, 2.5], np.float32)], 1, {}),
        ("Resize", [PLANE, np.array([1, 1, 2, 1.7], np.float32)], 1, {}),
        ("Resize", [PLANE, np.array([1, 1, 0.6, 0.5], np.float32)], 1, {"mode": "linear"}),
        ("Resize", [PLANE, np.array([], np.float32), np.array([1, 1, 1.6, 2], np.float32)], 1,
         {"mode": "linear"}),
        ("Resize", [PLANE, np.array([], np.float32), np.array([1, 1, 1.5, 2], np.float32)], 1,
         {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}),
        ("Resize", [PLANE, None, None, ints(1, 2, 9, 5)], 1, {}),
        ("Resize", [PLANE, np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 0.9], np.float32),
                    np.array([1, 1, 1.5, 2], np.float32)], 1,
         {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}),
        ("Resize", [PLANE, None, np.array([1.6, 2], np.float32)], 1,
         {"mode": "linear", "axes": [2, 3], "antialias": 1}),
        ("GridSample", [PLANE, floats(rng, 1, 3, 4, 2) / 2], 1, {}),
        ("GridSample", [PLANE, floats(rng, 1, 3, 4, 2)], 1,
         {"padding_mode": "border", "align_corners": 1}),
        ("RoiAlign", [PLANE, np.array([[0.5, 1, 5, 4.5], [0, 0, 6, 5]], np.float32), ints(0, 0)],
         1, {"output_height": 2, "output_width": 3, "sampling_ratio": 2}),
    ]  # fmt: skip
    cases += [
        (op, [PLANE], 1, {**square, **more})
        for op in ("MaxPool", "AveragePool", "LpPool")
        for more in POOLED
    ]
    cases += [
        ("MaxPool", [PLANE], 2, {**square, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ("MaxPool", [PLANE], 2, {**square, "storage_order": 1}),
        ("MaxPool", [floats(rng, 2, 3, 8)], 2,
         {"kernel_shape": [3], "ceil_mode": 1, "strides": [2]}),
        ("AveragePool", [PLANE], 1, {**square, "pads": [1, 1, 1, 1], "count_include_pad": 1}),
        ("AveragePool", [PLANE], 1, {**square, "pads": [1, 0, 1, 1], "count_include_pad": 1,
                                     "ceil_mode": 1, "strides": [2, 2]}),
        ("LpPool", [PLANE], 1, {**square, "p": 1}),
    ]  # fmt: skip
    return cases


def _recurrent(rng: np.random.Generator) -> list[Case]:
    cases: list[Case] = []
    lengths = ints(4, 2, 3, dtype=np.int32)
    for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            weights = [floats(rng, count, gates * 5, 2), floats(rng, count, gates * 5, 5)]
            sized = {"hidden_size": 5, "direction": direction}
            bias, start = floats(rng, count, 2 * gates * 5), floats(rng, count, 3, 5)
            x = floats(rng, 4, 3, 2)
            cases += [
                (op, [x, *weights], outputs, sized),
                (op, [x, *weights, bias, lengths, start], outputs, sized),
            ]
    x, w, r, b = (
        floats(rng, 4, 3, 2),
        floats(rng, 1, 20, 2),
        floats(rng, 1, 20, 5),
        floats(rng, 1, 40),
    )
    h, c, p = floats(rng, 1, 3, 5), floats(rng, 1, 3, 5), floats(rng, 1, 15)
    cases += [
        ("LSTM", [x, w, r, b, None, h, c, p], 3, {"hidden_size": 5}),
        ("LSTM", [x, w, r, b], 3, {"hidden_size": 5, "input_forget": 1}),
        ("LSTM", [x, w, r, b], 3, {"hidden_size": 5, "clip": 0.4}),
        ("LSTM", [x, w, r], 1, {"hidden_size": 5, "activations": ["HardSigmoid", "Elu", "Affine"],
                                "activation_alpha": [0.3, 0.8, 1.1],
                                "activation_beta": [0.4, 0.2]}),
        ("GRU", [x, w[:, :15], r[:, :15], b[:, :30]], 2,
         {"hidden_size": 5, "linear_before_reset": 1}),
        ("RNN", [x, w[:, :5], r[:, :5]], 2, {"hidden_size": 5, "activations": ["Relu"]}),
        ("RNN", [x, w[:, :5], r[:, :5]], 2,
         {"hidden_size": 5, "activations": ["LeakyRelu"], "activation_alpha": [0.4]}),
    ]  # fmt: skip
    return cases


def _rest(rng: np.random.Generator) -> list[Case]:
    byte = np.uint8
    a, b = whole(rng, 0, 255, 3, 4, dtype=byte), whole(rng, 0, 255, 4, 2, dtype=byte)
    scale, zero = np.array(0.02, np.float32), np.array(120, byte)
    image, kernel = (
        whole(rng, 0, 255, 1, 2, 5, 5, dtype=byte),
        whole(rng, 0, 255, 3, 2, 3, 3, dtype=byte),
    )
    scales, zeros = np.array([0.1, 0.2, 0.3], np.float32), np.array([3, 120, 60], byte)
    return [
        ("MatMul", [floats(rng, 2, 3, 4), floats(rng, 4, 5)], 1, {}),
        ("MatMul", [floats(rng, 4), floats(rng, 4)], 1, {}),
        ("MatMul", [whole(rng, -9, 9, 2, 3), whole(rng, -9, 9, 3, 2)], 1, {}),
        ("Gemm", [floats(rng, 2, 3), floats(rng, 3, 4), floats(rng, 4)], 1,
         {"alpha": 0.5, "beta": 2.0}),
        ("Gemm", [floats(rng, 3, 2), floats(rng, 4, 3), floats(rng, 2, 1)], 1,
         {"transA": 1, "transB": 1}),
        ("Gemm", [floats(rng, 2, 3), floats(rng, 3, 4)], 1, {}),
        ("Einsum", [floats(rng, 2, 3, 4), floats(rng, 2, 4, 5)], 1,
         {"equation": "bij, bjk -> bik"}),
        ("Det", [floats(rng, 2, 3, 3)], 1, {}),
        ("MatMulInteger", [a, b, zero, zero], 1, {}),
        ("ConvInteger", [image, kernel, zero], 1, {"pads": [1, 1, 1, 1]}),
        ("QLinearMatMul", [a, scale, zero, b, scale, zero, np.float32(0.3)[...], zero], 1, {}),
        ("QLinearConv", [image, scale, zero, kernel, scales, np.zeros(3, byte),
                         np.float32(9)[...], zero, ints(5, -7, 900, dtype=np.int32)], 1, {}),
        ("QuantizeLinear", [floats(rng, 3, 4) * 4, scale, zero], 1, {}),
        ("QuantizeLinear", [floats(rng, 3, 4) * 40, scales, zeros], 1, {"axis": 0}),
        ("QuantizeLinear", [floats(rng, 3, 4) * 40, scale], 1, {}),
        ("DequantizeLinear", [a, scale, zero], 1, {}),
        ("DequantizeLinear", [a, scales, zeros], 1, {"axis": 0}),
        ("DynamicQuantizeLinear", [floats(rng, 3, 4)], 3, {}),
        ("Clip", [X], 1, {"min": -0.5, "max": 0.25}),
        ("Clip", [X, np.float32(-0.5)[...]], 1, {}),
        ("Clip", [X, None, np.float32(0.5)[...]], 1, {}),
        ("PRelu", [X, floats(rng, 3, 1)], 1, {}),
        ("Dropout", [X], 1, {}),
        ("IsInf", [np.array([1, np.inf, -np.inf, np.nan], np.float32)], 1, {}),
        ("IsInf", [np.array([1, np.inf, -np.inf], np.float32)], 1, {"detect_negative": 0}),
        ("Mod", [ints(-7, 7, -7), ints(3, -3, -3)], 1, {}),
        ("Mod", [ints(-7, 7, -7), ints(3, -3, -3)], 1, {"fmod": 1}),
        ("Mod", [floats(rng, 5), positive(rng, 5)], 1, {"fmod": 1}),
        ("BitShift", [ints(1, 9, dtype=byte), ints(3, 9, dtype=byte)], 1, {"direction": "LEFT"}),
        ("BitShift", [ints(200, 9, dtype=byte), ints(3, 1, dtype=byte)], 1, {"direction": "RIGHT"}),
        ("And", [np.array([True, False]), np.array([True])], 1, {}),
        ("Or", [np.array([True, False]), np.array([False])], 1, {}),
        ("Xor", [np.array([True, False]), np.array([True])], 1, {}),
        ("Not", [np.array([True, False])], 1, {}),
        ("Cast", [floats(rng, 5) * 9], 1, {"to": 7}),
        ("Cast", [floats(rng, 5) * 9], 1, {"to": 10}),
        ("Cast", [whole(rng, -500, 500, 6)], 1, {"to": 3}),
        ("Cast", [floats(rng, 4)], 1, {"to": 9}),
        ("NonMaxSuppression", [positive(rng, 1, 6, 4), positive(rng, 1, 2, 6), np.array([3]),
                               np.float32([0.2]), np.float32([0.1])], 1, {}),
        ("StringNormalizer", [np.array(["a", "Bc", "d"], object)], 1,
         {"case_change_action": "UPPER", "stopwords": ["a"], "is_case_sensitive": 1,
          "locale": "C"}),
    ]  # fmt: skip


def _versions(op: str) -> list[int]:
    return list(ops.known_operators("")[op])


def _fits(op: str, version: int, case: Case) -> bool:
    _, operands, outputs, attributes = case
    schema = ops.schema("", op, version)
    assert schema is not None
    if (op, version, len(operands), len(attributes)) in REFUSED:
        return False
    required = {n for n, rule in schema.attributes.items() if rule.required}
    counted = schema.min_inputs <= len(operands) <= schema.max_inputs
    return (
        counted
        and not schema.deprecated
        and outputs <= schema.max_outputs
        and required <= set(attributes) <= set(schema.attributes)
        and all(map(_same_kind, (schema.attributes[n] for n in attributes), attributes.values()))
        and all(_admitted(schema, k, each) for k, each in enumerate(operands))
        and not (op in VARIADIC and version < BROADCASTING and not _one_shape(operands))
    )


def _same_kind(rule: ops.AttributeRule, value: Any) -> bool:
    return not (isinstance(value, int) and rule.kind is not Kind.INT)


def _admitted(schema: ops.Schema, position: int, operand: Any) -> bool:
    formal = schema.inputs[min(position, len(schema.inputs) - 1)]
    if operand is None:
        return formal.option == "optional"
    dtype = dtype_of(operand.dtype)
    assert dtype is not None
    return f"tensor({ops.element_word(dtype)})" in formal.types


def _one_shape(operands: list[Any]) -> bool:
    return len({each.shape for each in operands}) == 1


ALL = [
    pytest.param(op, version, operands, outputs, attributes, id=f"{op}-{version}-{number}")
    for number, (op, operands, outputs, attributes) in enumerate(_everything(seeded("operands")))
    for version in _versions(op)
    if _fits(op, version, (op, operands, outputs, attributes))
]


@pytest.mark.parametrize(("op", "version", "operands", "outputs", "attributes"), ALL)
def test_results_agree(
    op: str, version: int, operands: list[Any], outputs: int, attributes: dict[str, Any]
) -> None:
    wanted = theirs(op, version, operands, outputs, **attributes)
    if wanted is None:
        pytest.skip("onnxruntime has no kernel of this version")
    found = ours(op, version, operands, outputs, **attributes)
    assert len(found) == len(wanted)
    assert [differences(f, w, 1e-4, 1e-5) for f, w in zip(found, wanted, strict=True)] == [
        [] for _ in wanted
    ]
