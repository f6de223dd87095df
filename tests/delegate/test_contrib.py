"""onnxruntime's own operators run in onnxruntime, and the steps around them stay native."""

import numpy as np
import pytest

import treadle
from treadle.errors import Unsupported
from treadle.ir import Leaf

X = np.float32([[1, -2, 3], [4, 5, -6]])
ONES = np.ones(3, np.float32)


def text(nodes, opset=17, inputs="float[2,3] x, float[3] s", outputs="float[2,3] y"):
    ir = 3 if opset < 10 else 8
    imports = f'["" : {opset}, "com.microsoft" : 1]'
    return f"<ir_version: {ir}, opset_import: {imports}>\ng ({inputs}) => ({outputs}) {{ {nodes} }}"


def onnxruntimes_answer(source, feeds):
    import onnx.parser
    import onnxruntime

    session = onnxruntime.InferenceSession(onnx.parser.parse_model(source).SerializeToString())
    return session.run(None, feeds)


@pytest.mark.parametrize(
    ("nodes", "opset"),
    [
        ("y = LayerNormalization(x, s)", 12),
        ("a = LayerNormalization(x, s) y = Relu(a)", 12),
        (
            "a = Cast<to=11>(x) b = Cast<to=11>(s) c = LayerNormalization(a, b) y = Cast<to=1>(c)",
            12,
        ),
        ("y = SimplifiedLayerNormalization(x, s)", 17),
        ("y = Affine<alpha=2.0, beta=1.0>(x)", 9),
        ("y = ScaledTanh<alpha=2.0, beta=0.5>(x)", 9),
        ("y = com.microsoft.QuickGelu(x)", 17),
        ("a = Neg(x) b = com.microsoft.BiasGelu(a, s) y = Neg(b)", 17),
    ],
)
def test_a_contrib_operator_has_onnxruntimes_outputs(nodes, opset):
    source = text(nodes, opset)
    feeds = {"x": X, "s": ONES}
    found = treadle.InferenceSession(source).run(None, feeds)
    np.testing.assert_allclose(found, onnxruntimes_answer(source, feeds), rtol=1e-5)


def test_interp_has_no_kernel_of_a_contrib_operator():
    with pytest.raises(Unsupported, match="no kernel"):
        treadle.InferenceSession(text("y = com.microsoft.QuickGelu(x)"), engines=("interp",))


def test_a_removed_contrib_operator_is_unknown_in_later_opsets():
    with pytest.raises(treadle.InvalidModel, match="CF701"):
        treadle.InferenceSession(text("y = Affine<alpha=2.0, beta=1.0>(x)", 10))


LOOP = """
    n = Constant<value_int=5>()
    w = Loop(n, "", a) <body = b (int64 i, bool c, float[2,3] v) => (bool d, float[2,3] u) {
        t = Tanh(v) u = Add(t, v) d = Identity(c) }>"""


def test_a_loop_next_to_a_contrib_operator_stays_native():
    source = text(f"a = com.microsoft.QuickGelu(x) {LOOP} y = com.microsoft.QuickGelu(w)")
    session = treadle.InferenceSession(source)
    assert [region.engine for region in session.plan.main.regions] == [
        "onnxruntime",
        "jit",
        "onnxruntime",
    ]
    feeds = {"x": X, "s": ONES}
    np.testing.assert_allclose(
        session.run(None, feeds), onnxruntimes_answer(source, feeds), rtol=1e-5
    )


def test_a_contrib_operator_is_a_host_call_of_a_native_loop():
    source = text("""
        n = Constant<value_int=5>()
        y = Loop(n, "", x) <body = b (int64 i, bool c, float[2,3] v) => (bool d, float[2,3] u) {
            t = com.microsoft.QuickGelu(v) u = Add(t, v) d = Identity(c) }>""")
    feeds = {"x": X, "s": ONES}
    found = treadle.InferenceSession(source).run(None, feeds)
    np.testing.assert_allclose(found, onnxruntimes_answer(source, feeds), rtol=1e-5)


def test_a_contrib_operator_runs_with_a_listener():
    session = treadle.InferenceSession(text("a = com.microsoft.QuickGelu(x) y = Neg(a)"))
    recorder = treadle.Recorder()
    (y,) = session.run(None, {"x": X, "s": ONES}, listener=recorder)
    np.testing.assert_array_equal(recorder.of("y")[0].value, y)


@pytest.mark.parametrize(
    ("call", "type_"),
    [("QuickGelu(x)", "float32[2,3]"), ("BiasSplitGelu(x, s)", "float32[*]")],
)
def test_the_types_of_its_results_are_known_and_of_some_the_shapes(call, type_):
    model = treadle.infer(text(f"y = com.microsoft.{call}"))
    (step,) = model.main.steps
    assert isinstance(step, Leaf)
    assert str(step.results[0].inferred) == type_
