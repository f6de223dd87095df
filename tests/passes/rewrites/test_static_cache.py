"""static-cache: a growing cache becomes a buffer whose readers see only valid items."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.passes.rewrites.models import model
from tests.passes.simplify.models import run, run_by_onnxruntime, saved
from treadle.ir import Loop, ports, walk

NAME = "static-cache"
DECODER = """
g (float[1,2,L,4] k0, float[1,2,L,4] v0, float[1,2,1,4] q0, int64 n)
    => (float[1,2,1,4] q, float[1,2,M,4] k, float[1,2,M,4] v, float[R,1,2,1,4] rows) {
  yes = Constant <value = bool {1}> ()
  q, k, v, rows = Loop (n, yes, q0, k0, v0) <body = b
      (int64 i, bool go, float[1,2,1,4] x, float[1,2,A,4] kp, float[1,2,B,4] vp)
      => (bool on, float[1,2,1,4] y, float[1,2,C,4] kn, float[1,2,D,4] vn, float[1,2,1,4] row) {
    on = Identity (go)
    t = Tanh (x) kx = Sin (x)
    kn = Concat <axis = 2> (kp, kx)
    vn = Concat <axis = -2> (vp, t)
    kt = Transpose <perm = [0, 1, 3, 2]> (kn)
    s = MatMul (x, kt)
    half = Constant <value = float {0.5}> ()
    scaled = Mul (s, half)
    p = Softmax <axis = -1> (scaled)
    a = MatMul (p, vn)
    y = Add (a, x)
    row = Identity (y)
  }>
}"""


def feeds(rng: np.random.Generator, trips: int, held: int) -> dict[str, np.ndarray]:
    made = {name: rng.standard_normal((1, 2, held, 4)) for name in ("k0", "v0")}
    made["q0"] = rng.standard_normal((1, 2, 1, 4))
    return {k: v.astype(np.float32) for k, v in made.items()} | {"n": np.array(trips)}


def same(before, after, given) -> None:
    wanted = run(before, given)
    for found in (run(after, given), run_by_onnxruntime(saved(after), given)):
        assert not found[-1]
        for one, other in zip(found[:-1], wanted, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("held", [0, 3])
@pytest.mark.parametrize("opset", [13, 18])
def test_a_decoder(trips: int, held: int, opset: int, rng: np.random.Generator) -> None:
    before = model(DECODER, opset)
    after, report = treadle.rewrite(before, NAME, capacity=8, with_report=True)
    assert [str(each) for each in report.done] == ["main/loop_1: kp, vp: 8 items"]
    assert after.main.results[-1].name == "main/loop_1@overflow"
    same(before, after, feeds(rng, trips, held))


def test_the_buffers_have_one_size() -> None:
    static = treadle.specialize(model(DECODER), dims={"L": 3})
    after = treadle.infer(treadle.rewrite(static, NAME, capacity=8))
    (loop,) = [visit.step for visit in walk(after) if isinstance(visit.step, Loop)]
    shapes = [port.param.inferred.shape for port in ports(loop).carried if port.param.inferred]
    assert shapes.count((1, 2, 8, 4)) == 2


@pytest.mark.parametrize("held", [3, 7, 9])
def test_overflow_fails(held: int, rng: np.random.Generator) -> None:
    after = treadle.rewrite(model(DECODER), NAME, capacity=7)
    with pytest.raises(treadle.TreadleError):
        run(after, feeds(rng, 5, held))


def test_overflow_is_known_before_the_run() -> None:
    static = treadle.specialize(model(DECODER), dims={"L": 3}, inputs={"n": 5})
    with pytest.raises(treadle.Unsupported, match="kp grows to 8 items"):
        treadle.rewrite(static, NAME, capacity=7)
    treadle.rewrite(static, NAME, capacity=8)


def test_capacity_is_asked_for() -> None:
    with pytest.raises(treadle.InputError, match="wants a capacity"):
        treadle.rewrite(model(DECODER), NAME)
    with pytest.raises(treadle.InputError, match="wanted 1 or more"):
        treadle.rewrite(model(DECODER), NAME, capacity=0)


READERS = {
    "its length": ("scaled = Mul (s, half)", """z = Shape (kp) two = Constant <value = int64 {2}> ()
        l = Gather (z, two) f = Cast <to = 1> (l) s2 = Mul (s, half) scaled = Add (s2, f)"""),
    "a reshape": ("kt = Transpose <perm = [0, 1, 3, 2]> (kn)",
                  """c = Constant <value = int64[5] {0, 2, -1, 2, 2}> () k5 = Reshape (kn, c)
                  e = Constant <value = int64[4] {0, 0, -1, 4}> () k4 = Reshape (k5, e)
                  kt = Transpose <perm = [0, 1, 3, 2]> (k4)"""),
    "an operator": ("a = MatMul (p, vn)", "a = Attention (x, kn, vn)"),
    "a mask of its own": ("scaled = Mul (s, half)",
                          "z = Constant <value = float[1,2,1,1] {1.0, 2.0}> ()"
                          " s2 = Mul (s, half) scaled = Sub (s2, z)"),
    "new axes": ("kt = Transpose <perm = [0, 1, 3, 2]> (kn)",
                 """z0 = Constant <value = int64[1] {0}> () u = Unsqueeze (kn, z0)
                 w = Squeeze (u, z0) kt = Transpose <perm = [0, 1, 3, 2]> (w)"""),
    "a softmax of columns": ("p = Softmax <axis = -1> (scaled)",
                             """c0 = Transpose <perm = [0, 1, 3, 2]> (scaled)
                             c1 = Softmax <axis = 2> (c0)
                             p = Transpose <perm = [0, 1, 3, 2]> (c1)"""),
    "a softmax of another axis": ("scaled = Mul (s, half)",
                                  "s2 = Softmax <axis = 1> (s) scaled = Mul (s2, half)"),
    "scaled items": ("a = MatMul (p, vn)",
                     """d2 = Constant <value = float {2}> () v2 = Div (vn, d2) v3 = Tanh (v2)
                     v4 = Mul (v3, d2) v5 = Add (v4, v4) a = MatMul (p, v5)"""),
    "items in pairs": ("kx = Sin (x)", "s_ = Sin (x) kx = Concat <axis = 2> (s_, x)"),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_operators_that_read_the_cache(name: str, rng: np.random.Generator) -> None:
    text = DECODER.replace(*READERS[name])
    if name == "items in pairs":
        text = text.replace("t = Tanh (x)", "t_ = Tanh (x) t = Concat <axis = 2> (t_, x)")
    before = model(text, 23 if "Attention" in text else 17)
    after = treadle.rewrite(before, NAME, capacity=12)
    for trips in (0, 1, 3):
        same(before, after, feeds(rng, trips, 2))


REFUSED = {
    "a sum over it": ("a = MatMul (p, vn)", "a = ReduceSum <keepdims = 1> (vn)",
                      "reads more than the valid items"),
    "no softmax": ("p = Softmax <axis = -1> (scaled)", "p = Identity (scaled)",
                   "no mask has made zero"),
    "a mask behind the softmax": ("a = MatMul (p, vn)", "pp = Exp (p) a = MatMul (pp, vn)",
                                  "no mask has made zero"),
    "scores of every step": ("row = Identity (y)", "row = Identity (scaled)",
                             "has as many items as the cache"),
    "the last item": ("row = Identity (y)",
                      "m1 = Constant <value = int64[1] {-1}> () b1 = Constant <value = int64[1]"
                      " {99}> () a2 = Constant <value = int64[1] {2}> ()"
                      " row = Slice (vn, m1, b1, a2)",
                      "reads more than the valid items"),
    "a softmax over nothing": ("kt = Transpose <perm = [0, 1, 3, 2]> (kn)",
                               "kt = Transpose <perm = [0, 1, 3, 2]> (kp)",
                               "may be empty"),
    "another extent": ("scaled = Mul (s, half)", "r_ = Shape (s) o_ = ConstantOfShape (r_)"
                       " scaled = Add (s, o_)", "as many items"),
    "a sum with as many numbers": (
        "a = MatMul (p, vn)", "r_ = Shape (s) o_ = ConstantOfShape (r_) a = MatMul (o_, vn)",
        "sums over the cache and another tensor",
    ),
    "a vector": ("row = Identity (y)",
                 "w_ = Constant <value = float[4] {1, 2, 3, 4}> () row = MatMul (kn, w_)",
                 "a product with a vector"),
    "both caches": ("row = Identity (y)",
                    "o_ = Transpose <perm = [0, 1, 3, 2]> (vn) row = MatMul (kn, o_)",
                    "a product of two caches"),
    "a part of the shape": ("row = Identity (y)",
                            "row = Shape <start = 2> (kp)",
                            "a part of the cache's shape"),
    "all items of all heads": ("row = Identity (y)",
                               "c_ = Constant <value = int64[2] {-1, 4}> () row = Reshape (kn, c_)",
                               "reshapes the cache's axis"),
    "a computed shape": ("row = Identity (y)", "c_ = Shape (vp) row = Reshape (kn, c_)",
                         "reshapes the cache to a computed shape"),
    "the axis itself": ("row = Identity (y)",
                        "c_ = Constant <value = int64[1] {2}> () row = Squeeze (kn, c_)",
                        "removes the axis of the cache"),
    "infinite items": ("a = MatMul (p, vn)",
                       "i_ = Constant <value = float {inf}> () v_ = Mul (vn, i_)"
                       " a = MatMul (p, v_)",
                       "no mask has made zero"),
    "causal attention": ("a = MatMul (p, vn)", "a = Attention <is_causal = 1> (x, kn, vn)",
                         "a mask or a cache of its own"),
    "attention without a cache of values": (
        "a = MatMul (p, vn)", "a = Attention (x, kn, x)", "not two caches of equal growth",
    ),
    "attention over nothing": (
        "a = MatMul (p, vn)", "a = Attention (x, kp, vp)", "attends to items that may be empty",
    ),
    "growth that differs": ("kx = Sin (x)", "i1 = Constant <value = int64[1] {0}> ()"
                            " i_ = Reshape (i, i1) kx = Sin (x)", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in REFUSED if REFUSED[name][2]])
def test_refusals(name: str) -> None:
    old, new, why = REFUSED[name]
    text = DECODER.replace(old, new)
    if "row = " in new:
        text = text.replace("float[1,2,1,4] row)", "row)").replace("float[R,1,2,1,4] rows", "rows")
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.rewrite(model(text, 23 if "Attention" in text else 17), NAME, capacity=8)
    assert any(why in found.message for found in caught.value.findings)
    assert all(found.path for found in caught.value.findings)
