"""The canonical form of kernels: rewrites that apply, near-misses, and the outputs."""

from __future__ import annotations

import re

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import canonical_text, run_kernel

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


INVARIANT = """kernel
  %0: float32[4] = input 0
  %1: float32[4] = input 1
  %2: int64[] = constant 5
  %3 = loop trip %2 extent 5 carries %4 = %0, %5 = %1
    %4: float32[4] = carried 0
    %5: float32[4] = carried 1
    %6: float32[4] = mul %4, %5
    yield %6, %5
  %7: float32[4] = result 0 of %3
  %8: float32[4] = result 1 of %3
  return %7, %8
"""


def test_invariant_values_are_not_carried():
    made = canonical_text(INVARIANT)
    assert "carried 1" not in made
    assert "result 1" not in made


PASSED_ON = """kernel
  %0: float32[5,3] = input 0
  %1: float32[3] = input 1
  %2: int64[] = constant 5
  %3 = loop trip %2 extent 5 carries %4 = %0, %5 = %1
    %4: float32[5,3] = carried 0
    %5: float32[3] = carried 1
    %6: int64[] = induction variable
    %7: float32[3] = take along 0 of %4, %6
    %8: float32[3] = add %5, %7
    %9: float32[5,3] = {after}
    yield %9, %8
  %10: float32[3] = result 1 of %3
  return %10
"""


@pytest.mark.parametrize(("after", "is_slice"), [("%4", True), ("neg %4", False)])
def test_a_row_of_a_value_that_is_passed_on_is_a_slice(after, is_slice, rng):
    text = PASSED_ON.format(after=after)
    if is_slice:
        text = text.replace("    %9: float32[5,3] = %4\n", "").replace("yield %9", "yield %4")
    made = canonical_text(text)
    assert ("scan slice" in made) == is_slice
    assert ("take" in made) != is_slice
    x, y = rng.standard_normal((5, 3), np.float32), np.zeros(3, np.float32)
    signs = np.float32([[1]] * 5 if is_slice else [[1], [-1], [1], [-1], [1]])
    (found,) = run_kernel(text, x, y)
    np.testing.assert_allclose(found, (x * signs).sum(axis=0), rtol=1e-5, atol=1e-6)


INVARIANT_EXTENT = """kernel
  %0: float32[4] = input 0
  %1: int64[] = constant 5
  %2 = loop trip %1 extent 5 carries %4 = %0
    %3 as e0: int64[] = dim 0 of value 0
    %4: float32[e0] = carried 0
    %5: int64[] = add %3, %1
    yield %4
    stack %5 along 0
  %6: int64[5] = result 1 of %2
  return %6
"""


def test_the_extents_of_invariant_values_are_those_of_the_initial_ones():
    assert "dim 0" not in canonical_text(INVARIANT_EXTENT)
    (found,) = run_kernel(INVARIANT_EXTENT, np.zeros(4, np.float32))
    assert found.tolist() == [9] * 5


WIDE = """kernel
  %0: float32[1,300] = input 0
  %1: int64[] = constant 5
  %2 = loop trip %1 extent 5 carries %3 = %0
    %3: float32[1,300] = carried 0
    %4: float32[300] = view (0, i0) of %3
    %5: float32[300] = add %4, %4
    %6: float32[1,300] = view (i1) of %5
    yield %6
  %7: float32[1,300] = result 0 of %2
  return %7
"""


def test_axes_of_one_around_a_carried_value_go():
    made = canonical_text(WIDE)
    assert "%4: float32[300] = carried 0" in made or ": float32[300] = carried 0" in made
    assert "view (i1)" in made, "the result has its axis again"


GROWING = """kernel
  %0: int64[] = constant 1
  %1: float32[1,3,1,4] = input 0
  %2: int64[] = input 1
  %3 = loop trip %2 carries %4 = %1
    %5 as e0: int64[] = dim 1 of value 0
    %4: float32[1,e0,1,4] = carried 0
    %6: float32[e0,4] = view (0, i0, 0, i1) of %4
    %7: float32[1,4] = view (0, i1) of %6
    %8 as e1: int64[] = add %5, %0
    %9: float32[e1,4] = concat along 0 %6, %7
    %10: float32[1,e1,1,4] = view (i1, i3) of %9
    yield %10
  %11 as e2: int64[] = dim 1 of value 0 of %3
  %12: float32[1,e2,1,4] = result 0 of %3
  return %12
"""


