"""Passes that remove branches whose condition is known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.simplify.models import cleaned, load, operators, same
from treadle import formats
from treadle.passes.simplify.branch_folding import fold_branches

X = np.float32([[1, 2, 3], [4, 5, 6]])
BRANCH = """g (float[{dim}] x, bool c) => (float[a] y) {{
    one = Constant <value_int = 1> () s = Shape (x) n = Squeeze (s) k = Equal (n, one)
    y = If ({condition}) <then_branch = t () => (float u) {{ u = {then} (x) }},
        else_branch = e () => (float w) {{ w = Neg (x) }}> }}"""


@pytest.mark.parametrize(
    ("dim", "condition", "then", "left"),
    [("1", "k", "Squeeze", "Squeeze"), ("3", "k", "Squeeze", "Neg"), ("n", "c", "Neg", "Neg")],
)
def test_an_if_with_a_constant_condition_is_inlined(dim, condition, then, left):
    text = BRANCH.format(dim=dim, condition=condition, then=then)
    model, _ = cleaned(text)
    assert operators(model)[-1] == left
    for go in (True, False):
        same(load(text), model, X[0, : 1 if dim == "1" else 3], go)


@pytest.mark.parametrize(("condition", "then"), [("k", "Neg"), ("k", "Squeeze"), ("c", "Exp")])
def test_an_if_with_an_unknown_condition_stays(condition, then):
    text = BRANCH.format(dim="n", condition=condition, then=then)
    done = cleaned(text, fold_branches)[1].done
    assert (done == ()) == (then != "Neg")


def test_a_result_that_never_changes_is_made_by_a_constant_step(tmp_path):
    text = """g (float[a] x, bool c) => (float[b] y, float[b] z) {
        y, z = If (c) <then_branch = t () => (float[2] u, float[2] v)
            <float[2] u = {1, 2}> { two = Constant <value = float[1] {2}> () v = Mul (u, two) },
            else_branch = e () => (float[a] w, float[a] k) { w = Neg (x) k = Abs (x) }> }"""
    model, report = cleaned(text)
    assert report.done
    (branch,) = model.main.steps
    assert not branch.then.constants
    assert {step.op for step in branch.then.steps} == {"Constant"}
    formats.write(model, tmp_path / "model.onnx")
    again, _ = formats.read(tmp_path / "model.onnx")
    for go in (True, False):
        same(load(text), model, X[0], go)
        same(model, again, X[0], go)
