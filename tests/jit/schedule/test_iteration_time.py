"""The estimated time of iterations, and what safepoints count of it."""

from __future__ import annotations

from tests.jit.kernel_text import kernel_of
from tests.jit.schedule.test_schedule import AVERAGE, GRID, TARGET, TILED
from treadle.jit.kernel.ir import SymbolicDim
from treadle.jit.schedule.loops.linear_recurrence import ParallelPrefix
from treadle.jit.schedule.loops.register_tiling import RegisterTiling
from treadle.jit.schedule.loops.wavefront import Wavefront
from treadle.jit.schedule.schedule import Schedule, schedule_kernel

OPEN = """kernel
  %x: float32[n0,90] = input 0
  %1 = loop length 9 extent 9 carries %u = %x
    %u: float32[n0,90] = carried 0
    %next: float32[n0,90] = add %u, %u
    yield %next
  %last: float32[n0,90] = result 0 of %1
  return %last"""


def scheduled(text: str) -> Schedule:
    """The schedule of the kernel that a text describes."""
    return schedule_kernel(kernel_of(text), TARGET)


def test_a_tile_counts_its_share_of_an_iteration() -> None:
    schedule = scheduled(TILED)
    ((loop, time),) = schedule.iterations.items()
    strategy = schedule.loops[loop].strategy
    assert isinstance(strategy, RegisterTiling)
    assert (strategy.lanes, strategy.size) == (128, 65536)
    assert time.group == time.nanoseconds // 512


def test_a_group_of_iterations_counts_at_once() -> None:
    schedule = scheduled(AVERAGE)
    ((loop, time),) = schedule.iterations.items()
    assert isinstance(schedule.loops[loop].strategy, ParallelPrefix)
    assert (time.nanoseconds, time.group) == (4, 8)


def test_a_wavefront_counts_the_cells_of_its_rows() -> None:
    schedule = scheduled(GRID)
    times = {
        type(schedule.loops[loop].strategy): time for loop, time in schedule.iterations.items()
    }
    (cell,) = (time for kind, time in times.items() if kind is not Wavefront)
    assert times[Wavefront].group == 32 * (64 * cell.nanoseconds // 8 + 4)


def test_extents_of_inputs_are_counted_as_they_are() -> None:
    ((loop, time),) = scheduled(OPEN).iterations.items()
    ((shape, eighths),) = time.by_inputs
    assert isinstance(shape[0], SymbolicDim)
    assert (shape[1], eighths > 0) == (90, True)
    assert loop.shape == ()
    assert str(time) == f"at most {time.nanoseconds} ns an iteration, more with long inputs"


def test_known_extents_are_counted_before() -> None:
    (time,) = scheduled(OPEN.replace("n0", "100")).iterations.values()
    (of_open,) = scheduled(OPEN).iterations.values()
    assert time.by_inputs == ()
    assert time.nanoseconds == of_open.nanoseconds
