"""Where each operation of the kernel IR reads its operands."""

from collections.abc import Iterator

import pytest

from tests.jit.kernel_text import kernel_of, names_of
from treadle.jit.kernel.ir import Node
from treadle.jit.schedule.access import composed, show_access
from treadle.jit.schedule.op_accesses import accesses_of

TEXT = """kernel
  %a: float32[6,4] = input 0
  %b: float32[4] = input 1
  %k: int64[] = input 2
  %w: float32[4,5] = input 3
  %m: int64[3] = input 4
  %u: float32[6,2] = input 5
  %one: int64[] = constant 1
  %1 = loop length 6 extent 6 carries %s = %a
    %s: float32[6,4] = carried 0
    %i: int64[] = induction variable
    %j: int64[] = add %i, %one
    %row: float32[4] = scan slice along 0 of %a
    %last: float32[4] = scan slice along 0 from the last of %a
    %sum: float32[6,4] = add %s, %b
    %part: float32[5,4] = view (i0+1, i1) of %s
    %turned: float32[4,6] = view (i1, i0) of %s
    %back: float32[6,4] = view (-1*i0+5, i1) of %s
    %both: float32[12,4] = concat along 0 %s, %a
    %most: float32[6] = reduce max over (1) of %s
    %kept: float32[6,1] = reduce max over (1) of %s
    %wide: float32[6,4] = sub %s, %kept
    %product: float32[6,5] = matmul %s, %w
    %running: float32[6,4] = cumulative add along 1 of %s
    %next_row: float32[4] = take along 0 of %a, %j
    %any_row: float32[4] = take along 0 of %a, %k
    %rows: float32[3,4] = take along 0 of %a, %m
    %flat: float32[24] = reshape %s
    %split: float32[2,3,4] = reshape %s
    %put: float32[6,4] = scatter (i0, i1+2) into %s, %u
    yield %put
  %result: float32[6,4] = result 0 of %1
  return %result"""

WANTED = {
    "row": "(t1, i0)",
    "last": "(-t1+5, i0)",
    "sum": "(i0, i1) (i1)",
    "part": "(i0+1, i1)",
    "turned": "(i1, i0)",
    "back": "(-i0+5, i1)",
    "both": "(i0, i1) (i0-6, i1)",
    "most": "(i0, *)",
    "kept": "(i0, *)",
    "wide": "(i0, i1) (i0, 0)",
    "product": "(i0, *) (*, i1)",
    "running": "(i0, *)",
    "next_row": "(t1+1, i0) ()",
    "any_row": "(?, i0) ()",
    "rows": "(?, i1) (i0)",
    "flat": "(?, ?)",
    "split": "(3*i0+i1, i2)",
    "put": "(i0, i1) (i0, i1-2)",
}


@pytest.fixture(scope="module")
def nodes() -> Iterator[dict[str, Node]]:
    """The nodes of the kernel by their names."""
    kernel = kernel_of(TEXT)
    yield {name: node for node, name in names_of(TEXT, kernel).items()}
    del kernel  # which holds the blocks of the nodes


@pytest.mark.parametrize("name", WANTED)
def test_accesses(nodes: dict[str, Node], name: str) -> None:
    assert " ".join(map(show_access, accesses_of(nodes[name]))) == WANTED[name]


@pytest.mark.parametrize(
    ("outer", "inner", "wanted"),
    [
        ("part", "back", "(-i0+4, i1)"),
        ("turned", "part", "(i1+1, i0)"),
        ("most", "back", "(-i0+5, *)"),
        ("any_row", "part", "(?, i0)"),
        ("next_row", "back", "(-t1+4, i0)"),
    ],
)
def test_accesses_compose(nodes: dict[str, Node], outer: str, inner: str, wanted: str) -> None:
    """`outer` reads something of which `inner` is the view."""
    (first, *_), (second, *_) = accesses_of(nodes[outer]), accesses_of(nodes[inner])
    assert show_access(composed(first, second)) == wanted
