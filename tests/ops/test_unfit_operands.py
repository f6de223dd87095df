"""Operands that do not fit have one answer from every engine, or none refuses them differently."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

import treadle
from treadle.errors import KernelError, TreadleError

ENGINES = (("interp",), None)
X = np.arange(12, dtype=np.float32).reshape(3, 4) / 10
NORMAL = (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5)
IMAGE, FILTER = np.ones((1, 1, 5, 5), np.float32), np.ones((1, 1, 3, 3), np.float32)
CHANNELS = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
LOSSES = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")


def whole(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def run(engines, op, opset, *operands, results=1, are_known=False, **attributes):
    """What a session says of one node; `are_known`: operands after the first are constants."""
    names = [f"x{k}" for k in range(len(operands))]
    made = [f"y{k}" for k in range(results)]
    node = helper.make_node(op, names, made, **attributes)
    ports, constants = [], []
    for name, array in zip(names, operands, strict=True):
        number = helper.np_dtype_to_tensor_dtype(array.dtype)
        if are_known and name != "x0":
            constants.append(helper.make_tensor(name, number, array.shape, array.reshape(-1)))
        else:
            dims = [f"{name}_{k}" for k in range(array.ndim)]
            ports.append(helper.make_tensor_value_info(name, number, dims))
    outputs = [helper.make_empty_tensor_value_info(name) for name in made]
    graph = helper.make_graph([node], "g", ports, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    session = treadle.InferenceSession(model, engines=engines)
    feeds = dict(zip(names, operands, strict=True))
    return session.run(None, {port.name: feeds[port.name] for port in ports})


REFUSED = {
    **{
        f"{op} {case}": (op, 13, (X, *operands), attributes, said)
        for op in LOSSES
        for case, operands, attributes, said in (
            ("below 0", (whole(0, -1, 2),), {}, "label -1 is none of 4 classes"),
            ("beyond", (whole(0, 4, 2),), {}, "label 4 is none of 4 classes"),
            (
                "not the ignored",
                (whole(0, -1, -2),),
                {"ignore_index": -1},
                "label -2 is none of 4 classes and not the ignore_index -1",
            ),
            ("batch", (whole(0, 1),), {}, "the labels are int64[2], wanted the shape [3]"),
            (
                "weights",
                (whole(0, 1, 2), ones(5)),
                {},
                "the weights are float32[5], wanted one for each of 4 classes",
            ),
        )
    },
    **{
        f"TopK {k}": ("TopK", 20, (X, whole(k)), {}, f"k is {k}, the axis has 4 elements")
        for k in (2**32 + 1, 2**33, -1, 5)
    },
    "groups": (
        "GroupNormalization", 21, (CHANNELS, ones(4), ones(4)), {"num_groups": 3},
        "4 channels cannot be divided into 3 equal groups",
    ),
    "scale of groups": (
        "GroupNormalization", 18, (CHANNELS, ones(1), ones(1)), {"num_groups": 2},
        "the scale is float32[1], wanted one for each of 2 groups",
    ),
    "bias of channels": (
        "GroupNormalization", 21, (CHANNELS, ones(4), ones(1)), {"num_groups": 2},
        "the bias is float32[1], wanted one for each of 4 channels",
    ),
    "batches of indices": (
        "GatherND", 13, (CHANNELS, np.zeros((1, 1), np.int64)), {"batch_dims": 1},
        "the first 1 extents of float32[2,4,3] and int64[1,1] differ",
    ),
    **{
        f"length {length}": (
            "ReverseSequence", 10, (CHANNELS, whole(length, 2)), {"batch_axis": 0, "time_axis": 1},
            "a length is not in the range 0 to 4",
        )
        for length in (-1, 5, 2**32 + 1)
    },
    "too few lengths": (
        "ReverseSequence", 10, (CHANNELS, whole(1)), {"batch_axis": 0, "time_axis": 1},
        "the lengths are int64[1], wanted one for each of 2",
    ),
    "pads below nothing": (
        "Pad", 19, (X, whole(-2, 0, -2, 0)), {}, "pads -2 and -2 of axis 0 remove more than 3"
    ),
    "an extreme of nothing": ("ArgMax", 13, (X[:0],), {}, "axis 0 of float32[0,4] has no elements"),
    **{
        f"kernel_shape of {op} {kernel}": (
            op, 10 if op == "ConvInteger" else 22, operands, {"kernel_shape": kernel},
            f"its kernel_shape is {kernel}, operand 1 has [3,3] after two other extents".replace(
                ", 2]", ",2]"
            ),
        )
        for op, operands in (
            ("Conv", (IMAGE, FILTER)),
            ("ConvTranspose", (IMAGE, FILTER)),
            ("ConvInteger", (IMAGE.astype(np.uint8), FILTER.astype(np.uint8))),
            ("DeformConv", (IMAGE, FILTER, ones(1, 18, 3, 3))),
        )
        for kernel in ([2, 2], [3, 2])
    },
    **{
        f"hidden_size of {op}": (
            op, 22, (X[:, None], ones(1, gates * 3, 4), ones(1, gates * 3, 3)), {"hidden_size": 2},
            "its hidden_size is 2, operand 2 has [3] after two other extents",
        )
        for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
    },
    **{
        f"axes {axes} of {op}": (op, opset, operands, {}, f"axis {axes[0] % 2} is named twice")
        for axes in ((0, 0), (1, -1))
        for op, opset, operands in (
            ("Slice", 13, (X, whole(1, 2), whole(3, 4), whole(*axes))),
            ("Pad", 18, (X, whole(1, 2, 0, 1), np.float32(0).reshape(()), whole(*axes))),
        )
    },
    "axes of CenterCropPad": (
        "CenterCropPad", 18, (X, whole(2, 8)), {"axes": [1, -1]}, "axis 1 is named twice"
    ),
    "more pads": ("Conv", 22, (IMAGE, FILTER), {"pads": [1] * 6}, "not equally long"),
    "pads below 0": ("Conv", 22, (IMAGE, FILTER), {"pads": [-1] * 4}, "wanted no negative entry"),
}  # fmt: skip


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("case", REFUSED)
def test_every_engine_refuses(case, engines):
    op, opset, operands, attributes, said = REFUSED[case]
    with pytest.raises(KernelError) as raised:
        run(engines, op, opset, *operands, results=1 + (op == "TopK"), **attributes)
    assert said in str(raised.value)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("case", [name for name in REFUSED if len(REFUSED[name][2]) > 1])
def test_constants_are_refused(case, engines):
    op, opset, operands, attributes, _ = REFUSED[case]
    with pytest.raises(TreadleError):
        run(engines, op, opset, *operands, results=1 + (op == "TopK"), are_known=True, **attributes)


AGREED = {
    "an axis twice": ("ReduceSum", 13, (X, whole(0, -2)), {}, X.sum(0, keepdims=True)),
    "an axis twice of old": ("ReduceMax", 13, (X,), {"axes": [1, 1]}, X.max(1, keepdims=True)),
    "a mean's axis twice": ("ReduceMean", 18, (X, whole(0, 0)), {}, X.mean(0, keepdims=True)),
    "an axis to drop twice": ("Squeeze", 13, (X[None], whole(0, -3)), {}, X),
    "a long condition": ("Compress", 11, (X, np.ones(7, bool)), {"axis": 0}, X),
    "a long flat condition": ("Compress", 11, (X, np.ones(14, bool)), {}, X.reshape(-1)),
    "a condition of rows": ("Compress", 11, (X, np.ones((2, 2), bool)), {}, X.reshape(-1)[:4]),
    "tuples of nothing": (
        "GatherND", 13, (CHANNELS, np.zeros((5, 0), np.int64)), {}, np.stack([CHANNELS] * 5)
    ),
    "tuples of nothing in batches": (
        "GatherND", 13, (CHANNELS, np.zeros((2, 5, 0), np.int64)), {"batch_dims": 1},
        np.stack([CHANNELS] * 5, 1),
    ),
    "pads that move all out": ("Pad", 19, (X, whole(2, 0, -4, 0)), {}, np.zeros_like(X[:1])),
    "pads that move all in": ("Pad", 19, (X, whole(-4, 0, 4, 0)), {}, np.zeros_like(X)),
    "pads that move some": (
        "Pad", 19, (X, whole(-1, 1, 2, -2)), {},
        np.pad(X[1:, :2], ((0, 2), (1, 0))),
    ),
    "no extreme of nothing": ("ArgMax", 13, (X[:0, :0],), {}, np.zeros((1, 0), np.int64)),
    "a last extreme of nothing": (
        "ArgMin", 13, (X[:0, :0],), {"select_last_index": 1, "keepdims": 0}, np.zeros(0, np.int64)
    ),
    "numbers of groups": (
        "GroupNormalization", 18, (X[None, :, :, None], ones(3), ones(3)), {"num_groups": 3},
        (NORMAL + 1)[None, ..., None],
    ),
    "an ignored label": (
        "NegativeLogLikelihoodLoss", 13, (X, whole(0, -1, 2)), {"ignore_index": -1},
        np.asarray(-(X[0, 0] + X[2, 2]) / 2),
    ),
    "weights of labels": (
        "NegativeLogLikelihoodLoss", 13, (X, whole(0, 3, 2), X[0]), {"reduction": "sum"},
        np.asarray(-(X[1, 3] * X[0, 3] + X[2, 2] * X[0, 2])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("are_known", [False, True])
@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("case", AGREED)
def test_every_engine_gives_the_same(case, engines, are_known):
    op, opset, operands, attributes, wanted = AGREED[case]
    (found,) = run(engines, op, opset, *operands, are_known=are_known, **attributes)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("op", LOSSES)
def test_labels_of_pixels(op, engines):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2) / 7
    labels = np.array([[[0, 1], [2, 7]], [[1, 1], [7, 0]]], np.int64)
    (found,) = run(engines, op, 13, x, labels, reduction="none", ignore_index=7)
    logs = x if op == LOSSES[0] else x - np.log(np.exp(x).sum(1, keepdims=True))
    wanted = np.where(labels == 7, 0, -np.take_along_axis(logs, labels[:, None] % 7, 1)[:, 0])
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("engines", ENGINES)
def test_scores_far_apart_have_finite_logarithms(engines):
    loss, logs = run(engines, LOSSES[1], 13, X * 1000, whole(1, 2, 3), results=2)
    np.testing.assert_allclose(logs[0], [-300, -200, -100, 0], rtol=1e-5)
    np.testing.assert_allclose(loss, 100, rtol=1e-5)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_statistics_of_layers_are_of_the_stash_type(dtype, engines):
    operands = X.astype(dtype), ones(4).astype(dtype)
    y, mean, inverse = run(engines, "LayerNormalization", 17, *operands, results=3)
    assert (y.dtype, mean.dtype, inverse.dtype) == (dtype, np.float32, np.float32)


@pytest.mark.parametrize("engines", ENGINES)
@pytest.mark.parametrize("name", ["e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz"])
def test_nan_of_8_bits_is_cast_as_that_of_32_bits(name, engines):
    x = np.array([np.nan, 1.5, -1.5, 64], np.float32)
    narrow = x.astype(getattr(ml_dtypes, f"float8_{name}"))
    (found,) = run(engines, "Cast", 21, narrow, to=7)
    (wanted,) = run(engines, "Cast", 21, x, to=7)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("case", [name for name in REFUSED if name.split()[0] not in LOSSES])
def test_native_loops_refuse(case):
    """The node in the body of a loop, that is refused in a run, not before."""
    op, opset, operands, attributes, _ = REFUSED[case]
    count = 1 + (op == "TopK")
    names = [f"x{k}" for k in range(len(operands))]
    made = [f"y{k}" for k in range(count)]
    scalar, bool_, whole_ = helper.make_tensor_value_info, 9, 7
    body = helper.make_graph(
        [helper.make_node(op, names, made, **attributes)],
        "body",
        [scalar("i", whole_, []), scalar("c", bool_, []), scalar("k", whole_, [])],
        [
            scalar("c", bool_, []),
            scalar("k", whole_, []),
            *map(helper.make_empty_tensor_value_info, made),
        ],
    )
    stacked = [f"s{k}" for k in range(count)]
    loop = helper.make_node("Loop", ["trips", "", "trips"], ["last", *stacked], body=body)
    ports = [
        scalar(
            name,
            helper.np_dtype_to_tensor_dtype(each.dtype),
            [f"{name}_{k}" for k in range(each.ndim)],
        )
        for name, each in zip(names, operands, strict=True)
    ]
    outputs = [*map(helper.make_empty_tensor_value_info, stacked)]
    graph = helper.make_graph([loop], "g", [scalar("trips", whole_, []), *ports], outputs)
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    feeds = dict(zip(names, operands, strict=True))
    for trips in (1, 2):
        for engines in (("jit",), None):
            session = treadle.InferenceSession(model, engines=engines)
            with pytest.raises(KernelError):
                session.run(None, feeds | {"trips": np.int64(trips)})
