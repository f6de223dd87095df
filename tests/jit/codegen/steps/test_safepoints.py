"""Short inner loops have no safepoints of their own, and a run ends in time around them."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from treadle.jit.codegen import kernel, safepoint
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.schedule.cost_model import loop_bound

NESTED = """kernel
  %x: float32[n0] = input 0
  %half: float32[] = constant 0.5
  %zero: float32[] = constant 0.0
  %1 = loop length n0 extent n0 carries %s = %zero
    %s: float32[] = carried 0
    %item: float32[] = scan slice along 0 of %x
    %2 = loop {trips} carries %t = %s
      %t: float32[] = carried 0
      %less: float32[] = mul %t, %half
      %more: float32[] = add %less, %item
      yield %more
    %u: float32[] = result 0 of %2
    yield %u
  %sum: float32[] = result 0 of %1
  return %sum"""
SHORT, LONG, OPEN = (f"length {trips} extent {trips}" for trips in ("7", "200000", "n0"))


def polls(trips: str) -> int:
    """The places where a kernel asks whether to stop, on x86-64 Linux."""
    return generate_code(kernel_of(NESTED.format(trips=trips)), ()).text.count(
        'call preserve_allcc ptr @"treadle_poll"'
    )


def test_only_short_inner_loops_have_no_safepoints() -> None:
    assert polls(SHORT) == 1
    assert polls(LONG) > 1
    assert polls(OPEN) > 1


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("trips", [SHORT, SHORT.replace("7", "0"), SHORT.replace("7", "1"), OPEN])
def test_the_numbers_are_those_of_the_loops(count: int, trips: str) -> None:
    x = np.arange(count, dtype=np.float32)
    total = np.float32(0)
    for item in x:
        for _ in range(count if trips == OPEN else int(trips.split()[1])):
            total = total * np.float32(0.5) + item
    (found,) = run_kernel(NESTED.format(trips=trips), x)
    assert found == total


BRANCHED = NESTED.replace(
    "      %less: float32[] = mul %t, %half",
    """      %big: bool[] = greater %t, %half
      %side = if %big
        %all: float32[] = tanh %t
        yield %all
      else
        yield %half
      %less: float32[] = result 0 of %side""",
)


def bound(text: str) -> float:
    """The bound of the inner loop."""
    nodes = all_nodes(kernel_of(text).main)
    return next(loop_bound(n) for n in nodes if isinstance(n.op, Loop) and n.home.is_loop)


def test_the_time_of_loops_with_unknown_work_has_no_bound() -> None:
    assert 7 * 2 < bound(NESTED.format(trips=SHORT)) < 7 * 50
    assert bound(NESTED.format(trips=OPEN)) == inf
    assert bound(BRANCHED.format(trips=SHORT)) == inf


MODEL = """<ir_version: 10, opset_import: ["": 21]>
g (int64 n, float x) => (float y) {
  hundred = Constant <value = int64 {100}> ()
  y = Loop (n, , x) <body = b (int64 i, bool go, float s) => (bool on, float t) {
    on = Identity (go)
    t = Loop (hundred, , s) <body = c (int64 j, bool keep, float u) => (bool kept, float v) {
      kept = Identity (keep)
      v = Tanh (u)
    }>
  }>
}"""


def test_a_run_of_many_short_loops_stops_in_time() -> None:
    session = treadle.InferenceSession(MODEL, engines=("jit", "interp"))
    feed = {"n": np.array(10**9), "x": np.float32(0.5)}
    with pytest.raises(treadle.LimitExceeded, match=r"max_seconds=0\.05"):
        session.run(None, feed, treadle.RunOptions(max_seconds=0.05))


CASCADE = """kernel
  %x: float32[n0] = input 0
  %half: float32[] = constant 0.5
  %start: float32[{shape}] = input 1
  %1 = loop length n0 extent n0 carries %s = %start, %t = %start at "loop"
    %s: float32[{shape}] = carried 0
    %t: float32[{shape}] = carried 1
    %item: float32[] = scan slice along 0 of %x
    %less: float32[{shape}] = mul %s, %half
    %more: float32[{shape}] = add %less, %item
    %other: float32[{shape}] = mul %t, %half
    %sum: float32[{shape}] = add %other, %more
    yield %more, %sum
  %u: float32[{shape}] = result 0 of %1
  %v: float32[{shape}] = result 1 of %1
  return %u, %v"""


@pytest.mark.parametrize("shape", ["", "1", "8"])
def test_a_poll_in_every_iteration_changes_nothing(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops over single numbers poll by a function that keeps the registers, on x86-64 Linux."""
    for module in (safepoint, kernel):
        monkeypatch.setattr(module, "SAFEPOINT_PERIOD", 1)
    text = CASCADE.format(shape=shape)
    x, s = (np.arange(50, dtype=np.float32), np.ones([int(n) for n in shape], np.float32))
    wanted = other = s
    for item in x:
        wanted = wanted * np.float32(0.5) + item
        other = other * np.float32(0.5) + wanted
    found, last = run_kernel(text, x, s)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(last, other)
    emitted = generate_code(kernel_of(text), ()).text
    assert ("treadle_poll" in emitted) == (shape != "8")
