"""Carried arrays of 16-bit floats: in float32 where every iteration reads all of them so."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.carried_forms import with_simple_carried_values

CACHE = """kernel
  %one: int64[] = constant 1
  %n: int64[] = input 0
  %s0: float16[2,3] = input 1
  %x: float32[1,3] = input 2
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %c = %s0, %q = %x
    %c0 as e1: int64[] = dim 0 of value 0
    %c: float16[e1,3] = carried 0
    %q: float32[1,3] = carried 1
    %row: float16[1,3] = cast %q
    %e2v as e2: int64[] = add %c0, %one
    %next: float16[e2,3] = concat along 0 %c, %row
    %wide: float32[e2,3] = cast %next
    %sum: float32[1,3] = reduce add over (0) of %wide
    %half: float32[1,3] = sin %sum
    yield %next, %half
  %last0 as e3: int64[] = dim 0 of value 0 of %1
  %last: float16[e3,3] = result 0 of %1
  %out: float32[1,3] = result 1 of %1
  return %last, %out"""

TABLE = """kernel
  %n: int64[] = input 0
  %s0: bfloat16[4,3] = input 1
  %x: float32[1,3] = input 2
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %t = %s0, %q = %x
    %i: int64[] = induction variable
    %at: int64[1,1] = view () of %i
    %t: bfloat16[4,3] = carried 0
    %q: float32[1,3] = carried 1
    %row: bfloat16[1,3] = cast %q
    %next: bfloat16[4,3] = scatter (at 0, i1) into %t, %row, %at
    %turned: bfloat16[3,4] = view (i1, i0) of %next
    %wide: float32[3,4] = cast %turned
    %sum: float32[3,1] = reduce add over (1) of %wide
    %new: float32[1,3] = view (i1, i0) of %sum
    yield %next, %new
  %last: bfloat16[4,3] = result 0 of %1
  %out: float32[1,3] = result 1 of %1
  return %last, %out"""


def simple(text: str) -> str:
    """The kernel with its carried values in their simplest forms, as text."""
    made = with_simple_carried_values(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_growing_cache_is_carried_in_float32(count, rng):
    text = simple(CACHE)
    assert "float32[e1,3] = carried 0" in text
    assert "reduce add over (0) of" in text
    cache = rng.integers(-3, 3, (2, 3)).astype("e")
    query = np.array([[0.1, 0.7, -0.3]], "f")
    for given in (CACHE, text):
        found, last = run_kernel(given, count, cache, query)
        wanted, q = cache, query
        for _ in range(count):
            wanted = np.concatenate([wanted, q.astype("e")])
            q = wanted.astype("f").sum(0, keepdims=True)
            q = np.sin(q)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(last, q, rtol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_table_that_is_read_turned_is_carried_in_float32(count, rng):
    text = simple(TABLE)
    assert "float32[4,3] = carried 0" in text
    table = rng.integers(-3, 3, (4, 3)).astype(ml_dtypes.bfloat16)
    query = np.array([[0.1, 0.7, -0.3]], "f")
    for given in (TABLE, text):
        found, last = run_kernel(given, count, table, query)
        wanted, q = table.copy(), query
        for i in range(count):
            wanted[i] = q.astype(ml_dtypes.bfloat16)
            q = wanted.astype("f").sum(0, keepdims=True)
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_allclose(last, q, rtol=1e-6)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%half: float32[1,3] = sin", "%part: float16[1,3] = view (0, i1) of %next\n"
         "    %odd: float16[1,3] = neg %part\n    %half: float32[1,3] = sin"),
        ("%wide: float32[e2,3] = cast %next\n    %sum: float32[1,3] = reduce add over (0) of %wide",
         "%part: float16[1,3] = view (0, i1) of %next\n    %sum: float32[1,3] = cast %part"),
        ("kernel\n", "kernel limits_memory\n"),
        ("loop trip %n extent e0", "loop length 5 extent 5"),
    ],
)  # fmt: skip
def test_arrays_that_are_read_in_16_bits_or_in_part_stay(old, new):
    assert "float16[e1,3] = carried 0" in simple(CACHE.replace(old, new))


def test_keys_in_half_are_cast_in_the_order_they_are_stored_in():
    session = treadle.InferenceSession(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (int64 n, float16[4,8] keys, float16[1,8] q) => (float16[1,4] last) {
          yes = Constant <value = bool {1}> ()
          start = Constant <value = float16[1,4] {0, 0, 0, 0}> ()
          last = Loop <body = b (int64 i, bool c, float16[1,4] s) => (bool d, float16[1,4] t) {
            turned = Transpose <perm = [1, 0]> (keys)
            p = MatMul (q, turned)
            t = Add (s, p)
            d = Identity (c)
          }> (n, yes, start)
        }""",
        engines=("jit",),
    )
    keys, q = np.ones((4, 8), "e"), np.ones((1, 8), "e")
    (last,) = session.run(None, {"n": np.int64(3), "keys": keys, "q": q})
    np.testing.assert_array_equal(last, np.full((1, 4), 24, "e"))
    assert "float32[4,8] = cast" in session.explain("kernel")
