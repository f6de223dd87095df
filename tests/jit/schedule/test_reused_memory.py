"""Which values take over the memory of others, as the schedule says it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.kernel.target import Target
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule

TARGET = Target("", "", "", vector_bytes=64, registers=32, has_fma=True)

PUT = """kernel
  %x0: float32[40,4] = input 0
  %u: float32[40,4] = input 1
  %1 = loop length 5 extent 5 carries %x = %x0
    %x: float32[40,4] = carried 0
    %i: int64[] = induction variable
    %k: int64[1] = reshape %i
    %at: int64[1,1] = reshape %i
    %row: float32[1,4] = take along 0 of %u, %k
    %next: float32[40,4] = scatter (at 0, i1) into %x, %row, %at
    yield %next
  %last: float32[40,4] = result 0 of %1
  return %last"""

CHANGED = PUT.replace("%next: float32[40,4] = scatter", "%made: float32[40,4] = scatter").replace(
    "    yield %next", "    %next: float32[40,4] = neg %made\n    yield %next"
)

CHOICE = PUT.replace(
    "    %next: float32[40,4] = scatter (at 0, i1) into %x, %row, %at\n",
    """    %two: int64[] = constant 2
    %odd: int64[] = mod %i, %two
    %is_odd: bool[] = cast %odd
    %2 = if %is_odd
      %put: float32[40,4] = scatter (at 0, i1) into %x, %row, %at
      yield %put
    else
      yield %x
    %next: float32[40,4] = result 0 of %2
