"""Elements of rows that a loop takes: elements of the matrix."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import canonical_text, run_kernel
from treadle.plan.run import FallbackRequired

WALK = """kernel
  %n: int64[] = input 0
  %bits: int64[40] = input 1
  %tree: int32[5,3] = input 2
  %start: int64[] = input 3
  %zero: int64[] = constant 0
  %e as e0: int64[] = max %n, %zero
  %1 = loop trip %n extent e0 carries %s = %start
    %i: int64[] = induction variable
    %s: int64[] = carried 0
    %bit: int64[] = take along 0 of %bits, %i
    %row: int32[3] = take along 0 of %tree, %s
    %x: int32[] = take along 0 of %row, %bit
    %t: int64[] = cast %x
    yield %t
    stack %x along 0
  %last: int64[] = result 0 of %1
  %all: int32[e0] = result 1 of %1
  return %last, %all"""
TREE = np.array([[1, 2, -1], [3, 4, 0], [0, -2, 1], [2, 0, 4], [-5, 3, 2]], np.int32)


def walked(count: int, bits: np.ndarray, start: int) -> tuple[int, list[int]]:
    node, found = start, []
    for bit in bits[:count]:
        node = int(TREE[node, bit])
        found.append(node)
    return node, found


@pytest.mark.parametrize("count", [0, 1, 40])
@pytest.mark.parametrize("start", [0, 4, -1, -5])
def test_a_walk_through_a_tree(count, start, rng):
    text = canonical_text(WALK)
    assert "gather (at 0, at 1) of" in text
    bits = rng.integers(-3, 3, 40)
    for given in (WALK, text):
        last, found = run_kernel(given, count, bits, TREE, start)
        wanted = walked(count, bits, start)
        assert int(last) == wanted[0]
        np.testing.assert_array_equal(found, np.array(wanted[1], np.int32))


@pytest.mark.parametrize(("start", "bit"), [(5, 0), (-6, 0), (0, 3), (0, -4)])
def test_an_index_out_of_range_fails(start, bit):
    with pytest.raises(FallbackRequired, match="out of range"):
        run_kernel(canonical_text(WALK), 1, np.full(40, bit), TREE, start)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%t: int64[] = cast %x", "%m: int32[] = reduce max over (0) of %row\\n"
         "    %t: int64[] = cast %m"),
        ("%row: int32[3] = take along 0 of %tree, %s",
         "%k: int64[1] = view () of %s\\n    %rows: int32[1,3] = take along 0 of %tree, %k\\n"
         "    %row: int32[3] = view (0, i0) of %rows"),
    ],
)  # fmt: skip
def test_rows_that_are_read_otherwise_stay(old, new):
    assert "gather" not in canonical_text(WALK.replace(old, new.replace("\\n", "\n")))
