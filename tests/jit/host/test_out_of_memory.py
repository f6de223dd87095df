"""Running out of memory is an error with its place; process and session continue."""

import subprocess
import sys
from textwrap import dedent

import pytest

from tests.jit.native import HEAD

LIMITED = """
import resource
import numpy as np
import treadle
from treadle.errors import RunError

def bounded(more):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))

session = treadle.InferenceSession(TEXT, engines=("jit", "interp"))
row = np.zeros(250_000, np.float32)
few, many = ({"n": np.array(n), "x": row} for n in (2, 10_000))
before = session.run(None, few)
assert "jit" in {region.engine for region in session.plan.main.regions}
bounded(300 * 2**20)
for _ in range(2):
    try:
        session.run(None, many)
    except RunError as error:
        print(error.path, len(error.iterations), "memory" in str(error) or "allocate" in str(error))
after = session.run(None, few)
print(all(map(np.array_equal, before, after)))
"""
COUNTED = """g (int64 n, float[r] x) => (float[n,r] ys) {
  ys = Loop (n, yes) <body = f (int64 i, bool go) => (bool on, float[r] v) {
    on = Identity (go)
    v = Sin (x)
  }>
}"""
UNTIL = """g (int64 n, float[r] x) => (float[m,r] ys) {
  yes = Constant <value = bool {1}> ()
  ys = Loop (, yes) <body = f (int64 i, bool go) => (bool on, float[r] v) {
    on = Less (i, n)
    v = Sin (x)
  }>
}"""
APPENDING = """g (int64 n, float[r] x) => (float[m] y) {
  yes = Constant <value = bool {1}> ()
  y = Loop (n, yes, x) <body = f (int64 i, bool go, float[m] u) => (bool on, float[k] v) {
    on = Identity (go)
    v = Concat <axis = 0> (u, x)
  }>
}"""
FILLED = """g (int64 n, float[r] x) => (float y) {
  yes = Constant <value = bool {1}> ()
  zero = Constant <value = float {0}> ()
  y = Loop (n, yes, zero) <body = f (int64 i, bool go, float s) => (bool on, float t) {
    on = Identity (go)
    many = Constant <value_ints = [10000000]> ()
    shape = Mul (i, many)
    a = ConstantOfShape <value = float[1] {2}> (shape)
    b = CumSum (a, axis)
    t = ReduceMax <keepdims = 0> (b)
  }>
}"""
INNER = """g (int64 n, float[r] x) => (float y) {
  yes = Constant <value = bool {1}> ()
  zero = Constant <value = float {0}> ()
  y = Loop (n, yes, zero) <body = f (int64 i, bool go, float s) => (bool on, float t) {
    on = Identity (go)
    square = Mul (i, i)
    rows = Loop (square, yes) <body = h (int64 j, bool go2) => (bool on2, float[r] v) {
      on2 = Identity (go2)
      v = Sin (x)
    }>
    sum = ReduceSum <keepdims = 0> (rows)
    t = Add (s, sum)
  }>
}"""


def written(text):
    """The model with the constants that it names."""
    axis = "  axis = Constant <value = int64 {0}> ()\n" if "axis)" in text else ""
    yes = "" if "yes = Constant" in text else "  yes = Constant <value = bool {1}> ()\n"
    head, rest = text.split("{\n", 1)
    return HEAD + head + "{\n" + axis + yes + rest


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit is Linux's")
@pytest.mark.parametrize(
    ("text", "depth"),
    [(COUNTED, 0), (UNTIL, 1), (APPENDING, 1), (FILLED, 1), (INNER, 1)],
    ids=["counted", "until", "appending", "filled", "inner"],
)
def test_memory_that_runs_out_is_an_error(text, depth):
    script = dedent(LIMITED).replace("TEXT", repr(written(text)))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    *errors, same = ran.stdout.splitlines()
    assert same == "True"
    assert len(errors) == 2
    for line in errors:
        path, iterations, is_told = line.split()
        assert path.startswith("main/loop_"), line
        assert (int(iterations), is_told) == (depth, "True"), line
