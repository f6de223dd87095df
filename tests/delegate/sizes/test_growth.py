"""Results much larger than the inputs, by extents known as a call comes: an error, no attempt."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle import machine
from treadle.delegate.workarounds import growth as prediction
from treadle.delegate.workarounds.growth import growth_of

MOST = 2**20
SHAPES = {"none": "float[?,?]", "named": "float[{0},{1}]", "no rank": "float[]"}
CASES = {
    "Add": ("z = Add (x, y)", (1100, 1), (1, 1100)),
    "a bool": ("b = Less (x, y) z = Cast <to = 1> (b)", (1500, 1), (1, 1500)),
    "Where": ("b = Cast <to = 9> (x) z = Where (b, x, y)", (1100, 1), (1, 1100)),
    "Max": ("z = Max (x, y, x)", (1100, 1), (1, 1100)),
    "MatMul": ("z = MatMul (x, y)", (1100, 1), (1, 1100)),
    "MatMul of results": ("a = Relu (x) b = Neg (y) z = MatMul (a, b)", (1100, 2), (2, 1100)),
    "Gemm": ("z = Gemm <transA = 1, transB = 1> (x, y)", (1, 1100), (1100, 1)),
    "Einsum": ('z = Einsum <equation = "ij,jk->ik"> (x, y)', (1100, 1), (1, 1100)),
    "Gather": ("i = Cast <to = 7> (y) z = Gather (x, i)", (2, 1100), (1, 1100)),
    "Concat": (
        " ".join(f"a{k + 1} = Concat <axis = 0> (a{k}, a{k})" for k in range(14)), (100, 1), (1, 1)
    ),
    "a constant": (
        "c = Constant <value_ints = [1, 5000]> () o = ConstantOfShape (c) z = Add (x, o)",
        (1100, 1), (1, 1),
    ),
}  # fmt: skip


def model(body, shape):
    first, second = (SHAPES[shape].format(*names) for names in (("n", "m"), ("k", "l")))
    if "?" in first:
        first, second = "float[,]".replace(",", "p,q"), "float[r,s]"
    last = "a14" if "a14" in body else "z"
    body = body.replace("(a0, a0)", "(x, x)")
    return f"""<ir_version: 10, opset_import: ["" : 20]>
        g ({first} x, {second} y) => (float t) {{ {body}
            t = ReduceMax <keepdims = 0> ({last}) }}"""


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(machine, "memory_of_machine", lambda: MOST)


def feeds(case):
    _, first, second = CASES[case]
    return {"x": np.zeros(first, np.float32), "y": np.zeros(second, np.float32)}


@pytest.mark.parametrize("shape", ["named", "no rank"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engines", [None, ("onnxruntime", "interp"), ("interp",)])
def test_results_that_memory_does_not_hold(small_machine, engines, case, shape):
    session = treadle.InferenceSession(model(CASES[case][0], shape), engines=engines)
    small = {name: value[:1, :1] for name, value in feeds(case).items()}
    session.run(None, small)
    for _ in range(2):
        with pytest.raises(treadle.TreadleError, match="its result would have"):
            session.run(None, feeds(case))
    session.run(None, small)


@pytest.mark.parametrize("case", CASES)
def test_a_bound_on_bytes(case):
    session = treadle.InferenceSession(model(CASES[case][0], "named"))
    with pytest.raises(treadle.LimitExceeded, match="max_bytes"):
        session.run(None, feeds(case), treadle.RunOptions(max_bytes=MOST))


@pytest.mark.parametrize("case", CASES)
def test_the_answers_are_those_of_interp(case, rng):
    given = {n: rng.uniform(0, 1, v.shape).astype(np.float32) for n, v in feeds(case).items()}
    text = model(CASES[case][0], "named")
    found, wanted = (
        treadle.InferenceSession(text, engines=engines).run(None, given)[0]
        for engines in (None, ("interp",))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


LOOP = """<ir_version: 10, opset_import: ["" : 20]>
g (float[n,one] x, float[one,m] y, int64 k) => (float[n,m] z) {{
  first = {0}
  z = Loop (k, , first) <body = b (int64 i, bool c, float[n,m] a) => (bool d, float[n,m] e) {{
    d = Identity (c)
    s = {0}
    e = Sub (a, s)
  }}>
}}"""


@pytest.mark.parametrize("call", ["Add (x, y)", "MatMul (x, y)"])
@pytest.mark.parametrize("engines", [None, ("jit", "interp"), ("interp",)])
def test_in_a_loop(small_machine, engines, call):
    session = treadle.InferenceSession(LOOP.format(call), engines=engines)
    given = {**feeds("Add"), "k": np.array(2)}
    with pytest.raises(treadle.TreadleError, match="its result would have"):
        session.run(None, given)


def growth(text):
    model = treadle.infer(text)
    session = treadle.InferenceSession(text, engines=("onnxruntime", "interp"))
    (region,) = session.plan.main.regions
    return growth_of(region, model, [value.name for value in region.inputs])


@pytest.mark.parametrize(
    ("inputs", "step", "may_grow"),
    [
        ("float[n,m] x, float[n,m] y", "Add (x, y)", False),
        ("float[n,m] x, float[n,k] y", "Add (x, y)", True),
        ("float[n,m] x, float[n,m] y", "Relu (x)", False),
        ("float[n,8] x, float[n,m] y", "Add (x, c)", False),
        ("float[n,m] x, float[n,m] y", "Add (x, c)", False),
        ("float[n,m] x, float[m,k] y", "MatMul (x, y)", True),
        ("float[n,m] x, float[n,m] y", "Concat <axis = 0> (x, y)", False),
    ],
)
def test_regions_that_are_looked_at(inputs, step, may_grow):
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
        g ({inputs}) => (float[p,q] z) {{
            c = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> ()
            v = Neg (y) w = Relu (v) z = {step} }}"""
    assert (growth(text) is not None) is may_grow


