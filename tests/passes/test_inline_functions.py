"""Calls are replaced by the bodies of their functions."""

import numpy as np
import pytest

from tests.interp.blocks import f32, i64, same, yes
from tests.passes.models import load, run
from treadle.ir import Call, block_values, show_model, walk
from treadle.passes import inline_functions

LOCAL = ', "local" : 1'


def inlined(text):
    model = load(text, imports=LOCAL)
    made = inline_functions(model)
    assert made.functions == {}
    assert not any(isinstance(visit.step, Call) for visit in walk(made))
    names = [value.name for value in block_values(made.main)]
    assert len(names) == len(set(names))
    return made


TWICE = """<domain: "local", opset_import: ["" : 21]>
twice (a) => (b) { t = Identity (a) b = Add (t, t) }"""


def test_each_call_has_values_of_its_own():
    model = inlined(f"""g (float[n] x) => (float[n] z) {{
        y = local.twice (x) z = local.twice (y) }}
        {TWICE}""")
    assert (
        show_model(model)
        == """\
model "g" opset onnx 21, local 1
main(x: float32[n])
  twice_0/t = Identity(x)
  y = Add(twice_0/t, twice_0/t)
  twice_1/t = Identity(y)
  z: float32[n] = Add(twice_1/t, twice_1/t)
returns z"""
    )
    assert [visit.path for visit in walk(model)] == [
        "main/twice_0/identity_0", "main/twice_0/add_1",
        "main/twice_1/identity_0", "main/twice_1/add_1",
    ]  # fmt: skip
    same(run(model, f32(1, 2)), [f32(4, 8)])


def test_a_call_in_a_body_and_a_loop_in_a_function():
    model = inlined("""g (int64 n, float[2] x) => (float[2] z) {
        z = Loop (n, "", x) <body = b (int64 i, bool c, s) => (c, t) { t = local.power (s, n) }>
        }
        <domain: "local", opset_import: ["" : 21]>
        power (a, count) => (p) {
            p = Loop (count, "", a) <body = d (int64 j, bool go, v) => (go, w) {
                w = Add (v, a) }>
        }""")
    same(run(model, i64(2), f32(1, 2)), [f32(9, 18)])
    paths = [visit.path for visit in walk(model)]
    assert paths[-1] == "main/loop_0.body/power_0/loop_0.body/add_0"


def test_functions_pass_attributes_to_functions():
    model = inlined("""g (float[n] x) => (float[n] y, float[n] z, float[n] w) {
        y = local.outer <slope = 3.0> (x)
        z = local.outer (x)
        w = local.inner (x) }
        <domain: "local", opset_import: ["" : 21, "local" : 1]>
        outer <slope> (a) => (b) { b = local.inner <alpha : float = @slope> (a) }
        <domain: "local", opset_import: ["" : 21]>
        inner <alpha : float = 2.0> (a) => (b) { b = Elu <alpha : float = @alpha> (a) }""")
    low = f32([-np.inf])
    same(run(model, low), [f32([-3]), f32([-2]), f32([-2])])


def test_attributes_reach_into_bodies():
    model = inlined("""g (bool c, float[n] x) => (float[n] y) { y = local.f <alpha = 5.0> (c, x) }
        <domain: "local", opset_import: ["" : 21]>
        f <alpha> (c, a) => (b) {
            b = If (c) <then_branch = t () => (p) { p = Elu <alpha : float = @alpha> (a) },
                        else_branch = e () => (q) { q = Identity (a) }> }""")
    same(run(model, yes(), f32([-np.inf])), [f32([-5])])


@pytest.mark.parametrize("given", [True, False])
def test_an_operand_that_is_left_out_is_absent_in_bodies_too(given):
    call = "x, y" if given else "x"
    model = inlined(
        f"""g (bool c, float x, float y) => (float z, bool has) {{
        z, has = local.f (c, {call}) }}
        <domain: "local", opset_import: ["" : 21]>
        f (c, a, b) => (r, has) {{
            has = OptionalHasElement (b)
            r = If (c) <then_branch = t () => (p) {{ p = Clip (a, b) }},
                        else_branch = e () => (q) {{ q = Identity (a) }}> }}""".replace(
            "f (c, x)", "f (c, x)"
        )
    )
    same(run(model, yes(), f32(1), f32(5)), [f32(5 if given else 1), yes(given)])


def test_results_that_are_params_constants_or_listed_twice():
    model = inlined("""g (float x) => (float y, float k, float a, float b, float z) {
        y, k, a, b = local.f (x)
        s = Add (y, k)
        z = Add (s, b) }
        <domain: "local", opset_import: ["" : 21]>
        f (p) => (p, k, t, t) { k = Constant <value = float {10.0}> () t = Neg (p) }""")
    same(run(model, f32(1)), [f32(1), f32(10), f32(-1), f32(-1), f32(10)])


def test_unread_results_of_a_call():
    model = inlined(
        """g (float x) => (float b) { _, b = local.f (x) c = Neg (b) }
        <domain: "local", opset_import: ["" : 21]>
        f (p) => (q, r, s) { q = Neg (p) r = Add (p, q) s = Abs (p) }""".replace("_, b", '"", b')
    )
    same(run(model, f32(3)), [f32(0)])


def test_a_model_without_functions_is_returned_unchanged():
    model = load("g (float x) => (float y) { y = Neg (x) }")
    assert inline_functions(model) is model
