"""Unrolled steps become the original loop again; steps that do not repeat stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import treadle
from tests.passes.rewrites.models import border, every_operator, loops, model, same
from tests.passes.rewrites.test_unroll import COUNTED, SCAN
from treadle.ir import Leaf, map_steps, walk

X = np.array([1, 2, 3], np.float32)
SPACE = """
g (float[TRIPS,4] x, float[4] h, float[4] a, float[4,2] c) => (float[4] y, float[TRIPS,2] rows) {
  y, rows = Scan <num_scan_inputs = 1, body = b (float[4] s, float[4] e)
      => (float[4] k, float[2] r) {
    d = Exp (e) m = Mul (d, a) n = Mul (s, m) k = Add (n, e) r = MatMul (k, c)
  }> (h, x)
}"""


def size(found) -> int:
    return sum(1 for _ in walk(found))


@pytest.mark.parametrize("trips", [5, 9])
@pytest.mark.parametrize("opset", [11, 17, 21])
def test_an_unrolled_loop_comes_back(trips, opset):
    before = model(
        COUNTED.replace("{{", "{").replace("}}", "}").replace("{trips}", str(trips)), opset
    )
    after = treadle.reroll(treadle.unroll(before))
    assert loops(after) == 1
    assert size(after) <= size(before) * 1.1
    assert border(after) == border(before)
    same(before, after, {"x": X})


def test_a_scan_in_reverse_along_another_axis_comes_back():
    before = model(SCAN)
    after = treadle.reroll(treadle.unroll(before))
    assert loops(after) == 1
    feeds = {"x": np.arange(8, dtype=np.float32).reshape(4, 2), "s": X[:2]}
    same(before, after, feeds)


COLLECTED = """
g (float[4,3] x, float[3] s) => (float[3] y, float[3] z, float[4,3] rows) {
  START
  n0 = Constant <value = int64[1] {0}> ()
  u0 = Unsqueeze (t0, n0) u1 = Unsqueeze (t1, n0) u2 = Unsqueeze (t2, n0) u3 = Unsqueeze (t3, n0)
  rows = Concat <axis = 0> (ORDER)
  y = Identity (t3) z = Neg (t1)
}"""
STEP = """
  i{k} = Constant <value = int64 {{{k}}}> () e{k} = Gather (x, i{k}) a{k} = Add (e{k}, {before})
  m{k} = Mul (a{k}, e{k}) t{k} = Tanh (m{k})"""


@pytest.mark.parametrize("order", ["u0, u1, u2, u3", "u3, u2, u1, u0"])
@pytest.mark.parametrize("is_carried", [True, False])
def test_values_that_are_collected_and_read_one_by_one(order, is_carried):
    steps = (STEP.format(k=k, before=f"t{k - 1}" if is_carried and k else "s") for k in range(4))
    before = model(COLLECTED.replace("START", "".join(steps)).replace("ORDER", order))
    after = treadle.reroll(before)
    assert loops(after) == 1
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(4, 3) / 9, "s": X}
    same(before, after, feeds, close=True)


def test_steps_that_nobody_reads_and_that_may_fail_stay():
    steps = "".join(
        f"i{k} = Constant <value = int64 {{{k}}}> () e{k} = Gather (x, i{k}) a{k} = Add (e{k}, s)"
        f" m{k} = Mul (a{k}, e{k})\n"
        for k in range(4)
    )
    before = model(f"g (float[N,3] x, float[3] s) => (float[3] y) {{ {steps} y = Neg (s) }}")
    after = treadle.reroll(before)
    same(before, after, {"x": np.zeros((4, 3), np.float32), "s": X})
    with pytest.raises(treadle.RunError):
        treadle.InferenceSession(after).run(None, {"x": np.zeros((3, 3), np.float32), "s": X})


SCANS = """
g (float[4,3] x, float s) => (float y, float[4,3] rows) {
  y, rows = Scan <num_scan_inputs = 1, body = b (float h, float[3] r) => (float k, float[3] q) {
    k, q = Scan <num_scan_inputs = 1, body = c (float i, float e) => (float j, float p) {
      a = Add (i, e) j = Tanh (a) p = Mul (i, e)
    }> (h, r)
  }> (s, x)
}"""


def test_a_loop_inside_a_loop_comes_back():
    before = model(SCANS)
    after = treadle.reroll(treadle.unroll(before))
    assert loops(after) == 2
    assert size(after) == size(before)
    feeds = {"x": np.arange(12, dtype=np.float32).reshape(4, 3) / 9, "s": X[0]}
    same(before, after, feeds, close=True)


@pytest.mark.parametrize("opset", [9, 10])
def test_a_scan_without_states_comes_back_where_a_loop_needs_one(opset):
    before = model(
        """
