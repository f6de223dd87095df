"""scan-to-recurrent: exporters' loops become the operator; near-misses do not."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from tests.conformance.data import exported
from tests.passes.rewrites.models import every_operator
from tests.passes.rewrites.recurrent import exported as exported_forms
from tests.passes.rewrites.recurrent.exported import FORMS, feeds_of, written
from tests.passes.rewrites.recurrent.operators import operator
from tests.passes.simplify.models import run, run_by_onnxruntime, saved

NAME = "scan-to-recurrent"


def close(before, after, feeds, *, in_onnxruntime: bool = True) -> None:
    wanted = run(before, feeds)
    data = saved(after)
    onnx.checker.check_model(data, full_check=True)
    found = [run(after, feeds)]
    if in_onnxruntime:
        found.append(run_by_onnxruntime(data, feeds))
    for each in found:
        for one, other in zip(each, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
            assert one.dtype == other.dtype


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_exporters(name: str) -> None:
    text, op = FORMS[name]
    before = written(text)
    after, report = treadle.rewrite(before, NAME, with_report=True)
    assert {*every_operator(after)} & {"Scan", "Loop", "LSTM", "GRU", "RNN"} == {op}
    assert report.counts == {NAME: 1}
    for trips in (0, 1, 2, 5):
        close(before, after, feeds_of(before, trips))


@pytest.mark.parametrize("opset", [11, 13, 20])
def test_opsets(opset: int) -> None:
    before = treadle.convert_version(written(FORMS["script LSTM"][0]), opset)
    after = treadle.rewrite(before, NAME)
    assert "LSTM" in every_operator(after)
    close(before, after, feeds_of(before, 3))


@pytest.mark.parametrize(
    ("op", "options"),
    [
        ("LSTM", {}),
        ("LSTM", {"peepholes": True, "clip": 0.9}),
        ("LSTM", {"input_forget": 1}),
        ("LSTM", {"lengths": [5, 2], "outputs": "hc"}),
        ("LSTM", {"direction": "reverse", "layout": 1}),
        ("LSTM", {"direction": "bidirectional"}),
        ("LSTM", {"activations": ["Sigmoid", "Relu", "Softsign"], "initial": False}),
        ("GRU", {"lengths": [3, 5]}),
        ("GRU", {"linear_before_reset": 1, "direction": "reverse"}),
        ("GRU", {"linear_before_reset": 1, "biases": False, "direction": "bidirectional"}),
        ("GRU", {"clip": 0.5}),
        ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.2]}),
        ("RNN", {"lengths": [1, 4], "direction": "reverse"}),
    ],
)
def test_there_and_back(op: str, options: dict[str, object]) -> None:
    before, feeds = operator(op, constants=True, **options)
    scans = treadle.rewrite(before, "recurrent-to-scan")
    after = treadle.rewrite(scans, NAME)
    assert {*every_operator(after)} & {"Scan", "Loop", op} == {op}
    close(before, after, feeds)


# what is near an operator, and is none: the text of a form, and what is written in its place
NEAR_MISSES = {
    "c is not forgotten": ("script LSTM", "fc = Mul (f, cp)", "fc = Mul (f, hp)"),
    "c is what h should be": ("script LSTM", "tc = Tanh (cn)", "tc = Tanh (cp)"),
    "forget with another activation": ("script LSTM", "f = Sigmoid (gf)", "f = Tanh (gf)"),
    "output with another activation": ("script LSTM", "o = Sigmoid (go_)", "o = Relu (go_)"),
    "c is subtracted": ("script LSTM", "cn = Add (fc, ig)", "cn = Sub (fc, ig)"),
    "c is halved": ("script LSTM", "tc = Tanh (cn)", "cc = Mul (cn, h0) tc = Tanh (cc)"),
    "a residual": ("script LSTM", "hn = Mul (o, tc)", "hm = Mul (o, tc) hn = Add (hm, hp)"),
    "a second input": ("script LSTM", "gates = Add (from_x, from_h)",
                       "g_ = Add (from_x, from_h) gates = Mul (g_, from_x)"),
    "an input from outside": ("script LSTM", "hn = Mul (o, tc)",
                              "hm = Mul (o, tc) hn = Add (hm, h0)"),
    "the number of the iteration": ("script LSTM", "hn = Mul (o, tc)",
                                    "tf = Cast <to = 1> (t) hm = Mul (o, tc) hn = Add (hm, tf)"),
    "a gate of the new h": ("script LSTM", "from_h = Gemm <transB = 1> (hp, wh, bh)",
                            "from_h = Gemm <transB = 1> (cp, wh, bh)"),
    "the item after": ("script LSTM", "xt = Gather <axis = 0> (x, t)",
                       "one_ = Constant <value = int64 {1}> () s_ = Sub (t, one_)"
                       " xt = Gather <axis = 0> (x, s_)"),
    "every other item": ("script LSTM", "xt = Gather <axis = 0> (x, t)",
                         "two_ = Constant <value = int64 {2}> () s_ = Div (t, two_)"
                         " xt = Gather <axis = 0> (x, s_)"),
    "it may end": ("script LSTM", "on = Identity (go)",
                   "lim = Constant <value = float {9.0}> () sum_ = ReduceSum <keepdims = 0> (hp)"
                   " on = Less (sum_, lim)"),
    "c is stacked": ("script LSTM", "out = Identity (hn)", "out = Identity (cn)"),
    "h before is stacked": ("script LSTM", "out = Identity (hn)", "out = Identity (hp)"),
    "the update of both": ("jax GRU", "zh = Mul (z, hp)", "zh = Mul (r, hp)"),
    "the new state is kept": ("jax GRU", "kn = Mul (keep, n)", "kn = Mul (z, n)"),
    "roles of z are swapped": ("jax GRU", "kn = Mul (keep, n) zh = Mul (z, hp)",
                               "kn = Mul (z, n) zh = Mul (keep, hp)"),
    "reset before and after": ("jax GRU", "d = MatMul (hp, wh)",
                               "s_ = Sigmoid (hp) hq = Mul (s_, hp) d = MatMul (hq, wh)"),
    "reset of the input too": ("jax GRU", "n0 = Add (an, rd)",
                               "ra = Mul (r, an) n0 = Add (ra, rd)"),
    "reset of one product": ("TensorFlow GRU", "mixed = Concat <axis = -1> (xt, rh)",
                             "mixed = Concat <axis = -1> (xt, hp)"),
    "columns in another order": ("TensorFlow GRU", "both = Concat <axis = -1> (xt, hp)",
                                 "th = Tanh (hp) both = Concat <axis = -1> (xt, th)"),
    "h is updated behind the end": ("TensorFlow LSTM", "hs = Where (column, hp, hn)",
                                    "hs = Identity (hn)"),
    "c is updated behind the end": ("TensorFlow LSTM", "cs = Where (column, cp, cn)",
                                    "cs = Identity (cn)"),
    "c is kept as h is": ("TensorFlow LSTM", "cs = Where (column, cp, cn)",
                          "cs = Where (column, hp, cn)"),
    "the mask is turned": ("TensorFlow LSTM", "hs = Where (column, hp, hn)",
                           "hs = Where (column, hn, hp)"),
    "the mask ends late": ("TensorFlow LSTM", "ended = GreaterOrEqual (t, lens)",
                           "ended = Greater (t, lens)"),
    "Keras' repeated outputs": ("TensorFlow LSTM", "out = Where (column, none, hn)",
                                "out = Identity (hs)"),
    "outputs without a mask": ("TensorFlow LSTM", "out = Where (column, none, hn)",
                               "out = Identity (hn)"),
    "padded with ones": ("TensorFlow LSTM", "none = Constant <value = float {0.0}> ()",
                         "none = Constant <value = float {1.0}> ()"),
    "h before the mask": ("TensorFlow LSTM", "tc = Tanh (cn)",
                          "cm = Where (column0, cp, cn) tc = Tanh (cm)"),
    "tanh of the state": ("onnxscript RNN", "d = MatMul (r, hp)",
                          "th = Tanh (hp) d = MatMul (r, th)"),
    "a sum behind the activation": ("onnxscript RNN", "hn = Tanh (s1)",
                                    "h1 = Tanh (s1) hn = Add (h1, hp)"),
    "two activations": ("onnxscript RNN", "hn = Tanh (s1)", "h1 = Tanh (s1) hn = Sigmoid (h1)"),
    "a square": ("onnxscript RNN", "d = MatMul (r, hp)",
                 "hh = Mul (hp, hp) d = MatMul (r, hh)"),
    "keep is two minus z": ("Keras GRU", "one = Constant <value = float {1.0}> ()",
                            "one = Constant <value = float {2.0}> ()"),
    "the reset is not multiplied": ("Keras GRU", "rm = Mul (r, mh)", "rm = Add (r, mh)"),
}  # fmt: skip


# what looks like a mistake, and is an operator two of whose gates have equal weights
SHARED_GATES = {
    "the output gate sees another h": ("script LSTM", "hn = Mul (o, tc)", "hn = Mul (f, tc)"),
    "the input gate is forgotten": ("script LSTM", "ig = Mul (i, g)", "ig = Mul (f, g)"),
    "new state by two sigmoids": ("script LSTM", "ig = Mul (i, g)", "ig = Mul (i, o)"),
    "overlapping gates": ("script LSTM", "gf = Slice (gates, k4, k8, one)",
                          "gf = Slice (gates, k0, k4, one) gz = Slice (gates, k4, k8, one)"),
    "reset and update are swapped": ("jax GRU", "rd = Mul (r, db)", "rd = Mul (z, db)"),
    "reset of the wrong gate": ("TensorFlow GRU", "rh = Mul (r, hp)", "rh = Mul (z, hp)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED_GATES)
def test_gates_that_share_weights(name: str) -> None:
    form, old, new = SHARED_GATES[name]
    text, op = FORMS[form]
    before = written(text.replace(old, new))
    after = treadle.rewrite(before, NAME)
    assert op in every_operator(after)
    close(before, after, feeds_of(before, 4))


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses(name: str) -> None:
    form, old, new = NEAR_MISSES[name]
    text = FORMS[form][0]
    assert old in text
    changed = text.replace(old, new)
    if "column0" in new:
        changed = changed.replace("f = Sigmoid (gf)", EARLY_MASK)
    before = written(changed)
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.rewrite(before, NAME)
    assert all(found.path and found.message for found in caught.value.findings)


EARLY_MASK = """ended0 = GreaterOrEqual (t, lens) axis0 = Constant <value = int64[1] {1}> ()
    column0 = Unsqueeze (ended0, axis0) f = Sigmoid (gf)"""


def test_reasons() -> None:
    form, old, new = NEAR_MISSES["Keras' repeated outputs"]
    with pytest.raises(treadle.Unsupported, match="repeats the last output"):
        treadle.rewrite(written(FORMS[form][0].replace(old, new)), NAME)
    text = f'<ir_version: 8, opset_import: ["" : 17]>{FORMS["onnxscript RNN"][0]}'
    with pytest.raises(treadle.Unsupported, match="its weights are computed at run time"):
        treadle.rewrite(text, NAME)


@pytest.mark.parametrize("name", ["jax_scan_lstm", "torch_script_custom_lstm_op13"])
def test_models_of_exporters(name: str) -> None:
    path, feeds, _ = exported(name)
    before = treadle.load(path)
    after = treadle.rewrite(before, NAME)
    assert {*every_operator(after)} & {"Loop", "Scan", "LSTM"} == {"LSTM"}
    close(before, after, feeds)


def test_portable_refuses_float64() -> None:
    before = written(FORMS["jax GRU"][0], dtype="double")
    after = treadle.rewrite(before, NAME)
    close(before, after, feeds_of(before, 3), in_onnxruntime=False)
    with pytest.raises(treadle.Unsupported, match="float64"):
        treadle.rewrite(before, NAME, portable=("onnxruntime",))


def test_other_loops_stay() -> None:
    text = FORMS["jax GRU"][0].replace("float[B,4] h,", "float[B,4] h, float[B,4] s,")
    extra = """
  s, = Scan <num_scan_inputs = 1, body = e (float[B,4] a, float[B,4] b) => (float[B,4] k) {
    k = Mul (a, b) }> (h0, y)
}"""
    before = written(text.rstrip()[:-1] + extra.replace("s, =", "s ="))
    after = treadle.rewrite(before, NAME)
    assert {*every_operator(after)} >= {"GRU", "Scan"}
    close(before, after, feeds_of(before, 3))
    scans = [name for name in every_operator(before) if name == "Scan"]
    with pytest.raises(treadle.Unsupported):
        treadle.rewrite(before, NAME, paths="main/scan_1")
    assert len(scans) == 2


@pytest.mark.parametrize("scale", [0.1, 0.7, 3.0])
def test_a_reason_does_not_depend_on_the_weights(scale: float, monkeypatch) -> None:
    def numbers(rng: np.random.Generator, shape, dtype) -> np.ndarray:
        return (rng.standard_normal(shape) * scale).astype(dtype)

    monkeypatch.setattr(exported_forms, "_numbers", numbers)
    form, old, new = NEAR_MISSES["c is stacked"]
    with pytest.raises(treadle.Unsupported, match="stacks a value of every iteration"):
        treadle.rewrite(written(FORMS[form][0].replace(old, new)), NAME)
