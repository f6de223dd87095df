"""Nodes that are computed where they are read, so that nests fuse."""

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, names_of, run_kernel
from treadle.jit.kernel.ir import CarriedArg
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.storage import Storage, assign_storage

HEAD = """
kernel
  %x: float32[64,70] = input 0
  %w: float32[70,64] = input 1
  """


def inline(lines: str) -> str:
    """The names of the nodes that are computed where they are read, in order."""
    text = HEAD + lines.replace("; ", "\n  ")
    kernel = kernel_of(text)
    kept, names = assign_storage(kernel).storage_of, names_of(text, kernel)
    return " ".join(name for node, name in names.items() if kept.get(node) is Storage.INLINE)


SUM = "%b: float32[64] = reduce add over (1) of %a"
MAX = "%c: float32[64] = reduce max over (1) of %a"
FEW = "%n: float32[70,64] = neg %w; %a: float32[10,7,64] = reshape %n"
FEW_MAX = "%b: float32[10,64] = reduce max over (1) of %e"
APART = "%e: float32[10,7,64] = neg %a"
FEW_SUM = "%d: float32[64] = reduce add over (0) of %c"
TWICE = "%d: float32[10,64] = reduce add over (1) of %e"


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (f"%a: float32[64,70] = neg %x; {SUM}; return %b", "a"),
        (f"%n: float32[64,70] = neg %x; %a: float32[64,70] = abs %n; {SUM}; return %b", "n a"),
        (f"%a: float32[64,70] = neg %x; {SUM}; %c: float32[64,70] = abs %a; return %b, %c", ""),
        (f"%a: float32[64,70] = neg %x; {SUM}; return %a, %b", ""),
        (f"%a: float32[64,70] = neg %x; {SUM}; {MAX}; return %b, %c", ""),
        (f"%n: float32[64,70] = neg %x; %a: float32[64,70] = mul %n, %n; {SUM}; return %b", "n a"),
        (
            f"{FEW}; {APART}; {FEW_MAX}; %c: float32[10,64] = neg %b; {FEW_SUM}; return %d",
            "a e b c",
        ),
        (f"{FEW}; {APART}; {FEW_MAX}; return %b", "a e"),
        (f"{FEW}; {APART}; {FEW_MAX}; {TWICE}; return %b, %d", "a e"),
        (f"{FEW}; {APART.replace('neg', 'tanh')}; {FEW_MAX}; {TWICE}; return %b, %d", "a"),
        ("%a: float32[64,70] = neg %x; %b: float32[64,64] = matmul %a, %w; return %b", ""),
        (
            "%a: float32[32,70] = view (i0, i1) of %x; %b: float32[32,70] = view (i0+32, i1) of %x;"
            " %c: float32[64,70] = concat along 0 %a, %b; %d: float32[64,70] = neg %c; return %d",
            "a b c",
        ),
        (
            "%a: float32[1,16] = view (i0, i1) of %x; %b: float32[64,16] = view (i0, i1) of %x;"
            " %c: float32[64,16] = sub %b, %a; return %c",
            "a b",
        ),
        ("%a: float32[1,16] = view (i0, i1) of %x; %b: float32[1,16] = neg %a; return %b", ""),
    ],
    ids=[
        "what a sum reads is computed in its nest",
        "and what that reads",
        "a value with two readers is not",
        "nor is a result",
        "nor for two long sums",
        "a square has one reader",
        "a reduction over few elements is, for its only reader",
        "its operand is computed for each of its terms",
        "for two such reductions in both of them",
        "unless it is a long function",
        "nor an operand of a product",
        "a concat is read piece by piece",
        "a small view that a nest reads",
        "but not one that few elements read",
    ],
)
def test_fusion(lines: str, wanted: str) -> None:
    assert inline(lines) == wanted


def test_a_long_chain_of_long_functions_is_not_fused() -> None:
    chain = "; ".join(f"%{k + 1}: float32[64,70] = tanh %{k}" for k in range(5))
    lines = f"%0: float32[64,70] = neg %x; {chain}; %a: float32[64,70] = neg %5; {SUM}; return %b"
    fused = inline(lines).split()
    assert fused
    assert "1" not in fused