g (float[5,3] x, float[3] w) => (float[5,3] rows) {
  rows = Scan <num_scan_inputs = 1, body = b (float[3] e) => (float[3] r) {
    d = Sub (e, w) m = Mul (d, d) r = Exp (m)
  }> (x)
}""",
        opset,
    )
    after = treadle.reroll(treadle.unroll(before))
    assert loops(after) == 1
    feeds = {"x": np.arange(15, dtype=np.float32).reshape(5, 3) / 9, "w": X}
    same(before, after, feeds, close=True)


@pytest.mark.parametrize("trips", [3, 8, 60])
def test_a_state_space_scan_comes_back_as_a_scan(trips, rng):
    before = model(SPACE.replace("TRIPS", str(trips)))
    after, report = treadle.reroll(treadle.unroll(before), with_report=True)
    assert every_operator(after).count("Scan") == 1
    assert size(after) == size(before)
    assert report.counts == {"reroll": 1}
    shapes = {"x": (trips, 4), "h": (4,), "a": (4,), "c": (4, 2)}
    feeds = {n: rng.standard_normal(s).astype(np.float32) * 0.1 for n, s in shapes.items()}
    same(before, after, feeds, close=True)


LAYERS = "g (float[2] x) => (float[2] y) {" + "".join(
    f" w{k} = Constant <value = float[2,2] {{{k}.5, 0.25, -0.5, 0.5}}> ()"
    f" m{k} = MatMul ({'x' if k == 0 else f'h{k - 1}'}, w{k}) h{k} = Tanh (m{k})"
    for k in range(6)
)


def test_layers_with_weights_of_their_own_are_rolled_when_asked():
    before = model(LAYERS + " y = Identity (h5) }")
    assert treadle.reroll(before) is before
    after = treadle.reroll(before, layers=True)
    assert loops(after) == 1
    same(before, after, {"x": X[:2]}, close=True)
    straight = treadle.optimize(treadle.unroll(after))
    assert size(straight) <= size(before)
    same(before, straight, {"x": X[:2]}, close=True)


@pytest.mark.parametrize(
    "text",
    [
        "g (float[2] x) => (float[2] y) { a = Neg (x) b = Exp (a) y = Neg (b) }",
        # the second segment reads what the first began with
        "g (float[2] x) => (float[2] y) { a = Neg (x) b = Exp (a) c = Neg (x) d = Exp (c)"
        " e = Neg (d) f = Exp (e) y = Add (b, f) }",
        # chance is not the same in every iteration
        "g (float[2] x) => (float[2] y) { a = Bernoulli (x) b = Bernoulli (a) c = Bernoulli (b)"
        " d = Bernoulli (c) e = Bernoulli (d) f = Bernoulli (e) y = Bernoulli (f) }",
    ],
)
def test_steps_that_do_not_repeat_stay(text):
    before = model(text)
    assert treadle.reroll(before) is before


def test_values_of_the_middle_that_are_read_alone():
    steps = " ".join(
        f"m{k} = Mul ({'x' if k == 0 else f'a{k - 1}'}, w) a{k} = Add (m{k}, x)" for k in range(8)
    )
    text = f"g (float[2] x, float[2] w) => (float[2] y, float[2] z) {{ {steps}"
    before = model(text + " y = Identity (a7) z = Neg (a3) }")
    after = treadle.reroll(before)
    assert loops(after) == 1
    same(before, after, {"x": X[:2], "w": X[1:] * 0.5})


NESTED = """
g (float[3] x, float[3] w, int64 n) => (float[3] y, float[6,3] rows) {
  trips = Constant <value = int64 {6}> ()
  y, rows = Loop (trips, "", x) <body = b (int64 i, bool go, float[3] h)
      => (bool on, float[3] k, float[3] r) {
    on = Identity (go)
    m = Mul (h, w)
    j = Loop (n, "", m) <body = c (int64 t, bool go2, float[3] p) => (bool on2, float[3] q) {
      on2 = Identity (go2) f = Cast <to = 1> (i) a = Add (p, f) e = Mul (a, w) q = Sub (e, h)
    }>
    k = Tanh (j)
    r = Neg (k)
  }>
}"""


def test_segments_with_loops_in_them_come_back():
    before = model(NESTED)
    straight = treadle.unroll(before, loops="main/loop_1")
    assert loops(straight) == 6
    after = treadle.reroll(straight)
    assert loops(after) == 2
    assert size(after) <= size(before) * 1.1
    for n in (0, 1, 2, 5):
        same(before, after, {"x": X, "w": X * 0.25, "n": np.int64(n)}, close=True)


def test_unlike_loops_in_turn_are_segments_of_two():
    straight = treadle.unroll(model(NESTED), loops="main/loop_1")
    changed = 0

    def unlike(step):
        nonlocal changed
        if not isinstance(step, Leaf) or step.op != "Sub":
            return step
        changed += 1
        return replace(step, op="Add") if changed % 2 else step

    before = replace(straight, main=map_steps(straight.main, unlike))
    after = treadle.reroll(before)
    assert loops(after) == 3
    same(before, after, {"x": X, "w": X * 0.25, "n": np.int64(2)}, close=True)
