"""Nests that read a Concat are split so that each piece reads one operand."""

import pytest

from tests.jit.kernel_text import kernel_of, names_of
from treadle.jit.schedule.index_set_splitting import SplitPoints, split_concats

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
