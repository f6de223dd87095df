"""A schedule as text: for each loop its strategy, what others lack, its storage and dependences.

    loop 0: in order
      not tiling: reduce is not elementwise
      storage of carried values: buffer
      carried 0 float32[8]: affine, reads 0 at (i0), last read by add
      parallel: 0.0
    values: 3 in registers, 2 in nests, 1 inline, 4 in buffers

`schedule/dependence_text.py` has the words of dependences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from treadle.jit.kernel.ir import Loop, Node
from treadle.jit.schedule.carried_storage import show_storage
from treadle.jit.schedule.dependence import dependence_of
from treadle.jit.schedule.dependence_text import dependence_lines
from treadle.jit.schedule.schedule import LoopSchedule, Schedule
from treadle.jit.schedule.storage import Storage

_PLACES = {
    Storage.REGISTERS: "in registers",
    Storage.NEST: "in fused nests",
    Storage.INLINE: "computed where they are read",
    Storage.BUFFER: "in buffers",
}


def show_schedule(schedule: Schedule) -> str:
    """The schedule of a kernel as text."""
    return "\n".join(_lines(schedule))


def _lines(schedule: Schedule) -> Iterator[str]:
    for number, (node, found) in enumerate(schedule.loops.items()):
        yield f"loop {number}{_path(node)}: {found.strategy}"
        yield from (f"  {line}" for line in _loop(node, found))
    places = Counter(schedule.storage.storage_of.values())
    words = [f"{places[place]} {name}" for place, name in _PLACES.items() if places[place]]
    yield f"values: {', '.join(words)}"


def _path(node: Node) -> str:
    assert isinstance(node.op, Loop)
    return f" at {node.op.path}" if node.op.path else ""


def _loop(node: Node, found: LoopSchedule) -> Iterator[str]:
    assert isinstance(node.op, Loop)
    yield from (f"not {name}: {reason}" for name, reason in found.declined.items())
    if found.carried:
        yield f"storage of carried values: {', '.join(map(show_storage, found.carried))}"
    yield from dependence_lines(dependence_of(node.op))
