"""An array that two loops, one in the other, put rows before and behind."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import check

SOURCE = """g (int64 n, int64 m, float[4,8] x, float[1,8] q0) => (float[A,B] last, float[C,D] ql) {
  yes = Constant <value = bool {1}> ()
  first = Constant <value = int64[1] {0}> ()
  last, ql = Loop <body = b (int64 i, bool c, float[K1,K2] s1, float[1,8] q1)
    => (bool d, float[K3,K4] so, float[K5,K6] qo) {
    row = Sin (q1)
    both = Concat <axis = 0> (s1, row, row)
    si, qi = Loop <body = b2 (int64 j, bool c2, float[I1,I2] s2, float[1,8] q2)
      => (bool d2, float[I3,I4] s3, float[I5,I6] q3) {
      s3 = Concat <axis = 0> (q2, s2)
      mean = ReduceMean <keepdims = 1> (s3, first)
      sum = Add (q2, mean)
      q3 = Sin (sum)
      d2 = Identity (c2)
    }> (m, yes, both, row)
    so = Identity (si)
    qo = Sin (qi)
    d = Identity (c)
  }> (n, yes, x, q0)
}"""


@pytest.mark.parametrize("outer", [0, 1, 3])
@pytest.mark.parametrize("inner", [0, 1, 4])
def test_an_array_that_grows_at_both_ends(outer: int, inner: int, rng: np.random.Generator) -> None:
    """The accesses of its rows are found in few rounds, though each loop adds some."""
    x, q = (rng.uniform(-1, 1, shape).astype("f") for shape in ((4, 8), (1, 8)))
    check(SOURCE, {"n": np.array(outer), "m": np.array(inner), "x": x, "q0": q})