def test_axes_of_one_go_where_other_extents_change(rng):
    made = canonical_text(GROWING)
    assert "dim 0 of value 0" in made
    assert re.search(r"float32\[e\d+,4\] = carried 0", made)
    x = rng.standard_normal((1, 3, 1, 4), np.float32)
    for trip in (0, 1, 6):
        (found,) = run_kernel(GROWING, x, np.array(trip))
        np.testing.assert_array_equal(found, np.concatenate([x, *[x[:, :1]] * trip], 1))


@pytest.mark.parametrize("outer", [0, 1, 2])
@pytest.mark.parametrize("trip", [0, 1, 5])
def test_batches_that_grow_and_shrink(outer, trip):
    """A state of one batch gains a row or loses the rows below a bound, in a loop in a loop."""
    text = """g (int64 m, int64 n, float[1, 3, 2] s) => (float[1, last, 2] t, float[1, kept, 2] u) {
      t, u = Loop (m, "", s, s) <body = a (int64 j, bool p, float[1, L, 2] v, float[1, K, 2] w)
        => (bool po, float[1, L2, 2] vo, float[1, K2, 2] wo) {
        po = Identity (p)
        vo, wo = Loop (n, "", v, w) <body = b (int64 i, bool c, float[1, A, 2] x, float[1, B, 2] y)
          => (bool co, float[1, A2, 2] xo, float[1, B2, 2] yo) {
          co = Identity (c)
          zero = Constant <value_ints = [0]> ()
          one = Constant <value_ints = [1]> ()
          flat = Squeeze (x, zero)
          row = Slice (flat, zero, one, zero)
          twice = Add (row, row)
          longer = Concat <axis = 0> (flat, twice)
          xo = Unsqueeze (longer, zero)
          rows = Squeeze (y, zero)
          sums = ReduceSum <keepdims = 0> (rows, one)
          bound = Cast <to = 1> (i)
          above = Greater (sums, bound)
          which = NonZero (above)
          list = Squeeze (which, zero)
          few = Gather <axis = 0> (rows, list)
          yo = Unsqueeze (few, zero)
        }>
      }>
    }"""
    s = np.array([[[1, 2], [0, 1], [3, 4]]], np.float32)
    both(text, {"m": np.array(outer), "n": np.array(trip), "s": s})


STACKED = """kernel
  %0: float32[2,300] = input 0
  %1: int64[] = constant 5
  %2 = loop trip %1 extent 5 carries %3 = %0
    %3: float32[2,300] = carried 0
    %4: float32[300] = view (0, i0) of %3
    %5: float32[300] = view ({second}, i0) of %3
    %6: float32[300] = add %4, %5
    %7: float32[1,300] = view (i1) of %5
    %8: float32[1,300] = view (i1) of %6
    %9: float32[2,300] = concat along 0 %7, %8
    yield %9
  %10: float32[2,300] = result 0 of %2
  return %10
"""


def test_stacked_values_are_carried_one_by_one():
    made = canonical_text(STACKED.format(second=1))
    assert made.count(": float32[300] = carried") == 2
    assert "float32[2,300] = carried" not in made


def test_a_window_over_both_parts_keeps_them_together():
    kept = STACKED.replace("float32[300] = view ({second}, i0)", "float32[2] = view (i0, 3)")
    kept = kept.replace("add %4, %5", "add %4, %4").replace("view (i1) of %5", "view (i1) of %4")
    kept = kept.replace("yield %9", "yield %9\n    stack %5 along 0")
    kept = kept.replace("return %10", "%11: float32[5,2] = result 1 of %2\n  return %10, %11")
    assert "float32[2,300] = carried 0" in canonical_text(kept)