@pytest.mark.parametrize(
    ("step", "may_grow"),
    [
        ("Conv <pads = [1, 1, 1, 1]> (x, w)", False),
        ("Conv <pads = [1, 1, 1, 1], strides = [2, 2], dilations = [2, 2]> (x, w)", False),
        ("Conv <group = 3, kernel_shape = [3, 3]> (x, d)", False),
        ('Conv <auto_pad = "SAME_UPPER"> (x, w)', False),
        ("Conv <pads = [3, 0, 0, 0]> (x, w)", True),
        ("Conv <pads = [100, 100, 100, 100], dilations = [150, 150]> (x, w)", True),
        ("Conv <pads = [1, 1, 1, 1]> (x, y)", True),
        ("Conv <pads = [1, 1, 1, 1]> (z, x)", True),
        ("MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)", False),
        ("AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)", False),
        ("AveragePool <kernel_shape = [101, 101], pads = [50, 50, 50, 50]> (x)", True),
    ],
)
def test_windows_that_are_looked_at(step, may_grow):
    """Not those with padding narrower than the window and few maps for each channel."""
    weights = ", ".join("0.5" for _ in range(4 * 3 * 3 * 3))
    text = f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[n,c,h,v] x, float[m,c,k,l] y) => (float[p,q,r,s] t)
        <float[4,3,3,3] w = {{{weights}}}, float[3,1,3,3] d = {{{weights[: 27 * 5 - 2]}}},
         float[1,3,3,3] z = {{{weights[: 27 * 5 - 2]}}}> {{
            t = {step} u = Neg (y) o = Neg (x) }}"""
    assert (growth(text) is not None) is may_grow


@pytest.fixture
def no_bounds(monkeypatch):
    """Sizes are inferred, however small a bound of them is."""
    monkeypatch.setattr(prediction, "bound_of_bytes", lambda block, shapes: np.inf)


def test_extents_within_earlier_ones_are_not_inferred_again(no_bounds, monkeypatch):
    found = growth("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[n,m] x, float[k,l] y) => (float[p,q] z) { z = Add (x, y) }""")
    asked = []
    monkeypatch.setattr(type(found), "_largest", lambda self, shapes: asked.append(shapes) or 100.0)
    names = found.names

    def exceeds(first, second, most=1000.0):
        return found.exceeds(dict(zip(names, map(np.zeros, (first, second)), strict=True)), most)

    assert not exceeds((4, 1), (1, 5))
    assert not exceeds((4, 1), (1, 5))
    assert not exceeds((3, 1), (1, 2))
    assert len(asked) == 1
    assert not exceeds((4,), (1, 5))
    assert len(asked) == 2
    assert exceeds((4,), (1, 5), 50.0)
    assert exceeds((4,), (1, 5), 50.0)
    assert len(asked) == 2