""",
)

SWAPPED = """kernel
  %a0: float32[40] = input 0
  %b0: float32[40] = input 1
  %1 = loop length 5 extent 5 carries %a = %a0, %b = %b0
    %a: float32[40] = carried 0
    %b: float32[40] = carried 1
    yield %b, %a
  %last: float32[40] = result 0 of %1
  %other: float32[40] = result 1 of %1
  return %last, %other"""


def memory_lines(text: str) -> str:
    """What the schedule of a kernel says of the memory of its values."""
    lines = show_schedule(schedule_kernel(kernel_of(text), TARGET)).splitlines()
    found = [line.strip() for line in lines if "in the memory of" in line or "storage of" in line]
    return "\n".join(found)


IN_PLACE = "storage of carried values: buffer, updated in place"
COPIED = "storage of carried values: buffer, the next value is copied, 16 elements at once"
SAVED = "buffer, the next value is copied, saved before others are, 16 elements at once"
SCATTER = "in the memory of carriedarg: scatter: float32[40,4]"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (PUT, [IN_PLACE, SCATTER]),
        (CHOICE, [IN_PLACE, "in the memory of carriedarg: result: float32[40,4]",
                  f"then: {SCATTER}"]),
        (PUT.replace("    yield %next", "    %sum: float32[4] = reduce add over (0) of %x\n"
                     "    yield %next\n    stack %sum along 0")
            .replace("return %last", "%all: float32[5,4] = result 1 of %1\n  return %last, %all"),
         [IN_PLACE, SCATTER]),
        (PUT.replace("    yield %next", "    %both: float32[40,4] = sub %next, %x\n"
                     "    %sum: float32[4] = reduce add over (0) of %both\n"
                     "    yield %next\n    stack %sum along 0")
            .replace("return %last", "%all: float32[5,4] = result 1 of %1\n  return %last, %all"),
         [COPIED]),
        (PUT.replace("of %u, %k", "of %x, %k"), [IN_PLACE, SCATTER]),
        (PUT.replace("scatter (at 0, i1) into %x, %row, %at", "scatter (i0, i1) into %x, %turned")
            .replace("    %next", "    %turned: float32[40,4] = view (-1*i0+39, i1) of %x\n"
                     "    %next"),
         [COPIED]),
        (CHOICE.replace("else\n      yield %x", "else\n      yield %u"), [COPIED]),
        (SWAPPED.replace("40", "20"),  # too few for register tiles
         ["storage of carried values: " + "; ".join([SAVED, COPIED[27:]])]),
        (SWAPPED.replace("40", "20").replace("yield %b, %a", "yield %a, %b"),
         ["storage of carried values: buffer; buffer"]),
    ],
    ids=["a scatter", "a side of a branch", "the old value is read later",
         "the old value is read with the new one", "a row of itself", "a view of itself",
         "a side that gives another value", "exchanged", "unchanged"],
)  # fmt: skip
def test_memory_is_taken_over_only_where_nothing_reads_it(text, wanted):
    assert memory_lines(text).splitlines() == wanted


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_exchanged_values(trips, rng: np.random.Generator):
    a, b = rng.random((2, 40), np.float32)
    text = SWAPPED.replace("length 5 extent 5", f"length {trips} extent {trips}")
    found = run_kernel(text, a, b)
    for got, wanted in zip(found, (a, b) if trips % 2 == 0 else (b, a), strict=True):
        np.testing.assert_array_equal(got, wanted)


THREE = """kernel
  %a0: float32[20] = input 0
  %b0: float32[20] = input 1
  %c0: float32[20] = input 2
  %1 = loop length 5 extent 5 carries %a = %a0, %b = %b0, %c = %c0
    %a: float32[20] = carried 0
    %b: float32[20] = carried 1
    %c: float32[20] = carried 2
    %turned: float32[20] = view (-1*i0+19) of %a
    %sum: float32[20] = add %a, %c
    %far: float32[20] = add %turned, %b
    yield ENDS
  %last: float32[20] = result 0 of %1
  %other: float32[20] = result 1 of %1
  %third: float32[20] = result 2 of %1
  return %last, %other, %third"""


@pytest.mark.parametrize("ends", [
    "%b %c %a", "%c %a %b", "%b %a %c", "%far %a %b", "%turned %a %b", "%turned %turned %a",
    "%sum %a %b", "%sum %far %a", "%b %turned %b", "%c %far %a", "%a %a %a", "%turned %c %b",
])  # fmt: skip
def test_copies_come_in_an_order_in_which_none_is_overwritten(
    ends: str, rng: np.random.Generator
) -> None:
    given = rng.integers(-9, 9, (3, 20)).astype(np.float32)
    found = run_kernel(THREE.replace("ENDS", ", ".join(ends.split())), *given)
    a, b, c = given
    for _ in range(5):
        known = {"a": a, "b": b, "c": c, "turned": a[::-1], "sum": a + c, "far": a[::-1] + b}
        a, b, c = (known[each[1:]] for each in ends.split())
    for got, wanted in zip(found, (a, b, c), strict=True):
        np.testing.assert_array_equal(got, wanted)


BEST = """kernel
  %x0: float32[40,64] = input 0
  %1 = loop length 5 extent 5 carries %x = %x0
    %x: float32[40,64] = carried 0
    %row: float32[64] = view (3, i0) of %x
    %size: float32[64] = abs %row
    %most: float32[] = reduce max over (0) of %size
    %next: float32[40,64] = sub %x, %most
    yield %next
  %last: float32[40,64] = result 0 of %1
  return %last"""


@pytest.mark.parametrize(
    ("next_", "is_in_place"),
    [
        ("sub %x, %most", True),  # the row has been read once its maximum is known
        ("sub %x, %all", False),  # each row reads the fourth one
    ],
)
def test_a_part_that_a_reduction_has_read(
    next_: str, is_in_place: bool, rng: np.random.Generator
) -> None:
    text = BEST.replace("sub %x, %most", next_)
    line = "    %all: float32[1,64] = view (3, i1) of %x\n"
    text = text if is_in_place else text.replace("    %next", line + "    %next")
    assert ("updated in place" in memory_lines(text)) == is_in_place
    x = rng.random((40, 64), np.float32)
    (found,) = run_kernel(text, x)
    for _ in range(5):
        x = x - (np.abs(x[3]).max() if is_in_place else x[3])
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize(
    ("function", "is_in_place"),
    [("neg %made", True), ("sub %made, %u", True), ("max %made, %made", True),
     ("add %made, %x", False)],
)  # fmt: skip
@pytest.mark.parametrize("seen", ["x", "made", "next"])
def test_functions_of_a_scattered_array(
    seen: str, function: str, is_in_place: bool, rng: np.random.Generator
) -> None:
    text = CHANGED.replace("neg %made", function)
    assert (SCATTER in memory_lines(text)) == is_in_place
    text = text.replace(
        "    yield %next",
        f"    %sum: float32[4] = reduce add over (0) of %{seen}\n"
        "    yield %next\n    stack %sum along 0",
    ).replace("return %last", "%all: float32[5,4] = result 1 of %1\n  return %last, %all")
    x, u = (rng.integers(-9, 9, (40, 4)).astype(np.float32) for _ in range(2))
    last, sums = run_kernel(text, x, u)
    wanted = []
    for i in range(5):
        made = x.copy()
        made[i] = u[i]
        after = {"neg": -made, "sub": made - u, "max": made, "add": made + x}[function[:3]]
        wanted.append({"x": x, "made": made, "next": after}[seen].sum(0))
        x = after
    np.testing.assert_array_equal(last, x)
    np.testing.assert_array_equal(sums, wanted)
