"""Steps that the engine takes or declines, with the reasons."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import treadle
from treadle.delegate import Onnxruntime
from treadle.delegate.kernels import Kernel
from treadle.delegate.ort_errors import reason, translating_errors
from treadle.errors import Unsupported
from treadle.infer import infer
from treadle.ir import BlockBuilder, Carried, Iteration, Model, Sliced, Stacked, tensor
from treadle.plan import FallbackRequired, RunContext, plan

LOOP = """g (int64 M, float a) => (float s) {
    s = Loop <body = b (int64 i, bool c, float v) => (bool c, float w) { w = Add(v, v) }>
        (M, "", a) }"""


def test_a_loop_that_must_be_seen_inside_is_declined(planned):
    (region,) = planned(LOOP, inside=True).main.regions
    assert region.engine == "interp"
    assert "needs every iteration" in region.reason


def test_no_kernel_for_these_types(planned):
    (region,) = planned("g (int8[n] x) => (int8[n] y) { y = Sqrt(x) }").main.regions
    assert region.engine == "interp"
    assert "no kernel for Sqrt-13 over tensor(int8)" in region.reason


def test_a_loop_around_an_unsupported_operator_is_declined_with_the_reason(planned):
    (region,) = planned("""g (int64 M, int8 a) => (int8 s) {
        s = Loop <body = b (int64 i, bool c, int8 v) => (bool c, int8 w) { w = Sqrt(v) }>
            (M, "", a) }""").main.regions
    assert region.engine == "interp"
    assert "in its body" in region.reason
    assert [inner.engine for inner in region.bodies["body"].regions] == ["interp"]


def test_a_model_it_refuses_to_load_goes_to_interp_silently(planned, capfd):
    (region,) = planned("""g (bool c, float[2] a, int64[2] b) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] p) { p = Neg(a) },
                    else_branch = e () => (int64[2] q) { q = Neg(b) }> }""").main.regions
    assert region.engine == "interp"
    assert "Mismatched tensor element type" in region.reason
    assert capfd.readouterr() == ("", "")


def test_an_unsupported_step_splits_the_region(planned):
    text = """g (float[2, 3] x) => (float[3, 2] z) {
        a = Exp(x) b = Exp(a) c = Exp(b) d = Exp(c)
        e = Transpose <perm = [0, 0]> (d)
        f = Exp(e) h = Exp(f) i = Exp(h) z = Exp(i) }"""
    regions = planned(text).main.regions
    assert [r.engine for r in regions][:2] == ["onnxruntime", "interp"]
    assert len(regions[0].steps) == 4
    assert regions[1].steps[0].op == "Transpose"


def test_a_failing_run_is_refused_with_clean_words(whole, capfd):
    run = whole("g (float[n] x, int64[m] s) => (float[a, b] y) { y = Reshape(x, s) }")
    with pytest.raises(FallbackRequired) as caught:
        run(np.ones(4, np.float32), np.array([3, 3]))
    message = str(caught.value)
    assert "main/reshape_0" in message
    assert "[4]" in message
    assert "ONNXRuntimeError" not in message
    assert ".cc" not in message
    assert capfd.readouterr() == ("", "")


def test_reason_drops_file_and_line():
    noisy = "[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : /src/core/x/y.cc:44 why it failed\n"
    assert reason(RuntimeError(noisy)) == "onnxruntime: why it failed"


def test_reason_of_a_message_with_a_very_long_name_is_found_in_linear_time():
    assert reason(RuntimeError("x" * 2_000_000)).startswith("onnxruntime: xxx")


def test_onnxruntimes_errors_are_refusals_and_bugs_are_raised():
    import onnxruntime

    with pytest.raises(Unsupported, match="the model: onnxruntime: Failed to load"):
        translating_errors(
            lambda: onnxruntime.InferenceSession(b"?"), partial(Unsupported, "the model", None)
        )
    with pytest.raises(KeyError):
        translating_errors(lambda: {}["absent"], partial(Unsupported, "the model", None))


def test_large_constants_are_handed_over_in_memory(same):
    weights = np.arange(700 * 700, dtype=np.float32).reshape(700, 700)
    block = BlockBuilder("main")
    x = block.param("x", tensor("float32", 1, 700))
    y = block.leaf("MatMul", 13, x, block.constant(weights))
    (region,) = plan(Model(block.build(y), opsets={"": 13}), [Onnxruntime()]).main.regions
    assert region.engine == "onnxruntime", region.reason
    assert len(region.constants) == 1
    one = np.zeros((1, 700), np.float32)
    one[0, 3] = 1
    same(region.runnable([one], RunContext())[0], weights[3:4])


def _mixed(stack: Stacked) -> Model:
    """Running sums of the first M of x; what is stacked is a list of one."""
    body = BlockBuilder("body")
    body.param("i", tensor("int64"))
    s, e = body.param("s", tensor("float32", 1)), body.param("e", tensor("float32", 1))
    t = body.leaf("Add", 14, s, e)
    block = BlockBuilder("main")
    trip, a = block.param("M", tensor("int64")), block.param("a", tensor("float32", 1))
    x = block.param("x", tensor("float32", 1, 3))
    roles = (Iteration(), Carried(), Sliced(1))
    results = block.loop(trip, None, body.build(None, t, t), roles, (a, x), (stack,))
    return Model(block.build(*results), opsets={"": 17})


@pytest.mark.parametrize("stack", [Stacked(), Stacked(1), Stacked(0, True), Stacked(-1, True)])
def test_a_loop_with_slices_and_a_trip_count_is_exported_as_an_onnx_loop(same, stack):
    model = _mixed(stack)
    step = infer(model).main.steps[0]
    assert Onnxruntime().judge(step, model, inside=False).takes
    feed = {"M": 2, "a": np.ones(1, np.float32), "x": np.array([[1, 2, 3]], np.float32)}
    session = treadle.InferenceSession(model, engines=["onnxruntime", "interp"])
    assert [region.engine for region in session.plan.main.regions] == ["onnxruntime"]
    wanted = treadle.InferenceSession(model, engines=["interp"]).run(None, feed)
    for have, want in zip(session.run(None, feed), wanted, strict=True):
        same(have, want)


def test_a_stack_along_another_axis_keeps_its_rank():
    verdict = Onnxruntime().judge(_mixed(Stacked(1)).main.steps[0], _mixed(Stacked()), inside=False)
    assert not verdict.takes
    assert "the rank of a stacked element is not known" in verdict.reason


def test_steps_of_one_path_become_nodes_of_two_names(same):
    """Steps that a pass copied have one path; onnxruntime refuses two nodes of one name."""
    block = BlockBuilder("main")
    x = block.param("x", tensor("float32"))
    y = block.leaf("Neg", 13, x)
    z = block.leaf("Neg", 13, y)
    built = block.build(z)
    steps = tuple(replace(s, info=replace(s.info, path="main/neg_0")) for s in built.steps)
    model = Model(replace(built, steps=steps), opsets={"": 13})
    (region,) = plan(model, [Onnxruntime()]).main.regions
    assert region.engine == "onnxruntime", region.reason
    same(region.runnable([np.array(3, np.float32)], RunContext())[0], np.float32(3))


def negated(count: int, name: str) -> str:
    """As many steps, from NAME0 to NAMEcount."""
    return "\n".join(f"{name}{k + 1} = Neg ({name}{k})" for k in range(count))


@pytest.mark.parametrize(("count", "is_brief"), [(256, True), (257, False)])
def test_only_short_regions_run_without_polls(whole, count, is_brief):
    run = whole(f"g (float a0) => (float a{count}) {{ {negated(count, 'a')} }}")
    assert run.region.runnable.is_brief is is_brief


@pytest.mark.parametrize(("count", "is_brief"), [(52, True), (53, False)])
def test_steps_of_branches_count(whole, count, is_brief):
    run = whole(f"""g (float a0, bool c) => (float a200, float y) {{
        {negated(200, "a")}
        y = If (c) <then_branch = t () => (float b{count + 1}) {{
                        b0 = Abs (a0) {negated(count + 1, "b")} }},
                    else_branch = e () => (float q) {{ q = Neg (a0) }}> }}""")
    # 200 and the If, in it one, count and one more, and one
    assert run.region.runnable.is_brief is is_brief


def test_a_loop_is_never_brief(whole):
    assert not whole(LOOP).region.runnable.is_brief


def test_a_kernel_without_a_last_version_serves_the_one_it_began_with():
    assert [Kernel(13, 2**31 - 1, {}).serves(version) for version in (12, 13, 14)] == [
        False,
        True,
        False,
    ]
    assert [Kernel(7, 12, {}).serves(version) for version in (6, 7, 12, 13)] == [
        False,
        True,
        True,
        False,
    ]