def test_an_extent_that_grows_is_looked_at_a_few_times(no_bounds, monkeypatch):
    found = growth("""<ir_version: 10, opset_import: ["" : 20]>
        g (float[n,m] x, float[k,l] y) => (float[p,q] z) { z = Add (x, y) }""")
    asked, real = [], type(found)._largest
    monkeypatch.setattr(
        type(found), "_largest", lambda self, shapes: asked.append(shapes) or real(self, shapes)
    )
    for length in range(1, 200):
        feed = dict(zip(found.names, (np.zeros((length, 1)), np.zeros((1, 10))), strict=True))
        assert not found.exceeds(feed, 4 * 256 * 10)
    assert len(asked) < 20
    feed = dict(zip(found.names, (np.zeros((257, 1)), np.zeros((1, 10))), strict=True))
    assert found.exceeds(feed, 4 * 256 * 10)
    assert not found.exceeds(feed, 4 * 257 * 10)


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("", "w = Relu (z)", ["Add"]),
        ("a = Relu (y) b = Neg (a)", "w = Relu (z)", ["Relu", "Neg", "Add"]),
        ("a = Relu (y) b = Identity (y)", "w = Relu (z)", ["Identity", "Add"]),
        ("", "u = Neg (z) w = Cast <to = 11> (u)", ["Add", "Neg", "Cast"]),
        ("", "u = Cast <to = 10> (z) w = Neg (u)", ["Add"]),
        ("", "u = Neg (z) w = Concat <axis = 0> (z, u)", ["Add", "Neg", "Concat"]),
        ("", "w = ArgMax <axis = 0> (z)", ["Add", "ArgMax"]),
    ],
)
def test_steps_that_large_results_depend_on(before, after, wanted):
    """Of the steps around an Add that may grow, before it and after it."""
    second = "b" if before else "y"
    found = growth(f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[n,m] x, float[k,l] y) => (float[n,m] v) {{
            v = Abs (x) {before} z = Add (x, {second}) {after} t = Neg (w) }}""")
    assert [step.op for step in found.block.steps] == wanted


def test_a_long_region_is_inferred_where_it_grows():
    chain = " ".join(f"v{k + 1} = Neg (v{k})" for k in range(500))
    found = growth(f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[n,m] x, float[k,l] y) => (float[p,q] v500) {{ v0 = Add (x, y) {chain} }}""")
    assert len(found.block.steps) == 1
    feed = dict(zip(found.names, (np.zeros((1100, 1)), np.zeros((1, 1100))), strict=True))
    assert found.exceeds(feed, MOST)
    assert not found.exceeds(feed, 5 * MOST)


BRANCHES = """<ir_version: 10, opset_import: ["" : 20]>
    g (bool c, float[{0},1] x, float[1,{0}] y) => (float t) {{
        t = If (c) <then_branch = a () => (float s) {{
            z = Add (x, y)
            s = ReduceMax <keepdims = 0> (z)
        }}, else_branch = b () => (float s) {{ s = ReduceMax <keepdims = 0> (x) }}>
    }}"""


