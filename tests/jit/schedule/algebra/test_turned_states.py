"""Values carried transposed, in more bits or in parts: carried as the body computes them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, kernel_of, run_kernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.verifier import verify_kernel
from treadle.jit.schedule.algebra.joined_states import with_joined_states
from treadle.jit.schedule.carried_forms import with_simple_carried_values

TURNED = """kernel
  %n: int64[] = input 0
  %s0: float32[3,5] = input 1
  %x: float32[5,3] = input 2
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %s0
    %s: float32[3,5] = carried 0
    %t: float32[5,3] = view (i1, i0) of %s
    %u: float32[5,3] = add %t, %x
    %v: float32[5,3] = mul %u, %t
    %next: float32[3,5] = view (i1, i0) of %v
    yield %next
  %last: float32[3,5] = result 0 of %1
  return %last"""


def simple(text: str) -> str:
    """The kernel with its carried values in their simplest forms, as text."""
    made = with_simple_carried_values(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_transposed_value_is_carried_as_it_is_computed(count, rng):
    assert "float32[5,3] = carried 0" in simple(TURNED)
    s, x = (rng.integers(-3, 3, shape).astype("f") for shape in ((3, 5), (5, 3)))
    (found,) = run_kernel(TURNED, count, s, x)
    for _ in range(count):
        s = ((s.T + x) * s.T).T
    np.testing.assert_array_equal(found, s)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%next: float32[3,5] = view (i1, i0) of %v", "%next: float32[3,5] = view (i1, 0) of %v"),
        ("%next: float32[3,5] = view (i1, i0) of %v",
         "%w: float32[3,5] = view (i1, i0) of %v\n    %next: float32[3,5] = add %w, %s"),
        ("    yield %next", "    yield %next\n    stack %s along 0"),
        ("kernel\n", "kernel limits_memory\n"),
    ],
)  # fmt: skip
def test_values_that_are_read_as_they_are_carried_stay(old, new):
    assert "float32[3,5] = carried 0" in simple(TURNED.replace(old, new))


WIDE = """kernel
  %n: int64[] = input 0
  %s0: float64[4] = input 1
  %x: float32[4] = input 2
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %s0
    %s: float64[4] = carried 0
    %t: float32[4] = cast %s
    %u: float32[4] = mul %t, %x
    %next: float64[4] = cast %u
    yield %next
  %last: float64[4] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_value_in_more_bits_is_carried_in_those_it_is_computed_in(count, rng):
    assert "float32[4] = carried 0" in simple(WIDE)
    s, x = rng.standard_normal(4), rng.standard_normal(4).astype("f")
    (found,) = run_kernel(WIDE, count, s, x)
    for _ in range(count):
        s = (s.astype("f") * x).astype("d")
    np.testing.assert_array_equal(found, s)
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    yield %next", "    yield %next\n    stack %s along 0"),
        ("%next: float64[4] = cast %u", "%w: float64[4] = cast %u\n    %next: float64[4] = neg %w"),
        ("float32[4] = cast %s", "float32[4] = cast %s\n    %k: float16[4] = cast %s"),
    ],
)  # fmt: skip
def test_values_whose_first_bits_count_stay(old, new):
    text = WIDE.replace(old, new)
    if "%k" in new:
        text = text.replace("yield %next", "yield %next\n    stack %k along 0")
    assert "float64[4] = carried 0" in simple(text)


def test_all_bits_may_be_read_where_the_first_value_has_few():
    text = WIDE.replace(
        "%s0: float64[4] = input 1", "%r: float32[4] = input 1\n  %s0: float64[4] = cast %r"
    )
    text = text.replace("    yield %next", "    yield %next\n    stack %s along 0")
    assert "float32[4] = carried 0" in simple(text)


PARTS = """kernel
  %n: int64[] = input 0
  %a0: int64[2] = input 1
  %b0: int64[3] = input 2
  %at: int64[9] = input 3
  %c0: int64[] = input 4
  %1 = loop length 9 extent 9 carries %a = %a0, %c = %c0, %b = %b0
    %a: int64[2] = carried 0
    %c: int64[] = carried 1
    %b: int64[3] = carried 2
    %k: int64[] = scan slice along 0 of %at
    %whole: int64[5] = concat along 0 %a, %b
    %old: int64[] = take along 0 of %whole, %k
    %d: int64[] = max %c, %old
    %e: int64[1] = view () of %d
    %f: int64[1] = view () of %k
    %made: int64[5] = scatter (at 0) into %whole, %e, %f
    %p: int64[2] = view (i0) of %made
    %q: int64[3] = view (i0+2) of %made
    yield %p, %d, %q
  %x: int64[2] = result 0 of %1
  %y: int64[] = result 1 of %1
  %z: int64[3] = result 2 of %1
  return %x, %y, %z"""


def joined(text: str) -> str:
    """The kernel with parts of one value carried as it, as text."""
    made = with_joined_states(kernel_of(text))
    verify_kernel(made)
    return show_kernel(made)


def test_parts_of_one_value_are_carried_as_it(rng):
    made = joined(PARTS)
    assert "int64[5] = carried 1" in made
    assert "carried 2" not in made
    assert canonical_text(PARTS).count("carried") == 2
    a, b, at = rng.integers(0, 9, 2), rng.integers(0, 9, 3), rng.integers(0, 5, 9)
    found = run_kernel(PARTS, 0, a, b, at, 1)
    whole, c = np.concatenate([a, b]), 1
    for k in at:
        c = max(c, whole[k])
        whole[k] = c
    for one, other in zip(found, (whole[:2], c, whole[2:]), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%a, %b\n", "%b, %a\n"),
        ("(i0+2) of %made", "(i0+1) of %made"),
        ("(i0+2) of %made", "(i0+2) of %whole"),
        ("concat along 0 %a, %b", "concat along 0 %a, %b0"),
        ("kernel\n", "kernel limits_memory\n"),
    ],
)
def test_other_parts_stay(old, new):
    assert "carried 2" in joined(PARTS.replace(old, new, 1))


GROWING = """kernel
  %one: int64[] = constant 1
  %n: int64[] = constant 4
  %g0: float32[1,2] = input 0
  %a0: float32[1,1] = input 1
  %b0: float32[1,1] = input 2
  %1 = loop trip %n extent 4 carries %a = %a0, %b = %b0, %g = %g0
    %a: float32[1,1] = carried 0
    %b: float32[1,1] = carried 1
    %d as e0: int64[] = dim 0 of value 2
    %g: float32[e0,2] = carried 2
    %whole: float32[1,2] = concat along 1 %a, %b
    %more as e1: int64[] = add %d, %one
    %made: float32[e1,2] = concat along 0 %g, %whole
    %next: float32[1,2] = tanh %whole
    %p: float32[1,1] = view (i0, i1) of %next
    %q: float32[1,1] = view (i0, i1+1) of %next
    yield %p, %q, %made
  %x: float32[1,1] = result 0 of %1
  return %x"""


def test_extents_of_other_values_have_their_new_number():
    assert "dim 0 of value 0" in joined(GROWING)
