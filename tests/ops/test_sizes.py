"""Predicted bytes of results are the bytes that the kernel then allocates."""

import numpy as np
import pytest

import treadle
from treadle import machine, ops
from treadle.ir import Leaf, attribute

LARGE = np.zeros((1200, 1), np.float32), np.zeros((1, 1100), np.float32)
TABLE, ROWS = np.zeros((40, 50), np.float32), np.zeros((30, 1), np.int64)
IMAGE, KERNEL = np.zeros((1, 2, 9, 8), np.float32), np.zeros((3, 2, 3, 2), np.float32)
CASES = {
    "Range": ([np.float32(1), np.float32(9), np.float32(0.5)], {}),
    "Pad": ([np.zeros((2, 3), np.float32), np.array([1, 0, 0, 2])], {}),
    "Pad axes": ([TABLE, np.array([3, 4]), None, np.array([-1])], {}),
    "OneHot": ([np.array([0, 1, 2]), np.int64(7), np.float32([0, 1])], {}),
    "MelWeightMatrix": (
        [np.int64(8), np.int64(16), np.int64(8192), np.float32(0), np.float32(4096)],
        {},
    ),
    "Tile": ([np.zeros((2, 3), np.float32), np.array([2, 5])], {}),
    "Expand": ([TABLE, np.array([3, 1, 50])], {}),
    "ConstantOfShape": ([np.array([3, 5])], {}),
    "Mul": (LARGE, {}),
    "Less": (LARGE, {}),
    "Where": ([LARGE[0] > 0, LARGE[1], LARGE[1]], {}),
    "MatMul": (LARGE, {}),
    "Gemm": (LARGE, {}),
    "Gemm transposed": ([TABLE, TABLE], {"transA": 1}),
    "Gather": ([TABLE, ROWS], {"axis": 1}),
    "GatherND": ([TABLE, ROWS], {}),
    "Conv": ([IMAGE, KERNEL], {"pads": [1, 2, 3, 4], "strides": [2, 1], "dilations": [1, 2]}),
    "ConvTranspose": ([IMAGE, np.zeros((2, 3, 3, 2), np.float32)], {"strides": [5, 4]}),
    "MaxPool": ([IMAGE], {"kernel_shape": [2, 3], "strides": [2, 2], "pads": [0, 1, 1, 1]}),
    "Einsum": (LARGE, {"equation": "ij,jk->ki"}),
    "CenterCropPad": ([TABLE, np.array([60])], {"axes": [1]}),
    "Col2Im": (
        [np.zeros((1, 5, 5), np.float32), np.array([5, 5]), np.array([1, 5])],
        {},
    ),
    "RoiAlign": (
        [np.ones((1, 3, 4, 4), np.float32), np.ones((2, 4), np.float32), np.zeros(2, np.int64)],
        {"output_height": 5, "output_width": 7},
    ),
    "GridSample": ([np.ones((2, 3, 4, 4), np.float32), np.zeros((2, 5, 6, 2), np.float32)], {}),
    "AffineGrid": ([np.zeros((2, 2, 3), np.float32), np.array([2, 1, 5, 6])], {}),
}


@pytest.mark.parametrize("case", CASES)
def test_predicted_bytes_equal_allocated_bytes(case: str) -> None:
    operands, given = CASES[case]
    op = case.split()[0]
    attributes = {name: attribute(name, value) for name, value in given.items()}
    leaf = Leaf("", op, 21, (), (), attributes)
    count = ops.result_bytes(leaf)
    assert count is not None
    made = treadle.operator(op, opset=21, **given)(*operands)
    assert count(operands) == made.nbytes


