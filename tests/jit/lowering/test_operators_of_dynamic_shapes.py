"""Operators on a state that grows by a row in every iteration."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, check, check_uncalled
from treadle.errors import RunError

MODES = ("edge", "reflect", "wrap")
BODIES = {
    "LayerNormalization": "r = LayerNormalization (x1, g, g)",
    "ArgMax": "a = ArgMax <axis = 0> (x1)\nr = Cast <to = 1> (a)",
    "ArgMin, the last of equals": (
        "a = ArgMin <axis = 0, select_last_index = 1, keepdims = 0> (x1)\nr = Cast <to = 1> (a)"
    ),
    "BatchNormalization": (
        "f = ReduceSum <keepdims = 0> (x1, axes1)\ntu = Transpose (x1)\nsq = Mul (f, f)\n"
        "r = BatchNormalization (tu, f, f, f, sq)"
    ),
    "InstanceNormalization": (
        "f = ReduceSum <keepdims = 0> (x1, axes1)\ntu = Unsqueeze (x1, axes1)\n"
        "tu3 = Transpose <perm = [1, 0, 2]> (tu)\nr = InstanceNormalization (tu3, f, f)"
    ),
    "Hardmax": "r = Hardmax <axis = 0> (x1)",
    "Softmax": "r = Softmax <axis = 0> (x1)",
    "TopK": "v, i1 = TopK <axis = 0> (x1, two)\nik = Cast <to = 1> (i1)\nr = Add (v, ik)",
    "TopK, smallest": "v, i1 = TopK <axis = 0, largest = 0> (x1, two)\nr = Identity (v)",
    "CumSum": "r = CumSum (x1, zero)",
    "CumSum backwards": "r = CumSum <exclusive = 1, reverse = 1> (x1, zero)",
    "CumSum of rows": "one1 = Constant <value = int64 {1}> ()\nr = CumSum (x1, one1)",
    "Trilu": "turned = Transpose (x1)\nm = MatMul (x1, turned)\nr = Trilu <upper = 0> (m)",
    "OneHot": (
        "a = ArgMax <axis = 1, keepdims = 0> (x1)\nd = Constant <value = int64 {5}> ()\n"
        "v = Constant <value = float[2] {0.0, 1.0}> ()\nr = OneHot (a, d, v)"
    ),
    "OneHot of dynamic depth": (
        "a = ArgMax <axis = 1, keepdims = 0> (x1)\n"
        "v = Constant <value = float[2] {0.5, 1.0}> ()\nr = OneHot <axis = 0> (a, i, v)"
    ),
    "Pad": "p4 = Constant <value = int64[4] {1, 0, 2, 1}> ()\nr = Pad (x1, p4)",
    "Pad that cuts": "p4 = Constant <value = int64[4] {-1, 0, 2, 1}> ()\nr = Pad (x1, p4)",
    "Tile": "t2 = Constant <value = int64[2] {2, 3}> ()\nr = Tile (x1, t2)",
    "Tile by a number of the run": (
        "k1 = Unsqueeze (i, axes)\nt2 = Concat <axis = 0> (k1, two)\nr = Tile (x1, t2)"
    ),
    "Tile by numbers of the run": (
        "d = Shape <end = 1> (x1)\nk1 = Unsqueeze (i, axes)\nt2 = Concat <axis = 0> (d, k1)\n"
        "r = Tile (new, t2)"
    ),
    "EyeLike": "r = EyeLike <k = -1> (x1)",
    "EyeLike of another type": "e = EyeLike <dtype = 7, k = 1> (x1)\nr = Cast <to = 1> (e)",
    **{
        f"Pad that goes on, {mode}": (
            f"p4 = Constant <value = int64[4] {{5, 1, 7, 2}}> ()\n"
            f"r = Pad <mode = \"{mode}\"> (x1, p4)"
        )
        for mode in MODES
    },
    **{
        f"Pad that cuts and goes on, {mode}": (
            f"p4 = Constant <value = int64[4] {{-1, 1, 7, -1}}> ()\n"
            f"r = Pad <mode = \"{mode}\"> (x1, p4)"
        )
        for mode in MODES
    },
    **{
        f"Pad by dynamic amounts, {mode}": (
            "d = Shape <end = 1> (x1)\nk1 = Unsqueeze (i, axes)\n"
            f"p4 = Concat <axis = 0> (k1, two, d, k1)\nr = Pad <mode = \"{mode}\"> (x1, p4)"
        )
        for mode in MODES
    },
    "Split in two": (
        "b0, b1 = Split <num_outputs = 2> (x1)\nn1 = Neg (b1)\nr = Concat <axis = 0> (n1, b0)"
    ),
    "Squeeze": "l = Unsqueeze (x1, axes)\nl1 = Unsqueeze (l, two)\nr = Squeeze (l1)",
    "Slice by a step of the run": (
        "s1 = Unsqueeze (i, axes)\nstep = Add (s1, axes1)\nbound = Neg (two)\n"
        "r0 = Slice (x1, axes1, bound, axes, step)\nend = Constant <value = int64[1] {99}> ()\n"
        "r1 = Slice (x1, bound, end, axes1, step)\nf1 = ReduceSum (r1)\nr = Add (r0, f1)"
    ),
    "Slice backwards by a step of the run": (
        "s1 = Unsqueeze (i, axes)\nthird = Constant <value = int64[1] {3}> ()\n"
        "rest = Mod (s1, third)\nback = Sub (rest, third)\n"
        "low = Constant <value = int64[1] {-99}> ()\nend = Constant <value = int64[1] {99}> ()\n"
        "r0 = Slice (x1, end, low, axes, back)\nd = Shape <end = 1> (x1)\n"
        "r1 = Slice (x1, d, s1, axes, back)\nf1 = ReduceSum (r1)\nr = Add (r0, f1)"
    ),
    "Slice by any step": (
        "s1 = Unsqueeze (i, axes)\nq1 = Mul (s1, two)\nodd = Constant <value = int64[1] {5}> ()\n"
        "step = Sub (q1, odd)\nlow = Neg (s1)\nr = Slice (x1, low, s1, axes, step)"
    ),
    "CumSum along an axis of the run": (
        "f = ReduceSum <keepdims = 0> (x1, axes1)\nnone = Mul (i, zero)\n"
        "one1 = Constant <value = int64 {1}> ()\nlast = Sub (none, one1)\n"
        "f1 = CumSum (f, none)\nr = CumSum <reverse = 1> (f1, last)"
    ),
    "ReverseSequence": (
        "d = Shape <end = 1> (x1)\nnone = Constant <value = int64[4] {0, 1, 0, 1}> ()\n"
        "e = Sub (d, none)\nr = ReverseSequence <time_axis = 0, batch_axis = 1> (x1, e)"
    ),
    "ReverseSequence of batches": (
        "l = ArgMax <axis = 1, keepdims = 0> (x1)\n"
        "r = ReverseSequence <time_axis = 1, batch_axis = 0> (x1, l)"
    ),
    "NonZero of a scalar": (
        "o = Constant <value = int64 {2}> ()\nodd = Mod (i, o)\nz = NonZero (odd)\n"
        "w = Cast <to = 1> (z)\nd = Shape (w)\ne = Cast <to = 1> (d)\nr = Concat <axis = 0> (e, g)"
    ),
    "Einsum": "r = Einsum <equation = \"ij,kj->ik\"> (x1, x1)",
    "Einsum that sums": "r = Einsum <equation = \"ij,ik->jk\"> (x1, x1)",
    "Einsum of a row": "r = Einsum <equation = \"...j,j->...\"> (x1, g)",
    "GatherElements": "a = ArgMax <axis = 0> (x1)\nr = GatherElements <axis = 0> (x1, a)",
    "ScatterND": (
        "z2 = Constant <value = int64[1,1] {-1}> ()\nrow = Constant <value = float[1,4] "
        "{1.0, 2.0, 3.0, 4.0}> ()\nr = ScatterND (x1, z2, row)"
    ),
    "activations": "e = Elu (x1)\nm = Mish (e)\nr = HardSwish (m)",
    "Clip, Where, Mod": (
        "h = Constant <value = float {0.25}> ()\nc = Clip (x1, h)\nw = Greater (x1, h)\n"
        "q = Where (w, c, x1)\nr = Mod <fmod = 1> (q, h)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_operators_on_growing_states(name, rng):
    text = f"""g (int64 n, float[A,4] p, float[4] g) => (float[B,4] a, float[N] s, float[N] t) {{
      a, s, t = Loop (n, , p) <body = f (int64 i, bool go, float[C,4] x)
        => (bool on, float[D,4] x1, float s, float t) {{
        on = Identity (go)
        zero = Constant <value = int64 {{0}}> ()
        two = Constant <value = int64[1] {{2}}> ()
        k = Cast <to = 1> (i)
        at = Add (k, g)
        bent = Sin (at)
        axes = Constant <value = int64[1] {{0}}> ()
        axes1 = Constant <value = int64[1] {{1}}> ()
        new = Unsqueeze (bent, axes)
        x1 = Concat <axis = 0> (x, new)
        {BODIES[name]}
        sizes = Abs (r)
        s = ReduceSum <keepdims = 0> (sizes)
        square = Shape (r)
        dims = Cast <to = 1> (square)
        t = ReduceSum <keepdims = 0> (dims)
      }}>
    }}"""
    p = rng.uniform(-1, 1, (2, 4)).astype(np.float32)
    g = rng.uniform(-1, 1, 4).astype(np.float32)
    check_uncalled(text, *({"n": np.array(trips), "p": p, "g": g} for trips in (1, 2, 5, 30)))


@pytest.mark.parametrize("word", ["int32", "uint32", "int64", "uint64"])
def test_integer_operators_on_growing_states(word, rng):
    text = f"""g (int64 n, {word}[A,4] p)
        => ({word}[B,4] a, {word}[N,4] s, {word}[N] t, float[N] u) {{
      a, s, t, u = Loop (n, , p) <body = f (int64 i, bool go, {word}[C,4] x)
        => (bool on, {word}[D,4] x1, {word}[4] s, {word} t, float u) {{
        on = Identity (go)
        first = Constant <value = int64[1] {{0}}> ()
        second = Constant <value = int64[1] {{1}}> ()
        x1 = Concat <axis = 0> (x, p)
        s = ReduceMean <keepdims = 0> (x1, first)
        rows = ReduceL2 <keepdims = 0> (x1, second)
        logs = ReduceLogSum <keepdims = 0> (x1, second)
        powers = ReduceLogSumExp <keepdims = 0> (x1, second)
        less = Shrink <bias = 1.5, lambd = 2.0> (x1)
        few = ReduceL2 <keepdims = 0> (less, second)
        square = Gemm <transB = 1, alpha = 0.75, beta = -0.5> (x1, x1, few)
        some = Add (rows, powers)
        all = Add (some, logs)
        more = Max (square, all)
        t = ReduceMean <keepdims = 0> (more)
        count = Shape (more)
        many = ReduceMean <keepdims = 0> (count)
        u = Cast <to = 1> (many)
      }}>
    }}"""
    p = rng.integers(0, 90, (2, 4)).astype(word)
    check_uncalled(text, *({"n": np.array(trips), "p": p} for trips in (1, 2, 5, 30)))


OLD_HEAD = '<ir_version: 6, opset_import: ["" : 11]>\n'


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_operators_that_flatten_from_an_axis(operator, axis, rng):
    text = f"""g (int64 n, float[1,A,2] p) => (float[1,B,2] a, float[N] s) {{
      a, s = Loop (n, , p) <body = f (int64 i, bool go, float[1,C,2] x)
        => (bool on, float[1,D,2] x1, float s) {{
        on = Identity (go)
        new = Sin (p)
        x1 = Concat <axis = 1> (x, new)
        r = {operator} <axis = {axis}> (x1)
        most = Mul (r, x1)
        s = ReduceSum <keepdims = 0> (most)
      }}>
    }}"""
    p = rng.uniform(-1, 1, (1, 3, 2)).astype(np.float32)
    check(text, *({"n": np.array(trips), "p": p} for trips in (1, 4)), head=OLD_HEAD)


MOVED = """g (int64[N] widths, float[6] row0) => (float[6] last, float[N,6] rows) {
  axis = Constant <value = int64[1] {0}> ()
  end = Constant <value = int64[1] {6}> ()
  last, rows = Scan <num_scan_inputs = 1, body = f (float[6] row, int64 width)
    => (float[6] next, float[6] seen) {
    w = Unsqueeze (width, axis)
    keep = Sub (end, w)
    short = Slice (row, axis, keep, axis)
    pads = Concat <axis = 0> (w, axis)
    next = Pad (short, pads)
    seen = Identity (row)
  }> (row0, widths)
}"""


def test_pads_computed_at_run_time():
    row = np.arange(1, 7, dtype=np.float32)
    check(MOVED, *({"widths": np.array(widths), "row0": row} for widths in ([0, 1, 2], [6], [3])))


def outcome(text, engines, feed):
    """The results, or why there are none."""
    session = treadle.InferenceSession(text, engines=engines)
    try:
        return [value.tolist() for value in session.run(None, feed)]
    except RunError as error:
        return str(error)


def test_negative_pads_go_to_another_engine():
    feed = {"widths": np.array([-2, 1]), "row0": np.arange(1, 7, dtype=np.float32)}
    found = outcome(HEAD + MOVED, ("jit", "interp"), feed)
    assert found == outcome(HEAD + MOVED, ("interp",), feed)


REFUSED = {
    "a Pad that goes on from nothing": (
        "q = Slice (p, zero, w, zero)\npads = Concat <axis = 0> (one, w)\n"
        'r = Pad <mode = "reflect"> (q, pads)'
    ),
    "a Slice of step 0": "r = Slice (p, zero, six, zero, w)",
    "a Squeeze of an extent of 1": (
        "q = Slice (p, zero, w, zero)\nu = Unsqueeze (q, zero)\nr = Squeeze (u)"
    ),
}


@pytest.mark.parametrize("widths", [[2, 3], [2, 1], [2, 0]])
@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_are_invalid_at_run_time_go_to_another_engine(name, widths):
    text = f"""g (int64[N] widths, float[6] p) => (float[N] sums) {{
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      six = Constant <value = int64[1] {{6}}> ()
      sums = Scan <num_scan_inputs = 1, body = f (int64 width) => (float sum) {{
        w = Unsqueeze (width, zero)
        {REFUSED[name]}
        sum = ReduceSum <keepdims = 0> (r)
      }}> (widths)
    }}"""
    feed = {"widths": np.array(widths), "p": np.arange(1, 7, dtype=np.float32)}
    assert outcome(HEAD + text, ("jit", "interp"), feed) == outcome(HEAD + text, ("interp",), feed)


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@pytest.mark.parametrize(
    ("long", "direction"),
    [("steps", "forward"), ("batch", "bidirectional"), ("ended steps", "reverse")],
)
@pytest.mark.parametrize("operator", GATES)
def test_recurrent_operators_on_growing_states(operator, long, direction, rng):
    directions, size = 2 if direction == "bidirectional" else 1, GATES[operator] * 3
    axis = 1 if long != "batch" else 0
    ends = "" if long != "ended steps" else "e"
    text = f"""g (int64 n, float[2,4] p, float[{directions},{size},4] w,
        float[{directions},{size},3] r, float[{directions},{2 * size}] c)
        => (float[B,4] a, float[N,{directions}] s, float[N] u) {{
      a, s, u = Loop (n, , p) <body = f (int64 i, bool go, float[C,4] x)
        => (bool on, float[D,4] x1, float[{directions}] s, float u) {{
        on = Identity (go)
        new = Sin (p)
        x1 = Concat <axis = 0> (x, new)
        where = Constant <value = int64[1] {{{axis}}}> ()
        x3 = Unsqueeze (x1, where)
        one = Constant <value = int64[1] {{1}}> ()
        i1 = Add (i, one)
        e = Cast <to = 6> (i1)
        y, h = {operator} <hidden_size = 3, direction = "{direction}"> (x3, w, r, c, {ends})
        all = Constant <value = int64[2] {{1, 2}}> ()
        s = ReduceSum <keepdims = 0> (h, all)
        u = ReduceSum <keepdims = 0> (y)
      }}>
    }}"""
    text = text.replace(", )", ")")

    def some(*shape):
        return rng.uniform(-1, 1, shape).astype(np.float32)

    feed = {
        "p": some(2, 4), "w": some(directions, size, 4), "r": some(directions, size, 3),
        "c": some(directions, 2 * size),
    }  # fmt: skip
    check_uncalled(text, *({**feed, "n": np.array(trips)} for trips in (1, 5)))
