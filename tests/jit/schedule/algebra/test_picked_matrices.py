"""Products with matrices that indices pick, each of which is read where it is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.ir import MatMul, Take
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.picked_matrices import with_picked_matrices
from treadle.jit.schedule.canonical import canonical
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.toolchain.llvm import host_target

EXPERTS = """kernel
  %x: float32[n0,BATCH,1,40] = input 0
  %w: float32[5,40,32] = input 1
  %picked: int64[n0,2] = input 2
  %1 = loop length n0 extent n0
    %item: float32[BATCH,1,40] = scan slice along 0 of %x
    %index: int64[2] = scan slice along 0 of %picked
    %both: float32[2,40,32] = take along 0 of %w, %index
    %y: float32[2,1,32] = matmul %item, %both
    stack %y along 0
  %all: float32[n0,2,1,32] = result 0 of %1
  return %all"""


def counts(text):
    nodes = list(all_nodes(with_picked_matrices(kernel_of(text)).main))
    return [sum(isinstance(node.op, op) for node in nodes) for op in (Take, MatMul)]


@pytest.mark.parametrize("batch", [1, 2])
def test_each_matrix_has_a_product_that_reads_it_in_place(batch, rng):
    text = EXPERTS.replace("BATCH", str(batch))
    assert counts(text) == [2, 2]
    made = schedule_kernel(canonical(kernel_of(text)), host_target())
    assert len(made.storage.in_place) == 2
    x = rng.integers(-9, 9, (6, batch, 1, 40)).astype(np.float32)
    w = rng.integers(-9, 9, (5, 40, 32)).astype(np.float32)
    picked = rng.integers(-5, 5, (6, 2))
    (found,) = run_kernel(text, x, w, picked)
    np.testing.assert_array_equal(found, np.matmul(x, w[picked]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("40", "20"),
        ("stack %y along 0", "stack %y along 0\n    stack %both along 0"),
        ("%y: float32[2,1,32] = matmul %item, %both",
         "%more: float32[2,40,32] = add %both, %both\n"
         "    %y: float32[2,1,32] = matmul %item, %more"),
    ],
)  # fmt: skip
def test_small_matrices_and_those_with_other_readers_stay_together(old, new):
    assert counts(EXPERTS.replace("BATCH", "1").replace(old, new)) == [1, 1]


def test_an_index_out_of_range_fails_as_before(rng):
    text = EXPERTS.replace("BATCH", "1")
    x, w = rng.random((3, 1, 1, 40), np.float32), rng.random((5, 40, 32), np.float32)
    picked = np.array([[0, 1], [2, 5], [0, 0]])
    with pytest.raises(Exception, match="out of range"):
        run_kernel(text, x, w, picked)
