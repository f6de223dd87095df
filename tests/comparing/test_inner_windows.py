"""Long loops inside other loops and in branches are compared in windows too."""

import numpy as np
import pytest

import treadle
from tests.comparing.test_windows import BRANCHED, INNER
from treadle import recording
from treadle.comparing import parts
from treadle.recording import loop_lengths, window_size

_HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'
DEEP = f"""{_HEADER}
g (float[3,2] x, int64 n, int64 m, float[2] h0) => (float[2] h, float[2,3] ys)
<int64 one = {{1}}, int64 seven = {{7}}> {{
    h, ys = Scan <num_scan_inputs = 1, scan_output_axes = [-1], scan_input_directions = [1],
        body = s (float[2] c, float[2] item) => (float[2] c3, float[2] y) {{
        c2 = Add (c, item)
        c3 = Loop (n, , c2) <body = t (int64 i, bool go, float[2] d) => (bool on, float[2] d3) {{
            on = Identity (go)
            half = Mod (i, one)
            is_first = Equal (i, half)
            d2 = If (is_first) <
                then_branch = u () => (float[2] e) {{
                    e, js = Loop (m, , d) <
                    body = v (int64 j, bool on2, float[2] f) => (bool on3, float[2] f2, int64 k) {{
                        on3 = Identity (on2)
                        k = Add (j, i)
                        is_seven = Equal (j, seven)
                        twice = Add (f, item)
                        f2 = Where (is_seven, f, f)
                    }}>
                }},
                else_branch = w () => (float[2] e) {{ e = Neg (d) }}>
            d3 = Reciprocal (d2)
        }}>
        y = Identity (c3)
    }}> (h0, x)
}}"""
FEEDS = {
    "x": np.arange(6, dtype=np.float32).reshape(3, 2),
    "n": np.array(2),
    "m": np.array(9),
    "h0": np.float32([0.1, 0.2]),
}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Loops of more than six iterations run in windows of two and three iterations."""
    for room in (loop_lengths, recording):
        monkeypatch.setattr(room, "LONG", 6)
    monkeypatch.setattr(parts, "FIRST_SIZE", 2)
    monkeypatch.setattr(parts, "LARGEST_SIZE", 3)
    monkeypatch.setattr(window_size, "LARGEST_SIZE", 3)


def compared(a, b, feeds, *, in_step=True):
    """The comparison in windows and at once, which find the same."""
    found = treadle.compare(a, b, feeds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_lengths, "LONG", 1 << 30)
        patch.setattr(recording, "LONG", 1 << 30)
        whole = treadle.compare(a, b, feeds)
    assert bool(found) == bool(whole)
    assert sorted(m.wanted for m in found.matches) == sorted(m.wanted for m in whole.matches)
    if not whole:
        assert (found.first.path, found.first.iterations) == (
            whole.first.path,
            whole.first.iterations,
        )
        assert found.first.why == whole.first.why
        for name, values in whole.first.inputs.items():
            for one, other in zip(found.first.inputs[name], values, strict=True):
                np.testing.assert_array_equal(one, other)
    if in_step:  # else the comparison at once takes iterations for each other
        for name in {m.wanted for m in whole.matches} & set(found.errors):
            np.testing.assert_allclose(found.growth(name), whole.growth(name))
    return found


@pytest.mark.parametrize("runtime", ["jit", "onnxruntime"])
def test_a_model_agrees_with_itself(runtime):
    found = compared((DEEP, runtime), (DEEP, "interp"), FEEDS)
    assert found, str(found)
    assert not found.unmatched_got
    assert not found.unmatched_wanted
    assert not found.notes


FAULTS = {
    "in the innermost loop": ("f2 = Where (is_seven, f, f)", "f2 = Where (is_seven, twice, f)"),
    "before the inner loop": ("c2 = Add (c, item)", "c2 = Sub (c, item)"),
    "after the inner loop": ("d3 = Reciprocal (d2)", "d3 = Cos (d2)"),
    "in a branch": ("e = Neg (d)", "e = Abs (d)"),
    "the other branch": ("is_first = Equal (i, half)", "is_first = Less (i, half)"),
    "more iterations": ("Loop (n, , c2)", "Loop (one, , c2)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_where_it_is(fault):
    in_step = fault not in ("the other branch", "more iterations")
    bad = DEEP.replace(*FAULTS[fault])
    assert not compared((bad, "interp"), (DEEP, "interp"), FEEDS, in_step=in_step)


def test_windows_are_short():
    sizes = []
    with pytest.MonkeyPatch.context() as patch:
        window = recording.StagedRun.window
        patch.setattr(
            recording.StagedRun, "window", lambda run, n: sizes.append(n) or window(run, n)
        )
        feeds = {"n": np.array(3), "m": np.array(60), "h0": np.float32(1)}
        assert treadle.compare(INNER, (INNER, "interp"), feeds)
    assert max(sizes) == 3


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("other", [BRANCHED, BRANCHED.replace("Sin (b)", "Cos (b)")])
def test_a_long_loop_in_a_branch(taken, other):
    feeds = {"p": np.array(taken), "m": np.array(60), "h0": np.float32(1)}
    found = compared((BRANCHED, "interp"), (other, "interp"), feeds)
    assert bool(found) == (other is BRANCHED or not taken)
    assert not found.notes


def test_a_branch_taken_on_one_side_only():
    other = BRANCHED.replace("(float h) {", "(float h) <bool no = {0}> {").replace(
        "If (p)", "If (no)"
    )
    feeds = {"p": np.array(True), "m": np.array(60), "h0": np.float32(1)}
    found = treadle.compare(other, BRANCHED, feeds)
    assert found.first.why == "it takes its other branch"


def test_no_iteration():
    assert compared((DEEP, "interp"), (DEEP, "interp"), {**FEEDS, "n": np.array(0)})
    assert compared(INNER, INNER, {"n": np.array(0), "m": np.array(60), "h0": np.float32(1)})


def test_a_loop_whose_length_is_computed():
    model = INNER.replace("c2 = Loop (m, , c)", "m3 = Abs (m) c2 = Loop (m3, , c)")
    feeds = {"n": np.array(3), "m": np.array(60), "h0": np.float32(1)}
    assert not compared(model, model, feeds).notes
    feeds = {"n": np.array(65), "m": np.array(7), "h0": np.float32(1)}
    (note,) = treadle.compare(model, model, feeds).notes
    assert note.startswith("main/loop_0.body/loop_2 ran 7 times, and its values were held at once")