@pytest.mark.parametrize("extent", [5000, "n"])
def test_extents_that_the_model_declares_need_no_inference(monkeypatch, extent):
    asked, real = [], prediction.block_facts
    monkeypatch.setattr(
        prediction, "block_facts", lambda *given: asked.append(given) or real(*given)
    )
    found = growth(BRANCHES.format(extent))
    column, size = np.ones((5000, 1), np.float32), 4 * 5000 * 5000
    feed = {"c": np.array(True), "x": column, "y": column.T}
    assert not found.exceeds(feed, size)
    assert len(asked) == (extent == "n")
    assert found.exceeds(feed, size - 1)
    assert not found.exceeds({**feed, "x": column[:10]}, size)
    assert len(asked) == (extent == "n")
    assert found.exceeds({**feed, "x": np.ones((5001, 1), np.float32)}, size)
    assert len(asked) == 1 + (extent == "n")


@pytest.mark.parametrize(
    ("then", "after", "wanted"),
    [
        ("s = Relu (x)", "t = Neg (w)", None),
        ("s = Add (x, x)", "t = Mul (w, x)", None),
        ("a = Constant <value_floats = [1.0, 2.0]> () s = Add (x, a)", "t = Neg (w)", None),
        ("z = If (c) <then_branch = d () => (u) { u = Exp (x) }, else_branch = e () => (u)"
         " { u = Neg (x) }> s = Abs (z)", "t = Neg (w)", None),
        ("s = Add (x, y)", "t = Neg (w)", ["If"]),
        ("z = Add (x, y) s = ReduceMax <keepdims = 1> (z)", "t = Neg (w)", ["If"]),
        ("s = Unique (x)", "t = Neg (w)", ["If"]),
        ("z = If (c) <then_branch = d () => (u) { u = Exp (x) }, else_branch = e () => (u)"
         " { u = Add (x, y) }> s = Abs (z)", "t = Neg (w)", ["If"]),
        ("s = Relu (x)", "t = Add (w, y)", ["If", "Add"]),
        ("s = Concat <axis = 0> (x, x)", "t = MatMul (w, y)", ["If", "MatMul"]),
    ],
)  # fmt: skip
def test_branches_grow_as_the_steps_in_them_do(then, after, wanted):
    """The steps that are inferred; None: no step may grow, and calls compare no extents."""
    found = growth(f"""<ir_version: 10, opset_import: ["" : 20]>
        g (bool c, float[n,1] x, float[1,m] y) => (float[p,q] t) {{
            w = If (c) <then_branch = a () => (s) {{ {then} }},
                        else_branch = b () => (s) {{ s = Identity (x) }}>
            {after} }}""")
    assert wanted == (
        found and [step.op if hasattr(step, "op") else "If" for step in found.block.steps]
    )


def test_a_branch_on_a_large_value_grows_where_it_adds_to_it():
    """Neg is as large as the sum before the If, which is inferred anyway; Concat is larger."""
    found = growth("""<ir_version: 10, opset_import: ["" : 20]>
        g (bool c, float[n,1] x, float[1,m] y) => (float[p,q] t) {
            z = Add (x, y)
            t = If (c) <then_branch = a () => (s) { s = Neg (z) },
                        else_branch = b () => (s) { s = Exp (z) }> }""")
    assert len(found.block.steps) == 1
    feed = {"c": np.array(True), "x": np.zeros((1100, 1)), "y": np.zeros((1, 1100))}
    found = growth("""<ir_version: 10, opset_import: ["" : 20]>
        g (bool c, float[n,1] x, float[1,m] y) => (float[p,q] t) {
            z = Add (x, y)
            t = If (c) <then_branch = a () => (s) { s = Concat <axis = 0> (z, z) },
                        else_branch = b () => (s) { s = Exp (z) }> }""")
    assert found.exceeds(feed, 9 * MOST)
    assert not found.exceeds(feed, 10 * MOST)


@pytest.mark.parametrize(("extent", "is_small"), [(8, True), (5000, False), ("n", False)])
def test_results_of_few_elements_are_not_predicted(extent, is_small):
    assert (growth(BRANCHES.format(extent)) is None) == is_small
