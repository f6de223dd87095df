"""`explain` before the first run: code for declared types, which later runs do not use."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives
from tests.values import assert_same
from treadle.errors import InternalCompilerWarning
from treadle.jit import internal_errors
from treadle.jit.runtime import ahead_of_time, region_compiler

NOT_YET = "not compiled yet: native code will be tried at the first run, for the shapes that come"
NO_CODE = "# nothing is compiled yet, and the types do not suffice: "


def loop(shape="6,7", given="float"):
    return f"""g (int64 n, {given}[{shape}] p, float[{shape}] w) => (float[A,B] y) {{
      y = Loop (n, , p) <body = f (int64 i, bool go, float[{shape}] x)
        => (bool on, float[{shape}] x1) {{
        on = Identity (go)
        s = Add (x, w)
        x1 = Tanh (s)
      }}>
    }}"""


def prepared(text, engines=("jit", "interp")):
    return treadle.InferenceSession(HEAD + text, engines=engines)


def feed(*shape):
    p = np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    return {"n": np.array(3), "p": p, "w": p}


def kernel_of(shown):
    """The code without the lines that say whose it is."""
    return [line for line in shown.splitlines() if not line.startswith("#")]


def test_known_shapes_have_the_code_of_the_run():
    session = prepared(loop())
    head, *before = session.explain("kernel").splitlines()
    assert (
        head == "# main/loop_0 for n int64[], p float32[6,7], w float32[6,7], before its first run"
    )
    assert "i64 @kernel(" in session.explain("llvm")
    session.run(None, feed(6, 7))
    head, *after = session.explain("kernel").splitlines()
    assert head == "# main/loop_0 for n int64[], p float32[6,7], w float32[6,7]"
    assert before == after


def test_explain_before_a_run_says_that_no_kernel_is_compiled(monkeypatch):
    monkeypatch.setattr(region_compiler, "specialize", None)  # nobody makes a kernel for that
    session = prepared(loop())
    assert session.explain().splitlines()[-1] == f"  {NOT_YET}"


def test_the_plan_says_where_the_loop_is_expected_to_go():
    engines = ("jit", "onnxruntime", "interp")
    session = prepared(loop(), engines=engines)
    assert session.explain().splitlines()[-1] == f"  {NOT_YET}; expected to be compiled"
    text = loop("7,7").replace("s = Add (x, w)", "d = Det (x)\n s = Add (x, d)")
    slow = prepared(text, engines=engines)
    foreseen = slow.explain().splitlines()[-1]
    begins = "  not compiled yet: native code will be tried at the first run; expected to go to"
    assert foreseen.startswith(f"{begins} onnxruntime, since ")
    slow.run(None, feed(7, 7))
    assert "jit: native code was tried: onnxruntime is expected to be faster" in slow.explain()


def test_explain_after_a_run_shows_the_compiled_kernels():
    session = prepared(loop())
    session.run(None, feed(6, 7))
    assert NOT_YET not in session.explain()
    assert "before its first run" not in session.explain("kernel")


def test_extents_without_a_number_are_open_and_equal_ones_are_one():
    shown = prepared(loop("T,7")).explain("kernel")
    assert "p float32[T,7], w float32[T,7], before its first run" in shown
    assert shown.count(": float32[d1_0,7] = input ") == 2
    assert "equal" not in shown  # no guard whether two lengths are the same
    assert "i64 @kernel(" in prepared(loop("T,7")).explain("llvm")


def test_sliced_inputs_with_one_symbol_have_one_dim():
    shown = prepared("""g (float[T] x, float[T] w, float[B] none) => (float[B] last, float[T] y) {
      last = Scan <num_scan_inputs = 1, body = b (float[B] line, float v) => (float[B] more) {
        more = Add (line, v)
      }> (none, x)
      y = Loop ("", "", w) <body = f (int64 i, bool go, float[T] u) => (bool on, float[T] u1) {
        s = ReduceSum <keepdims = 0> (last)
        on = Less (s, s)
        u1 = Mul (u, s)
      }>
    }""").explain("kernel")  # fmt: skip
    opened = [line.split()[1] for line in shown.splitlines() if " = input " in line]
    assert sorted(opened) == ["float32[d0_0]", "float32[n0]", "float32[n0]"], shown


def test_code_for_explain_is_not_kept(monkeypatch):
    session = prepared(loop("T,7"))
    with monkeypatch.context() as patched:
        patched.setattr(region_compiler, "compiled", None)  # no machine code is made
        session.explain("kernel"), session.explain("llvm")
    (native,) = natives(session)
    assert not any(
        (
            native.cache.compiled,
            native.cache.by_shapes,
            native.cache.dynamic_dims.seen,
            native.cache.values.inputs,
        )
    )


def test_runs_do_not_depend_on_earlier_explains():
    asked, unasked, interp = (
        prepared(loop("T,7"), engines) for engines in (("jit", "interp"),) * 2 + (("interp",),)
    )
    for length in (5, 3, 1, 0, 9, 8, 7):
        asked.explain("kernel"), asked.explain("llvm"), asked.explain()
        found = asked.run(None, feed(length, 7))
        assert_same(found, unasked.run(None, feed(length, 7)), ["y"])
        assert_same(found, interp.run(None, feed(length, 7)), ["y"])
    (one,), (other,) = natives(asked), natives(unasked)
    assert [*one.cache.compiled] == [*other.cache.compiled]
    assert one.cache.dynamic_dims.seen == other.cache.dynamic_dims.seen
    assert one.cache.dynamic_dims.misses == other.cache.dynamic_dims.misses


MISSING = {
    "they do not determine the rank of p": loop("6,7").replace("[6,7] p", "[] p"),
    "they do not determine the shape of all items of p": """
    g (int64 n, seq(float[K]) p) => (float[N] y) {
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float e) {
        on = Identity (go)
        t = SequenceAt (p, i)
        e = ReduceSum <keepdims = 0> (t)
      }>
    }""",
    "they do not determine the presence of p": """
    g (int64 n, optional(float[2]) p) => (int64[T] y) {
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 e) {
        on = Identity (go)
        has = OptionalHasElement (p)
        e = Cast <to = 7> (has)
      }>
    }""",
}


@pytest.mark.parametrize("why", MISSING)
@pytest.mark.parametrize("code", ["kernel", "llvm"])
def test_types_that_tell_too_little_are_named(why, code):
    session = treadle.InferenceSession(unranked(MISSING[why]), engines=("jit", "interp"))
    head, said = session.explain(code).splitlines()
    assert head.endswith("before its first run")
    assert said == f"{NO_CODE}{why}; run it once"
    assert NOT_YET in session.explain()


def unranked(text):
    """The model, `float[]` being a tensor of any rank."""
    import onnx

    model = onnx.parser.parse_model(HEAD + text)
    for value in model.graph.input:
        if value.name == "p" and " float[] p" in text:
            value.type.tensor_type.ClearField("shape")
    return model


def test_items_of_one_shape_are_as_many_as_come():
    session = prepared(
        MISSING["they do not determine the shape of all items of p"].replace("[K]", "[5]")
    )
    before = kernel_of(session.explain("kernel"))
    assert any("float32[s1,5] = input 1" in line for line in before)
    session.run(None, {"n": np.array(2), "p": [np.ones(5, np.float32)] * 3})
    assert before == kernel_of(session.explain("kernel"))


def test_boxed_values_are_in_the_code():
    text = """g (int64 n, string[K] p) => (int64[N] y) {
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 e) {
        on = Identity (go)
        e = Size (p)
      }>
    }"""
    session = prepared(text)
    before = kernel_of(session.explain("kernel"))
    session.run(None, {"n": np.array(2), "p": np.array(["a", "b"], dtype=object)})
    assert before == kernel_of(session.explain("kernel"))


def test_a_condition_is_one_element():
    text = """g (bool[K] go, float p) => (float y) {
      y = Loop ("", go, p) <body = f (int64 i, bool g, float x) => (bool on, float x1) {
        x1 = Mul (x, x)
        on = Less (x1, x)
      }>
    }"""
    shown = prepared(text).explain("kernel")
    assert "bool[1] = input" in shown
    assert NO_CODE not in shown


@pytest.mark.parametrize(
    ("shape", "begins", "ends"),
    [
        ("7,7", "# declined: ", "by Det"),
        (
            "T,T",
            "# nothing is compiled yet, and dynamic lengths cannot be compiled: ",
            "by Det; run it once",
        ),
    ],
)
def test_the_reason_for_another_engine_is_given(shape, begins, ends):
    text = loop(shape).replace("s = Add (x, w)", "d = Det (x)\n s = Add (x, d)")
    shown = prepared(text, engines=("jit", "onnxruntime", "interp")).explain("kernel")
    (line,) = shown.splitlines()[1:]
    assert line.startswith(f"{begins}onnxruntime is expected to be faster: ")
    assert line.endswith(ends)


def test_a_fault_of_the_compiler_is_reported(monkeypatch):
    def broken(*_):
        raise AssertionError("no such place")

    monkeypatch.delenv("TREADLE_DEBUG")
    monkeypatch.setattr(internal_errors, "_warned", set())
    monkeypatch.setattr(ahead_of_time, "generate_code", broken)
    with pytest.warns(InternalCompilerWarning, match="no such place"):
        shown = prepared(loop()).explain("llvm")
    assert (
        "# declined: a fault of the native engine itself (AssertionError: no such place)" in shown
    )


def test_a_model_without_native_regions_has_no_code():
    assert prepared(loop(), engines=("interp",)).explain("kernel") == ""
