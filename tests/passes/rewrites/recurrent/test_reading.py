"""The step of a recurrence, written in other ways: read as the same, or refused with the reason."""

from __future__ import annotations

import pytest

import treadle
from tests.passes.rewrites.models import every_operator
from tests.passes.rewrites.recurrent.exported import FORMS, feeds_of, written
from tests.passes.rewrites.recurrent.test_from_loop import NAME, close

LSTM = FORMS["script LSTM"][0]
OTHERS = "gg = Slice (gates, k8, k12, one) go_ = Slice (gates, k12, k16, one)"
EQUAL = {
    "a product of named axes": (
        "from_x = Gemm <transB = 1> (xt, wi, bi)",
        'e_ = Einsum <equation = "bf,gf->bg"> (xt, wi) from_x = Add (e_, bi)',
    ),
    "a product of named axes, the matrix first": (
        "from_x = Gemm <transB = 1> (xt, wi, bi)",
        'e_ = Einsum <equation = "gf,bf->bg"> (wi, xt) from_x = Add (e_, bi)',
    ),
    "a scaled product": ("from_x = Gemm <transB = 1>", "from_x = Gemm <transB = 1, alpha = 0.5>"),
    "a scaled bias": ("from_x = Gemm <transB = 1>", "from_x = Gemm <transB = 1, beta = 2.0>"),
    "a bias times zero": ("from_x = Gemm <transB = 1>", "from_x = Gemm <transB = 1, beta = 0.0>"),
    "a sum": ("gates = Add (from_x, from_h)", "gates = Sum (from_x, from_h)"),
    "a quotient": (
        "gates = Add (from_x, from_h)",
        "two_ = Constant <value = float {2.0}> () s_ = Add (from_x, from_h) t_ = Add (s_, s_)"
        " gates = Div (t_, two_)",
    ),
    "negative numbers": ("gates = Add (from_x, from_h)",
                         "n_ = Neg (from_x) gates = Sub (from_h, n_)"),
    "a split of given sizes": (
        OTHERS, "sz = Constant <value = int64[4] {4, 4, 4, 4}> ()"
        " a_, b_, gg, go_ = Split <axis = -1> (gates, sz)",
    ),
    "a cast to the same type": ("out = Identity (hn)", "out = Cast <to = 1> (hn)"),
    "an axis that comes and goes": (
        "out = Identity (hn)", "u_ = Unsqueeze (hn, k0) out = Squeeze (u_, k0)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EQUAL)
def test_a_step_is_read_in_another_form(name: str) -> None:
    old, new = EQUAL[name]
    assert old in LSTM
    before = written(LSTM.replace(old, new))
    after = treadle.rewrite(before, NAME)
    assert "LSTM" in every_operator(after)
    close(before, after, feeds_of(before, 3))


REFUSED = {
    "its step divides by a value that is not constant": (
        "hn = Mul (o, tc)", "hn = Div (o, tc)",
    ),
    "its step has a Clip with one bound": (
        "hn = Mul (o, tc)",
        "l_ = Constant <value = float {-0.5}> () m_ = Mul (o, tc) hn = Clip (m_, l_)",
    ),
    "its step changes the element type": (
        "hn = Mul (o, tc)", "m_ = Mul (o, tc) d_ = Cast <to = 11> (m_) hn = Cast <to = 1> (d_)",
    ),
    "its step has an Einsum of another form": (
        "from_x = Gemm <transB = 1> (xt, wi, bi)",
        'from_x = Einsum <equation = "bf,gf,g->bg"> (xt, wi, bi)',
    ),
    "its step has a Slice along several axes, or with steps": (
        "gi = Slice (gates, k0, k4, one)", "gi = Slice (gates, k0, k16, one, k4)",
    ),
    "its step has a Where whose condition is not proven": (
        "hn = Mul (o, tc)", "m_ = Mul (o, tc) p_ = Greater (m_, hp) hn = Where (p_, m_, hp)",
    ),
    "its step has the operator Erf": ("tc = Tanh (cn)", "tc = Erf (cn)"),
    "is not constant: its weights are computed at run time": (
        "hn = Mul (o, tc)", 'm_ = Mul (o, tc) hn = Einsum <equation = "bh,bh->bh"> (m_, m_)',
    ),
    "its step has a Reshape that moves columns": (
        "hn = Mul (o, tc)",
        "r_ = Constant <value = int64[2] {4, -1}> () b_ = Constant <value = int64[2] {-1, 4}> ()"
        " m_ = Mul (o, tc) q_ = Reshape (m_, r_) hn = Reshape (q_, b_)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_a_step_that_is_not_read_is_refused(reason: str) -> None:
    old, new = REFUSED[reason]
    assert old in LSTM
    with pytest.raises(treadle.Unsupported, match=reason):
        treadle.rewrite(written(LSTM.replace(old, new)), NAME)
