"""Calls: functions inferred with the types of each call, SequenceMap element by element."""

import pytest

from tests.infer.models import read, typed
from treadle.infer import infer
from treadle.infer.functions import all_values

OPSETS = '<opset_import: ["" : 21, "local" : 1], domain: "local">'


CALLS = {
    "a function is inferred with the types of each call": (
        f"""g (float[2,N] x, int64[5] z) => (y, w) {{ y = local.f(x) w = local.f(z) }}
        {OPSETS} f (a) => (b) {{ b = Concat<axis=0>(a, a) }}""", {"y": "float32[4,N]",
         "w": "int64[10]"}),
    "an attribute of a call reaches the bodies of its function": (
        f"""g (float[2,3] x, bool C) => (y, w) {{
            y = local.f<axis=0>(x, C) w = local.f<axis=1>(x, C) }}
        {OPSETS} f <axis> (a, c) => (b) {{
            b = If (c) <then_branch = t () => (p) {{ p = Concat<axis: int = @axis>(a, a) }},
                        else_branch = e () => (q) {{ q = Concat<axis: int = @axis>(a, a) }}> }}""",
         {"y": "float32[4,3]", "w": "float32[2,6]"}),
    "omitted operands of a call are unknown": (f"""g (float[2] x) => (y) {{ y = local.f(x) }}
        {OPSETS} f (a, low) => (b) {{ b = Clip(a, low) }}""", {"y": "float32[2]"}),
}  # fmt: skip
"""The text of a model, and the types that values must have."""


@pytest.mark.parametrize("case", CALLS)
def test_types_of_calls(case):
    text, wanted = CALLS[case]
    found = typed(text)
    assert {name: found[name] for name in wanted} == wanted


def test_the_length_of_a_loop_in_a_function_is_another_one_in_each_call():
    found = typed(f"""g (int64 M, int64 K) => (y, z, w) {{
            y = local.f(M) z = local.f(K) w = Add(y, z) }}
        {OPSETS} f (m) => (ys) {{
            ys = Loop <body = b (int64 i, bool c) => (c2, i2) {{
                c2 = Identity(c) i2 = Identity(i) }}> (m, "") }}""")
    assert (found["y"], found["z"], found["w"]) == ("int64[?]",) * 3


@pytest.mark.parametrize("depth", [4, 24])
def test_functions_that_call_each_other_twice_are_not_inferred_twice(depth):
    functions = "\n".join(
        f"{OPSETS} f{k} (a) => (c) {{ b = local.f{k + 1}(a) c = local.f{k + 1}(b) }}"
        for k in range(depth)
    )
    model = read(f"""g (float[N] x) => (y) {{ y = local.f0(x) }}
        {functions} {OPSETS} f{depth} (a) => (b) {{ b = Relu(a) }}""")
    (result,) = infer(model).main.results
    assert str(result.inferred) == "float32[N]"


def test_sequence_map_gives_sequences_of_what_its_body_gives():
    found = typed("""g (float[2] x, float[7] k) => (s) {
        q = SequenceConstruct(x, x)
        s = SequenceMap <body = b (a) => (e) { e = Concat<axis=0>(a, k) }> (q) }""")
    assert found["main/sequencemap_1.body a"] in ("float32[2]", "float32[*]")
    assert found["s"] in ("seq(float32[9])", "seq(float32[*])")


def in_function(text):
    model = infer(read(text))
    (function,) = [f for f in model.functions.values() if f.id.name == "f"]
    return {value.name: str(value.inferred) for value in all_values(function.block)}


def test_the_values_of_a_function_have_the_types_of_its_only_call():
    found = in_function(f"""g (float[2,N] x, bool C) => (y) {{ y = local.f(x, C) }}
        {OPSETS} f (a, c) => (d) {{
            b = Concat<axis=0>(a, a)
            d = If (c) <then_branch = t () => (p) {{ p = Relu(b) }},
                        else_branch = e () => (q) {{ q = Neg(b) }}> }}""")
    assert {found[name] for name in "bdpq"} == {"float32[4,N]"}
    assert found["a"] == "float32[2,N]"


IN_FUNCTIONS = {
    "of two calls the values of a function have what both share": (
        f"""g (float[2,N] x, float[3,N] z) => (y, w) {{
            y = local.f(x) w = local.f(z) }}
        {OPSETS} f (a) => (b) {{ b = Relu(a) }}""", {"a": "float32[?,N]", "b": "float32[?,N]"}),
    "a call that inference only tried leaves no trace": (f"""g (float[1] x) => (y) {{
            M = Constant<value_int=9>()
            y = Loop <body = b (int64 i, bool c, s) => (e, t) {{
                e = Identity(c) r = Concat<axis=0>(s, x) t = local.h(r) }}> (M, "", x) }}
        {OPSETS} h (a) => (b) {{ b = local.f(a) }}
        {OPSETS} f (a) => (b) {{ b = Relu(a) }}""", {"a": "float32[main/loop_1.iteration+2]",
         "b": "float32[main/loop_1.iteration+2]"}),
    "an uncalled function has no types": (f"""g (float[1] x) => (y) {{ y = Relu(x) }}
        {OPSETS} f (a) => (b) {{ b = Relu(a) }}""", {"a": "None", "b": "None"}),
}  # fmt: skip
"""The text of a model, and the types that values must have."""


@pytest.mark.parametrize("case", IN_FUNCTIONS)
def test_types_inside_a_function(case):
    text, wanted = IN_FUNCTIONS[case]
    found = in_function(text)
    assert {name: found[name] for name in wanted} == wanted
