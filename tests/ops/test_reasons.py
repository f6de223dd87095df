"""The reasons in run errors: short, for the model's author, and in one notation."""

import numpy as np
import pytest

import treadle

HEAD = '<ir_version: 10, opset_import: ["" : 21, "mine" : 1, "ai.onnx.contrib" : 1]> g '


def f32(*shape):
    return np.zeros(shape, np.float32)


FAILURES = {
    "(float[N,M] x, float[K] y) => (float[N,M] z) { z = Add(x, y) }": (
        {"x": f32(2, 3), "y": f32(4)},
        r"Add-14(float32[2,3], float32[4]): the shapes do not broadcast: [2,3] [4]",
    ),
    "(float[N,M] x, float[K,L] y) => (float[N,L] z) { z = MatMul(x, y) }": (
        {"x": f32(2, 3), "y": f32(4, 5)},
        "MatMul-13(float32[2,3], float32[4,5]): the inner extents of the product differ, 3 and 4",
    ),
    "(float[1,C,L] x, float[M,C,K] w) => (float[1,M,O] z) { z = Conv(x, w) }": (
        {"x": f32(1, 2, 3), "w": f32(4, 2, 5)},
        "the input is shorter than the kernel: spatial axis 0 is 3 long, the kernel reaches over 5",
    ),
    "(float[1,1,L] x, float[1,1,K] w) => (float[1,1,O] z) {"
    " z = Conv<pads = [1,0], dilations = [2]>(x, w) }": (
        {"x": f32(1, 1, 3), "w": f32(1, 1, 3)},
        "spatial axis 0 is 3 long, 4 with its pads, the kernel reaches over 5",
    ),
    "(float[1,C,L] x, float[M,D,K] w) => (float[1,M,O] z) { z = Conv<group = 2>(x, w) }": (
        {"x": f32(1, 3, 8), "w": f32(4, 2, 5)},
        "the input has 3 channels, the weight float32[4,2,5] wants 4 in 2 groups",
    ),
    "(float[1,C,L] x) => (float[1,C,O] z) { z = MaxPool<kernel_shape = [5]>(x) }": (
        {"x": f32(1, 2, 3)},
        "the input is shorter than the kernel",
    ),
    "(string[N] x, string[M] y) => (string[O] z) { z = StringConcat(x, y) }": (
        {"x": np.array(["a", "b"], object), "y": np.array(["a"] * 3, object)},
        "StringConcat-20(string[2], string[3])",
    ),
    "(float[N] x, int64[K] s, int64[L] e) => (float[M] z) { z = Slice(x, s, e) }": (
        {"x": f32(2), "s": np.zeros(2, np.int64), "e": np.ones(1, np.int64)},
        "its operands or attributes are not equally long",
    ),
}


@pytest.mark.parametrize("engines", [None, ("interp",)], ids=["default", "interp"])
@pytest.mark.parametrize("graph", FAILURES)
def test_why_an_operator_failed(graph, engines):
    feeds, words = FAILURES[graph]

    with pytest.raises(treadle.KernelError) as caught:
        treadle.InferenceSession(HEAD + graph, engines=engines).run(None, feeds)

    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ("mine", "SessionOptions.register_custom_ops_library(path_of_the_library)"),
        ("ai.onnx.contrib", "onnxruntime_extensions.get_library_path()"),
    ],
)
def test_a_custom_operator_says_how_to_register_its_library(domain, words):
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.InferenceSession(HEAD + f"(float x) => (float z) {{ z = {domain}.Special(x) }}")

    assert words in str(caught.value)


@pytest.mark.parametrize(
    "graph",
    [
        "(int64[N] x, int64[K] s) => (int64[M] z) { z = Reshape(x, s) }",
        "(int64[N] x, int64[K] s) => (int64[M] z) { z = Expand(x, s) }",
        "(int64[N] x, int64[K] s) => (int64[M] z) { z = Split(x, s) }",
        "(int64[N] x, int64[K] s) => (int64[M] z) { z = Unsqueeze(x, s) }",
        "(int64[N] x, int64[K] s) => (int64[M] z) { z = ReduceSum(x, s) }",
        "(int64[N] x, int64[K] s) => (seq(int64[M]) z) { z = SplitToSequence(x, s) }",
    ],
)
def test_elements_never_fill_a_message(graph):
    many = np.arange(5000, dtype=np.int64) + 7

    with pytest.raises(treadle.TreadleError) as caught:
        treadle.InferenceSession(HEAD + graph).run(None, {"x": many, "s": many})

    assert len(str(caught.value)) < 700