def test_a_result_over_the_bound_is_not_made() -> None:
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[n, k] x, float[k, m] y) => (float[n, m] z) { z = MatMul (x, y) }"""
    session = treadle.InferenceSession(text, engines=("interp",))
    feeds = {"x": np.zeros((2**17, 1), np.float32), "y": np.zeros((1, 2**17), np.float32)}
    with pytest.raises(treadle.LimitExceeded, match=r"main/matmul_0.*over max_bytes=1000000"):
        session.run(None, feeds, treadle.RunOptions(max_bytes=1_000_000))


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("Range", [np.int64(0), np.int64(2**62), np.int64(1)]),
        ("Pad", [np.zeros((2, 3), np.float32), np.array([0, 0, 2**40, 2**40])]),
        ("OneHot", [np.array([0]), np.int64(2**60), np.float32([0, 1])]),
        (
            "MelWeightMatrix",
            [np.int64(2**30), np.int64(2**30), np.int64(8192), np.float32(0), np.float32(4096)],
        ),
    ],
)
def test_results_beyond_memory_are_an_error_of_interp(op: str, operands: list) -> None:
    with pytest.raises(treadle.RunError, match="its result would have"):
        treadle.operator(op, opset=18)(*operands)


ENDLESS = {
    "AveragePool": "<kernel_shape = [2147483648], pads = [2147483647, 2147483647]>",
    "LpPool": "<kernel_shape = [67108865], pads = [67108864, 67108864]>",
    "MaxPool": "<kernel_shape = [2147483648], pads = [2147483647, 2147483647]>",
}


@pytest.mark.parametrize("engines", [("jit", "onnxruntime", "interp"), ("interp",)])
@pytest.mark.parametrize("op", ENDLESS)
@pytest.mark.parametrize("is_in_loop", [False, True])
def test_results_that_no_engine_can_compute_are_refused(
    op: str, engines: tuple[str, ...], is_in_loop: bool
) -> None:
    step = f"y = {op} {ENDLESS[op]} (x)"
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[a, b, c] x, int64 n) => (y) {'
    if is_in_loop:
        text += f"""last, y = Loop <body = b (int64 i, bool c, float[a, b, c] s)
            => (bool d, float[a, b, c] t, float[a, b, e] y) {{
            d = Identity (c) t = Identity (s) {step} }}> (n, "", x) }}"""
    else:
        text += step + "}"
    with pytest.raises(treadle.Unsupported, match=r"its window has .* elements, at most"):
        treadle.InferenceSession(text, engines=engines)


@pytest.mark.parametrize("op", ["Conv", "ConvInteger"])
def test_the_elements_under_all_places_of_a_kernel_are_counted(op):
    leaf = Leaf("", op, 10 if op == "ConvInteger" else 11, (), (), {})
    dtype = np.uint8 if op == "ConvInteger" else np.float16
    operands = [np.ones((2, 3, 9, 8), dtype), np.ones((4, 3, 3, 2), dtype)]
    assert ops.needed_bytes(leaf)(operands) == 2 * 3 * 6 * 7 * 7 * 4
    wide = {"pads": attribute("pads", [40, 40, 40, 40]), "strides": attribute("strides", [50, 50])}
    padded = Leaf("", op, leaf.version, (), (), wide)
    assert ops.needed_bytes(padded)(operands) == 2 * 3 * 89 * 88 * dtype().itemsize


def test_a_convolution_whose_temporaries_do_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(machine, "memory_of_machine", lambda: 2.0**19)
    text = """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1,1,h,w] x, float[1,1,k,l] y) => (float[1,1,p,q] z) { z = Conv (x, y) }"""
    made = treadle.InferenceSession(text, engines=("interp",))
    feeds = {"x": np.ones((1, 1, 40, 40), np.float32), "y": np.ones((1, 1, 3, 3), np.float32)}
    assert made.run(None, feeds)[0].shape == (1, 1, 38, 38)
    with pytest.raises(treadle.RunError, match="of memory there are"):
        made.run(None, {**feeds, "y": np.ones((1, 1, 20, 20), np.float32)})


def test_the_size_of_text_is_that_of_its_characters() -> None:
    joined = ops.result_bytes(Leaf("", "StringConcat", 20, (), ()))
    assert joined is not None
    one, many = np.array("word", object), np.array([["a", "bc"]] * 3, object)
    assert joined([one, many]) == len("word") * 6 + 9
    assert joined([one, np.empty((0, 2), object)]) == 0


def test_text_split_in_parts_is_as_wide_as_the_text_with_the_most() -> None:
    given = {"delimiter": attribute("delimiter", ",")}
    split = ops.result_bytes(Leaf("", "StringSplit", 20, (), (), given))
    assert split is not None
    texts = np.array(["a," * 5000, *[""] * 200], object)
    assert split([texts]) == 8 * 201 * 5001
    assert split([texts[1:]]) == 0


def doubled(times: int) -> str:
    steps = " ".join(f"a{k + 1} = StringConcat (a{k}, a{k})" for k in range(times))
    return f"""<ir_version: 10, opset_import: ["" : 21]>
    g (string[n] a0) => (string[n] a{times}) {{ {steps} }}"""


def test_text_that_is_doubled_again_and_again_is_an_error_in_a_default_session() -> None:
    session = treadle.InferenceSession(doubled(40))
    with pytest.raises(treadle.LimitExceeded, match="max_bytes"):
        session.run(None, {"a0": ["ab"]}, treadle.RunOptions(max_bytes=10**6))
    (found,) = treadle.InferenceSession(doubled(3)).run(None, {"a0": ["ab"]})
    assert found.tolist() == ["ab" * 8]
