"""Reductions that run in the nest that computes their operand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of
from tests.jit.native import check
from treadle.jit.kernel.ir import MatMul, Reduce
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.reductions.row_products import with_row_products
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.toolchain.llvm import host_target

KERNEL = """kernel
  %x: float32[9,64] = input 0
  %s: float32[32,64] = input 1
  %w: float32[32,1] = input 2
  %1 = loop length 9 extent 9 carries %m = %s
    %m: float32[32,64] = carried 0
    %u: float32[64] = scan slice along 0 of %x
    %n: float32[32,64] = add %m, %u
    LINES
    yield %n
    stack %y along 0
  %2: float32[32,64] = result 0 of %1
  %3: float32[9,COUNT] = result 1 of %1
  return %2, %3"""


@pytest.mark.parametrize(
    ("lines", "count", "wanted"),
    [
        ("%t: float32[32,64] = mul %n, %w; %y: float32[64] = reduce add over (0) of %t", 64, True),
        ("%t: float32[32,64] = mul %n, %w; %y: float32[32] = reduce add over (1) of %t", 32, True),
        ("%y: float32[32] = reduce max over (1) of %n", 32, True),
        ("%r: float32[32,64] = view (31-i0, i1) of %n; %t: float32[32,64] = mul %n, %r;"
         " %y: float32[64] = reduce add over (0) of %t", 64, False),
        ("%r: float32[16,64] = view (i0, i1) of %n; %y: float32[64] = reduce add over (0) of %r",
         64, False),
        ("%y: float32[64] = reduce add over (0) of %m", 64, False),
    ],
    ids=["rows", "columns", "itself", "reversed rows", "some rows", "the old value"],
)  # fmt: skip
def test_reductions_in_nests(lines: str, count: int, wanted: bool) -> None:
    text = KERNEL.replace("LINES", lines.replace("; ", "\n    ")).replace("COUNT", str(count))
    kernel = kernel_of(text)
    (y,) = (node for node, name in names_of(text, kernel).items() if name == "y")
    made = schedule_kernel(kernel, host_target())
    assert (y in made.epilogues.values()) is wanted


@pytest.mark.parametrize(
    ("lines", "count", "wanted"),
    [
        ("%r: float32[1,32] = view (0, i1) of %row; %p: float32[1,64] = matmul %r, %n;"
         " %y: float32[64] = view (0, i0) of %p", 64, (0, 1)),
        ("%c: float32[64,1] = view (i0) of %u; %p: float32[32,1] = matmul %n, %c;"
         " %y: float32[32] = view (i0, 0) of %p", 32, (0, 1)),
        ("%r: float32[2,32] = view (0, i1) of %row; %p: float32[2,64] = matmul %r, %n;"
         " %y: float32[64] = view (1, i0) of %p", 64, (1, 0)),
        ("%r: float32[1,32] = view (0, i1) of %row; %p: float32[1,64] = matmul %r, %m;"
         " %y: float32[64] = view (0, i0) of %p", 64, (1, 0)),
    ],
    ids=["a row", "a column", "two rows", "a carried matrix"],
)  # fmt: skip
def test_products_with_computed_matrices(lines: str, count: int, wanted: tuple[int, int]) -> None:
    head = KERNEL.replace("%w: float32[32,1] = input 2", "%row: float32[1,32] = input 2")
    text = head.replace("LINES", lines.replace("; ", "\n    ")).replace("COUNT", str(count))
    nodes = all_nodes(with_row_products(kernel_of(text)).main)
    found = (sum(isinstance(node.op, kind) for node in nodes) for kind in (MatMul, Reduce))
    assert tuple(found) == wanted


ATTENTION = """g (float[T,H,K] q, float[T,H,K] k, float[T,H,N] v, float[T,H,K] d, float[H,K,N] s0)
  => (float[H,K,N] s, float[T,H,N] y, float[T,H,K] z) {
  rows = Constant <value_ints = [2]> ()
  heads = Constant <value_ints = [1]> ()
  s, y, z = Scan <num_scan_inputs = 4, body = b (float[H,K,N] S, float[H,K] qi, float[H,K] ki,
    float[H,N] vi, float[H,K] di) => (float[H,K,N] S2, float[H,N] o, float[H,K] w) {
    e = Unsqueeze (di, rows)
    D = Mul (S, e)
    kr = Unsqueeze (ki, heads)
    found = MatMul (kr, D)
    v1 = Unsqueeze (vi, heads)
    r = Sub (v1, found)
    kc = Unsqueeze (ki, rows)
    U = Mul (kc, r)
    S2 = Add (D, U)
    qr = Unsqueeze (qi, heads)
    read = MatMul (qr, S2)
    o = Squeeze (read, heads)
    rc = Transpose <perm = [0, 2, 1]> (v1)
    c = MatMul (S2, rc)
    w = Squeeze (c, rows)
  }> (s0, q, k, v, d)
}"""


@pytest.mark.parametrize("trips", [0, 1, 7])
@pytest.mark.parametrize("shape", [(2, 64, 64), (1, 16, 32), (3, 33, 17), (1, 40, 100)])
def test_linear_attention(trips: int, shape: tuple[int, int, int], rng: np.random.Generator):
    heads, inner, columns = shape
    sizes = {"q": inner, "k": inner, "v": columns, "d": inner}
    feed = {
        name: rng.uniform(-0.3, 0.3, (trips, heads, size)).astype(np.float32)
        for name, size in sizes.items()
    }
    feed["s0"] = rng.uniform(-1, 1, shape).astype(np.float32)
    check(ATTENTION, feed)
