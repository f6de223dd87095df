"""Nests that read a Concat are split so that each piece reads one operand."""

import pytest

from tests.jit.kernel_text import kernel_of, names_of
from treadle.jit.schedule.access import AffineIndex, show_access
from treadle.jit.schedule.index_set_splitting import (
    SplitPoint,
    SplitPoints,
    are_few,
    split_concats,
)

HEAD = """
kernel
  %top: float32[1,40] = input 0
  %x: float32[23,40] = input 1
  %side: float32[24,3] = input 2
  %z: float32[24,40] = input 3
  """


def pieces(lines: str) -> SplitPoints | None:
    """Where the nest of the node called `y` is cut along each axis."""
    text = HEAD + lines.replace("; ", "\n  ") + "\n  return %y"
    kernel = kernel_of(text)
    (node,) = (node for node, name in names_of(text, kernel).items() if name == "y")
    return split_concats([node], lambda operand: operand not in kernel.inputs)


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("%j: float32[24,40] = concat along 0 %top, %x; %y: float32[24,40] = neg %j",
         ((0, 1, 24), (0, 40))),
        ("%v: float32[24,37] = view (i0, i1) of %z; %j: float32[24,40] = concat along 1 %v, %side;"
         " %k: float32[24,40] = concat along 0 %top, %x; %y: float32[24,40] = add %j, %k",
         ((0, 1, 24), (0, 37, 40))),
        ("%y: float32[24,40] = neg %z", None),
        ("%j: float32[24,40] = concat along 0 %top, %x; "
         "%s: float32[40] = reduce add over (0) of %j; %y: float32[24,40] = add %z, %s", None),
    ],
    ids=["one concat", "two along different axes", "none", "one that another nest reads"],
)  # fmt: skip
def test_cuts(lines: str, wanted: SplitPoints | None) -> None:
    assert pieces(lines) == wanted


SHIFTED = """kernel
  %z: float32[24,40] = input 0
  %n as e0: int64[] = input 1
  %m as e1: int64[] = input 2
  %none: float32[] = constant 0.0
  %a: float32[e0,40] = view () of %none
  %b: float32[e1,40] = view (i0, i1) of %z
  %c: float32[1,40] = view (i0, i1) of %z
  %d: float32[23,40] = view (i0, i1) of %z
  """


def computed_pieces(lines: str) -> list[list[str]] | None:
    """Where the nest of `y` is cut, as text, if its order is known."""
    text = SHIFTED + lines.replace("; ", "\n  ") + "\n  return %y"
    kernel = kernel_of(text)
    (node,) = (node for node, name in names_of(text, kernel).items() if name == "y")
    found = split_concats([node], lambda operand: operand not in kernel.inputs)
    assert found is not None
    return (
        [[show_access((of_point(p),)) for p in axis] for axis in found] if are_few(found) else None
    )


def of_point(point: SplitPoint) -> AffineIndex:
    return AffineIndex(point) if isinstance(point, int) else point


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("%j: float32[24,40] = concat along 0 %a, %b; %y: float32[24,40] = neg %j",
         [["(0)", "(e0)", "(24)"], ["(0)", "(40)"]]),
        ("%j: float32[24,40] = concat along 0 %a, %b; %k: float32[24,40] = concat along 0 %a, %b;"
         " %y: float32[24,40] = add %j, %k",
         [["(0)", "(e0)", "(24)"], ["(0)", "(40)"]]),
        ("%j: float32[24,40] = concat along 0 %a, %b; %k: float32[24,40] = concat along 0 %b, %a;"
         " %y: float32[24,40] = add %j, %k", None),
        ("%j: float32[24,40] = concat along 0 %a, %b; %k: float32[24,40] = concat along 0 %c, %d;"
         " %y: float32[24,40] = add %j, %k", None),
    ],
    ids=["one", "two of the same ends", "two of other ends", "a computed end and a number"],
)  # fmt: skip
def test_computed_ends(lines: str, wanted: list[list[str]] | None) -> None:
    assert computed_pieces(lines) == wanted
