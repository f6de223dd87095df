"""Dependences of loops: a kernel as text in, a table out."""

import pytest

from tests.jit.kernel_text import kernel_of
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.access import own
from treadle.jit.schedule.dependence import dependence_of
from treadle.jit.schedule.dependence_text import dependence_lines

ELEMENTWISE = (
    """kernel
  %c: float32[8,4] = input 0
  %1 = loop length 6 extent 6 carries %z = %c, %n = %c
    %z: float32[8,4] = carried 0
    %n: float32[8,4] = carried 1
    %square: float32[8,4] = mul %z, %z
    %z1: float32[8,4] = add %square, %c
    %n1: float32[8,4] = max %n, %z1
    yield %z1, %n1
  %last: float32[8,4] = result 1 of %1
  return %last""",
    """
carried 0 float32[8,4]: other, reads 0 at (i0, i1), last read by mul
carried 1 float32[8,4]: max, reads 0 at (i0, i1), reads 1 at (i0, i1), last read by max
parallel: 0.0, 1.0
parallel: 0.1, 1.1""",
)

CELL = (
    """kernel
  %h0: float32[2,4] = input 0
  %x: float32[9,2,4] = input 1
  %u: float32[4,4] = input 2
  %1 = loop length 9 extent 9 carries %h = %h0
    %h: float32[2,4] = carried 0
    %item: float32[2,4] = scan slice along 0 of %x
    %hu: float32[2,4] = matmul %h, %u
    %sum: float32[2,4] = add %item, %hu
    %h1: float32[2,4] = tanh %sum
    yield %h1
    stack %h1 along 0
  %all: float32[9,2,4] = result 1 of %1
  return %all""",
    """
carried 0 float32[2,4]: other, reads 0 at (i0, *), last read by matmul
stack 0 float32[2,4]: reads 0 at (i0, *)
parallel: 0.0""",
)

STENCIL = (
    """kernel
  %x: float32[6,4] = input 0
  %1 = loop length 9 extent 9 carries %u = %x
    %u: float32[6,4] = carried 0
    %up: float32[4,4] = view (i0, i1) of %u
    %down: float32[4,4] = view (i0+2, i1) of %u
    %first: float32[1,4] = view (0, i1) of %u
    %end: float32[1,4] = view (5, i1) of %u
    %inner: float32[4,4] = add %up, %down
    %next: float32[6,4] = concat along 0 %first, %inner, %end
    yield %next
  %last: float32[6,4] = result 0 of %1
  return %last""",
    """
carried 0 float32[6,4]: other, reads 0 at (0, i1) (5, i1) (i0+1, i1) (i0-1, i1), last read by view
parallel: 0.1""",
)

GRID = (
    """kernel
  %r0: float32[9] = input 0
  %s: float32[7] = input 1
  %zero: float32[] = constant 0
  %1 = loop length 7 extent 7 carries %row = %r0
    %row: float32[9] = carried 0
    %a: float32[] = scan slice along 0 of %s
    %2 = loop length 9 extent 9 carries %left = %zero, %corner = %zero
      %left: float32[] = carried 0
      %corner: float32[] = carried 1
      %above: float32[] = scan slice along 0 of %row
      %near: float32[] = min %left, %above
      %least: float32[] = min %near, %corner
      %cell: float32[] = add %least, %a
      yield %cell, %above
      stack %cell along 0
    %next: float32[9] = result 2 of %2
    yield %next
  %last: float32[9] = result 0 of %1
  return %last""",
    """
carried 0 float32[9]: other, reads 0 at (*) (i0), last read by loop""",
)

ROWS_INSIDE = (
    """kernel
  %x: float32[3,8] = input 0
  %1 = loop length 5 extent 5 carries %s = %x
    %s: float32[3,8] = carried 0
    %zero: float32[3] = reduce add over (1) of %x
    %2 = loop length 8 extent 8 carries %t = %zero
      %t: float32[3] = carried 0
      %column: float32[3] = scan slice along 1 of %s
      %more: float32[3] = add %t, %column
      yield %more
      stack %more along 1
    %next: float32[3,8] = result 1 of %2
    yield %next
  %last: float32[3,8] = result 0 of %1
  return %last""",
    """
carried 0 float32[3,8]: other, reads 0 at (i0, *) (i0, i1), last read by loop
parallel: 0.0""",
)

SCALARS = (
    """kernel
  %a0: float32[] = input 0
  %x: float32[9] = input 1
  %1 = loop length 9 extent 9 carries %m = %a0, %best = %a0, %old = %a0, %same = %a0
    %m: float32[] = carried 0
    %best: float32[] = carried 1
    %old: float32[] = carried 2
    %same: float32[] = carried 3
    %v: float32[] = scan slice along 0 of %x
    %gap: float32[] = sub %v, %m
    %part: float32[] = mul %gap, %same
    %m1: float32[] = add %m, %part
    %best1: float32[] = max %best, %v
    yield %m1, %best1, %m, %same
  %last: float32[] = result 0 of %1
  return %last""",
    """
carried 0 float32[]: affine, reads 0 at (), reads 3 at (), last read by add
carried 1 float32[]: max, reads 1 at (), last read by max
carried 2 float32[]: replaced, reads 0 at ()
carried 3 float32[]: unchanged, reads 3 at (), last read by mul""",
)

CHOSEN = (
    """kernel
  %x: float32[6] = input 0
  %k: int64[2] = input 1
  %v: float32[2] = input 2
  %limit: float32[] = constant 9
  %1 = loop length 9 extent 9 carries %s = %x
    %s: float32[6] = carried 0
    %next: float32[6] = scatter (at 0) into %s, %v, %k
    %most: float32[] = reduce max over (0) of %s
    %goes: bool[] = less %most, %limit
    while %goes
    yield %next
  %last: float32[6] = result 0 of %1
  return %last""",
    """
carried 0 float32[6]: other, reads 0 at (i0), last read by max
condition: reads 0 at (*)""",
)

CASES = {
    "each element alone": ELEMENTWISE,
    "a batch of rows": CELL,
    "neighbours along one axis": STENCIL,
    "an inner loop along the row": GRID,
    "an inner loop along the columns": ROWS_INSIDE,
    "steps of scalars": SCALARS,
    "a condition that reads all": CHOSEN,
}


@pytest.mark.parametrize("name", CASES)
def test_dependences(name: str) -> None:
    text, wanted = CASES[name]
    kernel = kernel_of(text)
    loop = [node.op for node in all_nodes(kernel.main) if isinstance(node.op, Loop)][-1]
    assert "\n".join(dependence_lines(dependence_of(loop))) == wanted.strip()


def test_accesses() -> None:
    """The rows below and above, those at the border, and all of a row at its own index."""
    text, _ = STENCIL
    loop = next(n.op for n in all_nodes(kernel_of(text).main) if isinstance(n.op, Loop))
    (accesses,) = dependence_of(loop).of(loop.nexts[0]).values()
    assert {column for _, column in accesses} == {own(1)}
    rows = {row for row, _ in accesses}
    assert {own(0, 1), own(0, -1)} < rows
    assert all(row.is_constant for row in rows - {own(0, 1), own(0, -1)})
