"""Passes on steps: identities, constants, CSE, broadcasts, DCE."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.simplify.models import cleaned, load, operators, run, same
from treadle.errors import TreadleError
from treadle.passes.simplify import broadcast_elimination
from treadle.passes.simplify.broadcast_elimination import eliminate_broadcasts
from treadle.passes.simplify.constant_folding import fold_constants
from treadle.passes.simplify.cse import eliminate_common_steps
from treadle.passes.simplify.dce import eliminate_dead_steps
from treadle.passes.simplify.identity_elimination import eliminate_identities

X = np.float32([[1, 2, 3], [4, 5, 6]])
INTS = "Constant <value_ints = [{}]> ()"


def of_x(line: str) -> str:
    return f"g (float[2,3] x) => (float[a,b] y) {{ t = Abs (x) {line} y = Neg (u) }}"


@pytest.mark.parametrize(
    "line",
    [
        "u = Identity (t)",
        "u = Cast <to = 1> (t)",
        "u = CastLike (t, x)",
        f"s = {INTS.format('0,-5')} e = {INTS.format('2,9')} u = Slice (t, s, e)",
        f"s = {INTS.format('0')} e = {INTS.format(2**63 - 1)} a = {INTS.format('1')} "
        "u = Slice (t, s, e, a)",
        f"s = {INTS.format('2,-1')} u = Reshape (t, s)",
        "s = Shape (t) u = Reshape (t, s)",
        f"s = {INTS.format('2,1')} u = Expand (t, s)",
        "u = Transpose <perm = [0, 1]> (t)",
        "u = Flatten (t)",
        "u = Concat <axis = 1> (t)",
        "u = Max (t)",
        "u = Dropout (t)",
    ],
)  # fmt: skip
def test_identity_steps_are_removed(line):
    text = of_x(line)
    model, report = cleaned(text, eliminate_identities, eliminate_dead_steps)
    assert operators(model)[-2:] == ["Abs", "Neg"]
    assert report.counts["identities eliminated"] == 1
    same(load(text), model, X)


@pytest.mark.parametrize(
    "line",
    [
        "u = Cast <to = 11> (t)",
        f"s = {INTS.format('0')} e = {INTS.format('1')} u = Slice (t, s, e)",
        f"s = {INTS.format('-1')} e = {INTS.format('-9')} p = {INTS.format('-1')} "
        "a = Constant <value_ints = [0]> () u = Slice (t, s, e, a, p)",
        f"s = {INTS.format('3,2')} u = Reshape (t, s)",
        "u = Transpose (t)",
        "u = Concat <axis = 1> (t, t)",
        "r = Constant <value_float = 0.5> () b = Constant <value = bool {1}> () "
        "u = Dropout (t, r, b)",
    ],
)
def test_a_step_that_changes_something_stays(line):
    assert cleaned(of_x(line), eliminate_identities)[1].done == ()


def test_an_axis_that_is_not_there_is_no_no_op():
    text = (
        "g (float[a] x) => (float y) { t = Concat <axis = 5> (x) y = ReduceMax <keepdims=0> (t) }"
    )
    assert cleaned(text, eliminate_identities)[1].done == ()


def test_an_output_that_is_an_input_keeps_its_copy():
    text = """g (float[2] x) => (float[2] y, float[2] z) {
        t = Neg (x) y = Identity (t) z = Identity (x) }"""
    model, _ = cleaned(text)
    assert operators(model) == ["Neg", "Identity"]
    same(load(text), model, np.float32([1, 2]))


def test_shapes_are_folded_where_they_are_certain():
    text = """g (float[n,4] x) => (float[2,b] y) {
        s = Shape (x) i = Constant <value_ints = [1]> () w = Gather (s, i)
        half = Constant <value_ints = [2]> () r = Mul (w, half)
        m = Constant <value_ints = [2]> () target = Concat <axis = 0> (m, r) y = Reshape (x, target)
    }"""
    model, report = cleaned(text)
    assert operators(model) == ["Reshape"]
    assert report.counts["constants folded"] == 3
    same(load(text), model, np.ones((4, 4), np.float32))


@pytest.mark.parametrize(
    "line",
    [
        "s = Shape (x) y = ReduceMax <keepdims = 0> (s)",
        "s = Shape <end = 1> (x) t = Shape <end = 1> (z) e = Equal (s, t) f = Cast <to = 7> (e) "
        "y = ReduceMax <keepdims = 0> (f)",
        "a = Constant <value_int = 1> () b = Constant <value_int = 0> () y = Div (a, b)",
        "s = Shape (x) d = Div (s, s) y = ReduceMax <keepdims = 0> (d)",
    ],
)
def test_uncertain_and_failing_steps_are_not_folded(line):
    text = f"g (float[n] x, float[n] z) => (int64 y) {{ {line} }}"
    assert "constants folded" not in cleaned(text, fold_constants)[1].counts


def test_a_function_whose_last_bit_may_differ_is_not_folded():
    text = """g (float x) => (float y) {
        a = Constant <value_float = 0.3> () e = Exp (a) y = Add (x, e) }"""
    assert cleaned(text)[1].done == ()


def test_constants_before_ir_version_4_stay_steps():
    text = """g (float[2,3] x) => (float[a] y) {
        s = Shape (x) i = Constant <value = int64[1] {-1}> () z = Mul (i, i)
        w = Concat <axis = 0> (s, z)
        k = Cast <to = 1> (w) y = Add (k, k) }"""
    model, report = cleaned(text, opset=9, ir=3)
    assert report.counts["constants folded"] >= 3
    assert not model.main.constants
    same(load(text, 9, 3), model, X)


def test_a_number_too_large_for_the_type_it_is_cast_to_is_not_folded():
    text = """g (int64 x) => (int64 y) {
        a = Constant <value_float = 1e30> () b = Cast <to = 7> (a) y = Add (x, b) }"""
    assert "constants folded" not in cleaned(text, fold_constants)[1].counts


TWICE = """g (float[3] x, bool c) => (float[a] y) {
    p = Exp (x) q = Exp (x) s = Add (p, q)
    y = If (c) <then_branch = t () => (float[3] u) { r = Exp (x) u = Mul (r, s) },
                else_branch = e () => (float[3] w) { w = Neg (s) }>
}"""


def test_equal_steps_merge_with_those_of_the_blocks_around_them():
    model, report = cleaned(TWICE, eliminate_common_steps)
    assert report.counts == {"common subexpressions eliminated": 2}
    assert operators(model) == ["Exp", "Add", "If"]
    for condition in (True, False):
        same(load(TWICE), model, np.float32([1, 2, 3]), condition)


UNLIKE = {
    "in branches, and random": """g (float[3] x, bool c) => (float[a] y) {
        r = RandomUniformLike (x) s = RandomUniformLike (x) d = Sub (r, s)
        b = If (c) <then_branch = t () => (float[3] u) { u = Exp (x) },
                    else_branch = e () => (float[3] w) { w = Exp (x) }>
        k = Exp (x) z = Mul (k, b) y = Add (d, z) }""",
    "with unlike attributes": """g (float[3] x) => (float[a] y) {
        p = LeakyRelu <alpha = 0.0> (x) q = LeakyRelu <alpha = -0.0> (x) y = Add (p, q) }""",
}


@pytest.mark.parametrize("case", UNLIKE)
def test_unlike_steps_are_not_merged(case):
    assert cleaned(UNLIKE[case], eliminate_common_steps)[1].done == ()


EXPANDED = """g (float[1,3] x, float[2,3] z, float[n,3] w) => (float[a,b] y) {{
    s = Constant <value_ints = [2, 3]> () t = Expand (x, s) y = {} }}"""


@pytest.mark.parametrize("last", ["Mul (t, z)", "Max (t, z, z)"])
def test_an_expand_before_broadcasting_goes(last):
    text = EXPANDED.format(last)
    model, report = cleaned(text, eliminate_broadcasts, eliminate_dead_steps)
    assert report.counts["broadcasts eliminated"] == 1
    same(load(text), model, X[:1], X, X)


@pytest.mark.parametrize("last", ["Mul (t, t)", "Mul (t, w)", "Concat <axis = 0> (t, z)"])
def test_an_expand_that_gives_the_shape_stays(last):
    assert cleaned(EXPANDED.format(last), eliminate_broadcasts)[1].done == ()


def test_the_readers_of_all_expands_are_found_at_once(monkeypatch):
    looked = []
    found = broadcast_elimination.reads
    monkeypatch.setattr(
        broadcast_elimination, "reads", lambda step: looked.append(step) or found(step)
    )
    steps = " ".join(f"s{k} = Shape (v{k}) v{k + 1} = Expand (v{k}, s{k})" for k in range(50))
    cleaned(f"g (float[a,b] v0) => (float[c,d] v50) {{ {steps} }}", eliminate_broadcasts)
    assert len(looked) <= 2 * 100


def test_dead_steps_that_cannot_fail_are_removed():
    text = """g (float[2,3] x, float[3,2] w) => (float[a,b] y) {
        t = MatMul (x, w) u = Exp (t) y = Neg (x) }"""
    model, _ = cleaned(text)
    assert operators(model) == ["Neg"]


@pytest.mark.parametrize(
    "line", ["t = MatMul (x, w)", "t = Add (x, w)", "k = Cast <to = 7> (x) t = Div (k, k)"]
)
def test_dead_steps_that_may_fail_stay(line):
    text = f"g (float[n,m] x, float[n,m] w) => (float[a,b] y) {{ {line} y = Neg (x) }}"
    model, _ = cleaned(text)
    assert operators(model) == operators(load(text))
    if "MatMul" in line:
        with pytest.raises(TreadleError):
            run(model, {"x": X, "w": X})


def test_a_false_declaration_is_not_believed():
    text = """g (float[n] x, float[m] w) => (float[4] y) <float[4] t> {
        t = Add (x, w) s = Shape (t) k = Cast <to = 1> (s) u = Tile (k, s) y = Add (u, t) }"""
    assert "constants folded" not in cleaned(text)[1].counts