def text_of_take(index: str, trip: int) -> str:
    return f"""kernel
  %0: float32[8,3] = input 0
  %1: float32[3] = input 1
  %2: int64[] = constant {trip}
  %3: int64[] = constant 2
  %4: int64[] = constant 7
  %5 = loop trip %2 extent {trip} carries %6 = %1
    %7: int64[] = induction variable
    %6: float32[3] = carried 0
    %8: int64[] = {index}
    %9: float32[3] = take along 0 of %0, %8
    %10: float32[3] = add %6, %9
    yield %10
  %11: float32[3] = result 0 of %5
  return %11
"""


@pytest.mark.parametrize(
    ("index", "trip", "is_slice"),
    [
        ("add %7, %3", 6, True),
        ("add %7, %3", 7, False),
        ("sub %4, %7", 8, True),
        ("sub %4, %7", 5, True),
        ("sub %4, %7", 9, False),
        ("sub %7, %3", 4, False),
        ("mul %7, %3", 4, False),
        ("add %7, %7", 4, False),
    ],
)
def test_rows_taken_by_the_iteration_are_slices(index, trip, is_slice):
    made = canonical_text(text_of_take(index, trip))
    assert ("scan slice" in made, "take along" in made) == (is_slice, not is_slice)


def both(text: str, feed: dict[str, np.ndarray]) -> None:
    """Native code and interp give the same."""
    found = treadle.InferenceSession(HEAD + text, engines=("jit", "interp")).run(None, feed)
    wanted = treadle.InferenceSession(HEAD + text, engines=("interp",)).run(None, feed)
    for one, other in zip(found, wanted, strict=True):
        assert (np.shape(one), np.asarray(one).dtype) == (
            np.shape(other),
            np.asarray(other).dtype,
        )
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("trip", "index"),
    [
        (0, "Identity (i)"), (6, "Identity (i)"), (1, "Add (i, two)"), (4, "Add (i, two)"),
        (6, "Add (i, two)"), (3, "Sub (five, i)"), (6, "Sub (five, i)"), (4, "Sub (i, two)"),
        (3, "Cast <to = 6> (i)"),
    ],
)  # fmt: skip
def test_rows_by_the_iteration_number(trip, index):
    """Also where a row is beyond the last: then both engines say so, or both count from the end."""
    text = f"""g (float[6, 3] x, float[3] s) => (float[3] r) {{
      n = Constant <value = int64 {{{trip}}}> ()
      two = Constant <value = int64 {{2}}> ()
      five = Constant <value = int64 {{5}}> ()
      r = Loop (n, "", s) <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] o) {{
        d = Identity (c)
        k = {index}
        row = Gather (x, k)
        twice = Add (a, a)
        o = Add (twice, row)
      }}>
    }}"""
    feed = {"x": np.arange(18, dtype=np.float32).reshape(6, 3), "s": np.ones(3, np.float32)}
    if trip == 6 and index == "Add (i, two)":
        with pytest.raises(treadle.TreadleError):
            both(text, feed)
    else:
        both(text, feed)


@pytest.mark.parametrize("fed", [0, 6, 7])
def test_rows_by_the_iteration_number_of_a_fed_trip_count(fed):
    text = """g (int64 n, float[6, 3] x, float[3] s) => (float[3] r, float[m, 3] all) {
      r, all = Loop (n, "", s) <body = b (int64 i, bool c, float[3] a)
          => (bool d, float[3] o, float[3] p) {
        d = Identity (c)
        row = Gather (x, i)
        o = Add (a, row)
        p = Identity (o)
      }>
    }"""
    feed = {
        "n": np.array(fed, np.int64),
        "x": np.arange(18, dtype=np.float32).reshape(6, 3), "s": np.ones(3, np.float32),
    }  # fmt: skip
    if fed > 6:
        with pytest.raises(treadle.TreadleError):
            both(text, feed)
    else:
        both(text, feed)


