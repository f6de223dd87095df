"""Guards of dynamic extents: if one fails, another engine runs the region.

In every iteration `x` is the first m rows of p, `y` a list of m numbers. That m is fed as a float
keeps it from being known when the kernel is made.
"""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, outcomes, refused_nothing
from tests.values import differences
from treadle.errors import RunError
from treadle.jit.runtime.invoke import CompiledKernel

P = np.arange(32, dtype=np.float32).reshape(8, 4) - 9
FRAME = """g (int64 n, float[8,4] p, float[1] m, float never) => (float a) {
  start = Constant <value = float {0.0}> ()
  zero = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  three = Constant <value = int64[1] {3}> ()
  whole = Constant <value = int64[1] {-1}> ()
  front = Constant <value = int64 {0}> ()
  half = Constant <value = float {0.5}> ()
  s34 = Constant <value = int64[2] {3, 4}> ()
  grid = Expand (half, s34)
  pair = Constant <value = int64[2,1] {5, 2}> ()
  a = Loop (n, , start) <body = f (int64 i, bool go, float u) => (bool on, float u1) {
    on = Identity (go)
    number = Cast <to = 1> (i)
    still = Mul (number, never)
    told = Add (m, still)
    rows = Cast <to = 7> (told)
    nought = Cast <to = 7> (still)
    x = Slice (p, zero, rows, zero)
    first = ReduceMin <keepdims = 0> (p, one)
    y = Slice (first, zero, rows, zero)
    BODY
    f = Cast <to = 1> (r)
    flat = Reshape (f, whole)
    running = CumSum (flat, front)
    s = ReduceSum <keepdims = 0> (running)
    u1 = Add (u, s)
  }>
}"""
# operators, the m that fit, those that do not
CASES = {
    "ReduceMax": ("r = ReduceMax <keepdims = 0> (x, zero)", (1, 5), (0,)),
    "ReduceMin of rows": ("r = ReduceMin <keepdims = 0> (x, one)", (0, 5), ()),
    "Gather": ("c = Constant <value = int64 {2}> ()\nr = Gather (x, c)", (3, 8), (2, 0)),
    "Gather from the end": (
        "c = Constant <value = int64 {-3}> ()\nr = Gather (x, c)",
        (3, 8),
        (2, 0),
    ),
    "GatherElements": (
        "c = Constant <value = int64[3,1] {3, 0, -4}> ()\nr = GatherElements <axis = 1> (x, c)",
        (3, 5),
        (2, 0),
    ),
    "ScatterElements": (
        "c = Constant <value = int64[2,4] {7, 1, 2, 3, 0, 0, 0, 0}> ()\n"
        "r = ScatterElements (p, c, x)",
        (2,),
        (0, 1, 3, 8),
    ),
    "ScatterND": ("r = ScatterND (p, pair, x)", (2,), (0, 1, 3, 8)),
    "ScatterND of columns": (
        "t = Transpose (p)\nc = Constant <value = int64[1,1] {1}> ()\nk = Unsqueeze (y, zero)\n"
        "r = ScatterND (t, c, k)",
        (8,),
        (0, 1, 7),
    ),
    "GatherND of a batch": (
        "c = Constant <value = int64[3,1] {3, 0, -4}> ()\nr = GatherND <batch_dims = 1> (x, c)",
        (3,),
        (2, 4, 0),
    ),
    "MatMul": (
        "w = Transpose (grid)\nr = MatMul (w, x)",
        (3,),
        (1, 2, 4),
    ),
    "MatMul, a row": (
        "v = ReduceSum <keepdims = 0> (grid, one)\nr = MatMul (v, x)",
        (3,),
        (1, 2, 4),
    ),
    "Einsum": ('r = Einsum <equation = "ij,ik->jk"> (grid, x)', (3,), (2, 4)),
    "Reshape": ("c = Constant <value = int64[2] {2, 6}> ()\nr = Reshape (x, c)", (3,), (2, 4, 0)),
    "Reshape, the rest": (
        "c = Constant <value = int64[2] {-1, 8}> ()\nr = Reshape (x, c)",
        (2, 4, 8),
        (3, 1),
    ),
    "Squeeze": ("r = Squeeze (x, zero)", (1,), (0, 2)),
    "Expand": ("r = Expand (x, s34)", (3,), (1, 2, 4)),
    "Expand to one": ("k = Concat <axis = 0> (rows, one)\nr = Expand (half, k)", (0, 1, 5), ()),
    "Split": (
        "c = Constant <value = int64[2] {1, 2}> ()\nd, e = Split <axis = 0> (x, c)\n"
        "g = ReduceSum <keepdims = 0> (d)\nr = Sub (e, g)",
        (3,),
        (2, 4, 0),
    ),
    "Concat": ("r = Concat <axis = 1> (x, grid)", (3,), (1, 2, 4)),
    "Add": ("r = Add (x, grid)", (3,), (2, 4, 8, 0)),
    "Add of one": ("r = Sub (grid, x)", (), (1, 3)),
    "Where": ("c = Greater (grid, half)\nr = Where (c, grid, x)", (3,), (2, 4)),
    "TopK": ("v, r = TopK <axis = 0> (x, three)", (3, 8), (2, 0)),
    "ArgMax": ("r = ArgMax <axis = 0> (x)", (1, 5), (0,)),
    "Range": (
        "d = Squeeze (rows, zero)\ne = Constant <value = int64 {7}> ()\nr = Range (nought, e, d)",
        (1, 2, 7, 8, -1),
        (0,),
    ),
    "Range downwards": (
        "d = Squeeze (rows, zero)\ne = Constant <value = int64 {-7}> ()\nr = Range (nought, e, d)",
        (-1, -2, -7, -8, 1),
        (0,),
    ),
    "Range of floats": (
        "d0 = Squeeze (rows, zero)\nd = Cast <to = 1> (d0)\nk = Mul (d, half)\n"
        "e = Constant <value = float {7.2}> ()\nr = Range (half, e, k)",
        (1, 2, 7, -1),
        (),
    ),
    "two slices": (
        "h, r = Scan <num_scan_inputs = 2, body = b (float h, float[4] v, float[4] w)\n"
        " => (float h1, float[4] o) { h1 = Add (h, half)\n o = Sub (v, w) }> (half, x, grid)",
        (3,),
        (2, 4),
    ),
    "what a loop carries": (
        "s3 = Constant <value = int64[2] {3, 4}> ()\nb0 = Expand (half, s3)\n"
        "r = Scan <num_scan_inputs = 1, body = b (float[3,4] h, float v) => (float[3,4] h1)\n"
        " { h1 = Add (x, v) }> (b0, first)",
        (3,),
        (2, 4),
    ),
    "Tile": ("k = Concat <axis = 0> (rows, one)\nr = Tile (grid, k)", (), (0, 1, 3, -1)),
    "Trilu": ("k = Squeeze (rows, zero)\nr = Trilu (x, k)", (0, 1, 5), ()),
    "CumSum": ("r = CumSum <reverse = 1> (x, nought)", (), (0, 1, 5)),
    "CumSum along what is told": (
        "k = Squeeze (rows, zero)\nr = CumSum (p, k)",
        (),
        (0, 1, -1, 2),
    ),
    "OneHot": (
        "k = Squeeze (rows, zero)\nc = Constant <value = int64[3] {0, 2, -1}> ()\n"
        "v = Constant <value = float[2] {0.5, 3.0}> ()\nr = OneHot (c, k, v)",
        (),
        (3, 5),
    ),
    "Pad": (
        "z2 = Concat <axis = 0> (zero, one, rows, zero)\nr = Pad (p, z2, half)",
        (0, 1, 3),
        (-1, -8),
    ),
    "Softmax": ("r = Softmax <axis = 0> (x)", (1, 5), (0,)),
    "Compress": (
        "c = Greater (first, half)\nk = Compress <axis = 0> (p, c)\nr = Add (k, x)",
        (5,),
        (4, 6),
    ),
    "Slice, two up to": (
        "d = Sub (rows, two)\nr = Slice (p, d, rows, zero)",
        (2, 5, 8),
        (1, 0, -1, 9, 10, 11),
    ),
    "Slice, two from": (
        "e = Add (rows, two)\nr = Slice (p, rows, e, zero)",
        (0, 5, 6),
        (7, 8, 9, -1, -2, -3),
    ),
    "Slice, two behind": (
        "d = Add (one, rows)\ne = Add (rows, three)\nr = Slice (p, d, e, zero)",
        (0, 5),
        (6, 7, 8, -1, -2, -4),
    ),
    "Slice, nothing": (
        "d = Add (rows, two)\nr = Slice (p, d, rows, zero)",
        (0, 3, 9, -1, -2, -3),
        (),
    ),
    "Slice, from": (
        "d = Constant <value = int64[1] {99}> ()\nr = Slice (p, rows, d, zero)",
        (0, 3, 8, 9, -1, -8, -9),
        (),
    ),
    "Slice by two": ("r = Slice (p, one, rows, zero, two)", (0, 1, 2, 3, 6, 8, 9, -1, -6, -9), ()),
    "Slice by two, from": (
        "d = Constant <value = int64[1] {-1}> ()\nr = Slice (p, rows, d, zero, two)",
        (0, 3, 6, 7, 8, 9, -1, -2, -8, -9),
        (),
    ),
    "Slice backwards": (
        "back = Constant <value = int64[1] {-2}> ()\nd = Constant <value = int64[1] {-99}> ()\n"
        "r = Slice (p, rows, d, zero, back)",
        (0, 1, 3, 7, 8, 9, -1, -2, -8, -9),
        (),
    ),
    "Slice backwards, down to": (
        "back = Constant <value = int64[1] {-1}> ()\nd = Constant <value = int64[1] {6}> ()\n"
        "r = Slice (p, d, rows, zero, back)",
        (0, 1, 3, 5, 6, 7, 8, -1, -2, -3, -8, -9),
        (),
    ),
    "Slice of what is told": (
        "e = Constant <value = int64[1] {-1}> ()\nd = Constant <value = int64[1] {-3}> ()\n"
        "r = Slice (x, d, e, zero)",
        (0, 1, 2, 3, 4, 8),
        (),
    ),
    "Slice of what is told, backwards": (
        "back = Constant <value = int64[1] {-3}> ()\ne = Constant <value = int64[1] {1}> ()\n"
        "d = Constant <value = int64[1] {-2}> ()\nr = Slice (x, d, e, zero, back)",
        (0, 1, 2, 3, 4, 8),
        (),
    ),
    "Clip, by a list": ("r = Clip (x, y)", (), (1, 2)),
}


def outcome(session: treadle.InferenceSession, feed: dict[str, np.ndarray]) -> list | str:
    try:
        return session.run(None, dict(feed))
    except RunError as error:
        return str(error)


@pytest.mark.parametrize("name", CASES)
def test_a_failed_guard_hands_the_region_to_another_engine(name):
    lines, fitting, others = CASES[name]
    text = HEAD + FRAME.replace("BODY", lines)
    native = treadle.InferenceSession(text, engines=("jit", "interp"))
    plain = treadle.InferenceSession(text, engines=("interp",))
    for m in (*fitting, *others, *fitting):
        feed = {"n": np.array(2), "p": P, "m": np.float32([m]), "never": np.float32(0)}
        wanted = outcome(plain, feed)
        if m in fitting:
            with refused_nothing():
                found = outcome(native, feed)
        else:
            found = outcome(native, feed)
        if isinstance(wanted, str) or isinstance(found, str):
            assert found == wanted, f"m = {m}"
        else:
            assert not differences(found[0], wanted[0]), f"m = {m}"
    assert not fitting or [made for made in outcomes(native) if isinstance(made, CompiledKernel)]
