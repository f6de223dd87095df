"""Leaves that onnxruntime computes wrongly stay on interp; their harmless forms do not."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.plan import FallbackRequired

TRAINING = "y, m, v = BatchNormalization <training_mode = 1> (x, s, s, s, s)"
MISTAKEN = {
    "y = DFT (x)": "float[1, 8, 1] x) => (float[1, 8, 2] y",
    "y = MaxUnpool <kernel_shape = [2]> (x, i, s)": (
        "float[1, 1, 4] x, int64[1, 1, 4] i, int64[3] s) => (float[1, 1, 9] y"
    ),
    "y = NonZero (x)": "float x) => (int64[n, m] y",
    "y = Dropout (x, r, t)": "float[4] x, float r, bool t) => (float[4] y",
    "y = ReduceMean (x)": "int64[4] x) => (int64[1] y",
    "y = Mod <fmod = 1> (x, x)": "int64[4] x) => (int64[4] y",
    'y = Einsum <equation = "i->"> (x)': "int64[4] x) => (int64 y",
    TRAINING: "float16[2, 3] x, float16[3] s) => (float16[2, 3] y, float16[3] m, float16[3] v",
}
HARMLESS = {
    "y = MaxUnpool <kernel_shape = [2]> (x, i)": (
        "float[1, 1, 4] x, int64[1, 1, 4] i) => (float[1, 1, 8] y"
    ),
    "y = Dropout (x)": "float[4] x) => (float[4] y",
    "y = ReduceMean (x)": "float[4] x) => (float[1] y",
    "y = ReduceSum (x)": "int64[4] x) => (int64[1] y",
    "y = ReduceProd (x)": "int32[4] x) => (int32[1] y",
    TRAINING: "float[2, 3] x, float[3] s) => (float[2, 3] y, float[3] m, float[3] v",
    "y = ReduceMax (x)": "int64[4] x) => (int64[1] y",
    'y = Resize <mode = "linear"> (x, "", s)': "float[1, 1, 4] x, float[3] s) => (float[1, 1, n] y",
}


def engines(planned, step, signature):
    return [(r.engine, r.reason) for r in planned(f"g ({signature}) {{ {step} }}").main.regions]


@pytest.mark.parametrize(("step", "signature"), MISTAKEN.items())
def test_a_wrongly_computed_form_is_refused_with_a_reason(planned, step, signature):
    ((engine, reason),) = engines(planned, step, signature)
    assert engine == "interp"
    assert reason.startswith("onnxruntime ")


@pytest.mark.parametrize(("step", "signature"), HARMLESS.items())
def test_correctly_computed_forms_are_taken(planned, step, signature):
    ((engine, _),) = engines(planned, step, signature)
    assert engine == "onnxruntime"


ATTENTION = """q, k, v, a = Attention <is_causal = {causal}, qk_matmul_output_mode = 2> (x, x, x)"""
OVER = "float[1, 2, 3, 4] x) => (float[1, 2, 3, 4] q, float[1, 2, 3, 3] a"


@pytest.mark.parametrize(("causal", "engine"), [(1, "interp"), (0, "onnxruntime")])
def test_masked_products_of_attention(planned, causal, engine):
    text = f"g ({OVER}) {{ {ATTENTION.format(causal=causal)} }}".replace("k, v, a", '"", "", a')
    assert [region.engine for region in planned(text, 24).main.regions] == [engine]


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("same", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 2), (2, 2), (5, 1), (2, 1)])
def test_windows_of_pools_padded_to_the_same_extent(op, same, stride, dilation, rng):
    text = f"""<ir_version: 10, opset_import: ["" : 22]>
        g (float[1, 1, n] x) => (float[1, 1, m] y) {{
          y = {op} <kernel_shape = [2], auto_pad = "{same}", strides = [{stride}],
                    dilations = [{dilation}]> (x)
        }}"""
    for extent in (4, 5, 7):
        x = rng.standard_normal((1, 1, extent)).astype(np.float32)
        (found,) = treadle.InferenceSession(text).run(None, {"x": x})
        (wanted,) = treadle.InferenceSession(text, engines=("interp",)).run(None, {"x": x})
        assert found.shape == (1, 1, -(-extent // stride))
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(("axes", "engine"), [(1, "interp"), (2, "onnxruntime"), (3, "interp")])
def test_dilated_blocks_of_an_image(planned, axes, engine):
    signature = f"float[1, 2, 3] x, int64[{axes}] i, int64[{axes}] b"
    step = f"y = Col2Im <dilations = {[2] * axes}> (x, i, b)"
    made = planned(f"g ({signature}) => (float[] y) {{ {step} }}", 18)
    assert [region.engine for region in made.main.regions] == [engine]


RESIZE = """g (float[1, 1, n] x, float[3] s) => (float[1, 1, m] y) {
    y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, "", s) }"""


def test_corners_of_whole_lengths_are_aligned(whole, same):
    x = np.float32([[[1, 2, 3, 4]]])
    found = whole(RESIZE)(x, np.float32([1, 1, 1.75]))[0]
    same(found, np.float32([[[1, 1.5, 2, 2.5, 3, 3.5, 4]]]))


def test_corners_of_other_lengths_are_refused(whole):
    with pytest.raises(FallbackRequired):
        whole(RESIZE)(np.float32([[[1, 2, 3, 4]]]), np.float32([1, 1, 0.6]))


REDUCED = """g (float[{extents}] x) => (float[c,d] y) {{
    a = Constant <{axes}> () y = ReduceMax (x, a) }}"""


@pytest.mark.parametrize(
    "axes", ["value_ints = [-1]", "value = int64[1] {-1}", "value = int64 {-1}"]
)
def test_axes_from_the_end_of_an_empty_tensor(whole, same, axes):
    run = whole(REDUCED.format(extents="a,3", axes=axes), 18)
    same(run(np.zeros((0, 3), np.float32))[0], np.zeros((0, 1), np.float32))
    same(run(np.float32([[1, 3, 2]]))[0], np.float32([[3]]))


def test_axes_from_the_end_as_attribute(whole, same):
    text = "g (float[a,3] x) => (float[c,d] y) { y = ReduceMax <axes = [-2, 1]> (x) }"
    same(whole(text, 13)(np.zeros((0, 3), np.float32))[0], np.full((1, 1), -np.inf, np.float32))


def test_whole_numbers_are_added_exactly():
    text = """<ir_version: 10, opset_import: ["" : 21]>
        g (int64[n] x) => (int64[1] y) { y = ReduceSum (x) }"""
    found = treadle.InferenceSession(text).run(None, {"x": np.array([2**53, 1])})[0]
    assert found.tolist() == [2**53 + 1]


def test_running_means_restart_in_every_run():
    head = '<ir_version: 8, opset_import: ["": 18]>\n'
    text = """g (float16[2,3] x) => (float16[2,3] y, float16[3] m, float16[3] v)
    <float16[3] s = {1, 1, 1}, float16[3] a = {1, 2, 3}, float16[3] b = {1, 1, 1}> {
      y, m, v = BatchNormalization <training_mode = 1> (x, s, s, a, b) }"""
    session = treadle.InferenceSession(head + text)
    first, second = (session.run(["m"], {"x": np.ones((2, 3), np.float16)})[0] for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("declared", ["float", "float[]"])
@pytest.mark.parametrize(("x", "shape"), [(5, (0, 1)), (0, (0, 0))])
def test_the_positions_of_a_scalar_have_no_row(declared, x, shape):
    made = treadle.InferenceSession(
        f"""<ir_version: 10, opset_import: ["" : 21]>
        g ({declared} x) => (int64[] y) {{ y = NonZero (x) }}"""
    )
    assert made.run(None, {"x": np.float32(x)})[0].shape == shape


def test_the_positions_of_a_vector_are_found_by_onnxruntime():
    made = treadle.InferenceSession(
        """<ir_version: 10, opset_import: ["" : 21]>
        g (float[n] x) => (int64[1, m] y) { y = NonZero (x) }""",
        engines=("onnxruntime",),
    )
    assert made.run(None, {"x": np.float32([0, 5])})[0].tolist() == [[1]]