TAKEN = """
kernel
  %x: float32[70] = input 0
  %i: int64[64,3] = input 1
  %a: float32[64,3] = take along 0 in range of %x, %i
  %b: float32[64,3] = neg %a
  return %b"""


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("in range", "in range", "a"),
        ("in range ", "", ""),  # a check may fail, and is made once
        ("return %b", "return %a, %b", ""),
        ("return %b", "%c: float32[64,3] = abs %a\n  return %b, %c", ""),
        ("%b: float32[64,3] = neg %a", "%b: float32[64] = reduce max over (1) of %a", ""),
        (
            "%b: float32[64,3] = neg %a",
            "%y: float32[2,64,3] = input 2\n  %b: float32[2,64,3] = add %y, %a",
            "",  # each is read twice
        ),
    ],
)
def test_elements_at_indices_in_range_are_taken_by_their_only_reader(
    old: str, new: str, wanted: str
) -> None:
    text = TAKEN.replace(old, new)
    kernel = kernel_of(text)
    kept, names = assign_storage(kernel).storage_of, names_of(text, kernel)
    found = " ".join(name for node, name in names.items() if kept.get(node) is Storage.INLINE)
    assert found == wanted


TABLE = """kernel
  %t0: int64[8] = input 0
  %x: int64[9] = input 1
  %1 = loop length 9 extent 9 carries %t = %t0
    %t: int64[8] = carried 0
    %i: int64[] = scan slice along 0 of %x
    %v: int64[] = take along 0 of %t, %i
    %w: int64[] = add %v, %i
    %w1: int64[1] = view () of %w
    %i1: int64[1] = view () of %i
    %u: int64[8] = scatter (at 0) into %t, %w1, %i1
    yield %u
  %last: int64[8] = result 0 of %1
  return %last"""


def test_a_table_that_is_updated_at_computed_indices_is_in_memory() -> None:
    kernel = kernel_of(TABLE)
    found = {
        name: assign_storage(kernel).storage_of[n] for n, name in names_of(TABLE, kernel).items()
    }
    assert found["t"] is found["u"] is Storage.BUFFER


def test_a_table_with_another_next_value_is_in_registers() -> None:
    text = TABLE.replace("yield %u", "%n: int64[8] = add %u, %i\n    yield %n")
    kernel = kernel_of(text)
    found = {
        name: assign_storage(kernel).storage_of[n] for n, name in names_of(text, kernel).items()
    }
    assert found["t"] is Storage.REGISTERS


@pytest.mark.parametrize(("count", "kind"), [(8, Storage.REGISTERS), (32, Storage.BUFFER)])
def test_a_table_in_a_loop_that_is_unrolled_is_in_registers(count: int, kind: Storage) -> None:
    text = TABLE.replace("length 9 extent 9", f"length {count} extent {count}")
    text = text.replace("%x: int64[9]", f"%x: int64[{count}]")
    text = text.replace(
        "    %v: int64[] = take", "    %k: int64[] = induction variable\n    %v: int64[] = take"
    )
    kernel = kernel_of(text.replace("view () of %i\n", "view () of %k\n"))
    states = [node for node in all_nodes(kernel.main) if isinstance(node.op, CarriedArg)]
    assert [assign_storage(kernel).storage_of[state] for state in states] == [kind]


ROWS = """kernel
  %x: float32[1,16] = input 0
  %w: float32[16,16] = input 1
  %n0: int64[8] = input 2
  %k: int64[8] = constant 1 1 1 1 1 1 1 1
  %1 = loop length 9 extent 9 carries %s = %x, %n = %n0
    %s: float32[1,16] = carried 0
    %n: int64[8] = carried 1
    %p: float32[1,16] = matmul %s, %w
    %2 = loop length 3 extent 3 carries %m = %n, %t = %p
      %m: int64[8] = carried 0
      %t: float32[1,16] = carried 1
      %m1: int64[8] = add %m, %k
      %t1: float32[1,16] = tanh %t
      yield %m1, %t1
    %m2: int64[8] = result 0 of %2
    %t2: float32[1,16] = result 1 of %2
    yield %t2, %m2
  %last: float32[1,16] = result 0 of %1
  %count: int64[8] = result 1 of %1
  return %last, %count"""


def test_rows_of_products_are_in_memory(rng: np.random.Generator) -> None:
    kernel = kernel_of(ROWS)
    kept, names = assign_storage(kernel).storage_of, names_of(ROWS, kernel)
    places = {name: kept.get(node) for node, name in names.items()}
    assert (places["s"], places["p"], places["n"]) == (
        Storage.BUFFER, Storage.BUFFER, Storage.REGISTERS,
    )  # fmt: skip
    x, w = rng.uniform(-1, 1, (1, 16)), rng.uniform(-0.3, 0.3, (16, 16))
    found = run_kernel(ROWS, x.astype(np.float32), w.astype(np.float32), np.arange(8))
    for _ in range(9):
        x = np.tanh(np.tanh(np.tanh(x @ w)))
    np.testing.assert_allclose(found[0], x, 1e-3, 1e-6)
    np.testing.assert_array_equal(found[1], np.arange(8) + 27)