@pytest.mark.parametrize(
    ("dtype", "trip"), [("float", 0), ("float", 5), ("double", 1), ("uint8", 5), ("bool", 2)]
)
def test_states_in_one_tensor(dtype, trip):
    op = "Xor" if dtype == "bool" else "Add"
    text = f"""g ({dtype}[2, 1, 40] s) => ({dtype}[2, 1, 40] r) {{
      n = Constant <value = int64 {{{trip}}}> ()
      r = Loop (n, "", s) <body = b (int64 i, bool c, {dtype}[2, 1, 40] st)
          => (bool d, {dtype}[2, 1, 40] o) {{
        d = Identity (c)
        a, b = Split <axis = 0, num_outputs = 2> (st)
        sum = {op} (a, b)
        o = Concat <axis = 0> (b, sum)
      }}>
    }}"""
    numbers = {"float": np.float32, "double": np.float64, "bool": np.bool_}
    kind = numbers.get(dtype, dtype)
    both(text, {"s": (np.arange(80).reshape(2, 1, 40) % 3).astype(kind)})


@pytest.mark.parametrize("going", [False, True])
def test_a_loop_with_an_early_exit_keeps_its_carried_values(going):
    text = """g (bool go, float[1, 40] s, float[3, 3] w) => (float[1, 40] r, float[3, 3] v) {
      n = Constant <value = int64 {9}> ()
      r, v = Loop (n, go, s, w) <body = b (int64 i, bool c, float[1, 40] st, float[3, 3] u)
          => (bool d, float[1, 40] o, float[3, 3] same) {
        zero = Constant <value = int64[1] {0}> ()
        three = Constant <value = int64 {3}> ()
        d = Less (i, three)
        flat = Squeeze (st, zero)
        more = Add (flat, flat)
        o = Unsqueeze (more, zero)
        same = Identity (u)
      }>
    }"""
    feed = {
        "go": np.array(going), "s": np.arange(40, dtype=np.float32)[None],
        "w": np.eye(3, dtype=np.float32),
    }  # fmt: skip
    both(text, feed)


@pytest.mark.parametrize("dtype", ["float", "int32", "bool"])
def test_a_choice_by_a_branch(dtype):
    op = "Or" if dtype == "bool" else "Add"
    text = f"""g (bool[7] q, {dtype}[7] x, {dtype} s) => ({dtype} r, {dtype}[7] y) {{
      r, y = Scan <num_scan_inputs = 2, body = b ({dtype} st, bool k, {dtype} xi)
          => ({dtype} o, {dtype} z) {{
        o = If (k) <
          then_branch = t () => ({dtype} one) {{ one = {op} (st, xi) }},
          else_branch = e () => ({dtype} two) {{ two = Identity (st) }}>
        z = Identity (o)
      }}> (s, q, x)
    }}"""
    kind = {"float": np.float32, "bool": np.bool_}.get(dtype, dtype)
    feed = {
        "q": np.array([1, 0, 0, 1, 1, 0, 1], bool), "x": np.arange(7).astype(kind),
        "s": np.array(1).astype(kind),
    }  # fmt: skip
    both(text, feed)


@pytest.mark.parametrize(
    ("shape", "ones"),
    [((1, 1, 4), 0), ((1, 3, 4), 1), ((5, 1, 4), 0), ((4,), 2), ((1, 4), 1), ((0, 1, 4), 0)],
)
def test_products_of_rows_in_tensors_of_any_rank(shape, ones, rng):
    matrix = (*(1,) * ones, 4, 6)
    text = f"""g (float{list(shape)} x, float{list(matrix)} w, float s) => (float r) {{
      n = Constant <value = int64 {{2}}> ()
      r = Loop (n, "", s) <body = b (int64 i, bool c, float a) => (bool d, float o) {{
        d = Identity (c)
        y = Mul (x, a)
        p = MatMul (y, w)
        o = ReduceSum <keepdims = 0> (p)
      }}>
    }}"""
    both(text, {
        "x": rng.random(shape).astype(np.float32), "w": rng.random(matrix).astype(np.float32),
        "s": np.array(0.1, np.float32),
    })  # fmt: skip
