"""Nodes that are computed where they are read, so that nests fuse."""

import pytest

from tests.jit.kernel_text import kernel_of, names_of
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
