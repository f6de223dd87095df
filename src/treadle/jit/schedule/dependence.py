"""Dependence analysis of a loop: where the next carried values read the old ones.

reads       the carried values that each next value, stacked element and the condition read,
            and at which index; an iteration reads what the one before has written
parallel    the axes of carried values along which elements depend on elements at the same
            index only: any order of their indices gives the same values
step        the associative function that the loop applies to a carried value, if it is one
last        the last node of the body that reads a carried value
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treadle.jit.kernel.ir import Loop, Node
from treadle.jit.kernel.traversal import with_inside, yielded
from treadle.jit.schedule.access import Accesses, AccessMap, own
from treadle.jit.schedule.associative_step import step_of
from treadle.jit.schedule.value_flow import NOTHING, flow_of

StateAxis = tuple[int, int]
"""An axis of a carried value: the value's number, and the axis."""


@dataclass(frozen=True, eq=False, slots=True)
class LoopDependence:
    """The dependences of a loop; `flow` has the accesses of each node of its body.

    `parallel` are groups of axes, each a loop that could be outside this one; `steps` and
    `last_readers` are by the number of the carried value.
    """

    loop: Loop
    flow: Mapping[Node, Accesses]
    parallel: tuple[frozenset[StateAxis], ...]
    steps: tuple[str, ...]
    last_readers: tuple[Node | None, ...]

    def of(self, node: Node) -> Accesses:
        """The accesses of a node to the carried values."""
        return self.flow.get(node, NOTHING)

    def states_of(self, node: Node) -> frozenset[Node]:
        """The carried values that a node depends on."""
        return frozenset(self.of(node))


def dependence_of(loop: Loop) -> LoopDependence:
    """The dependences of a loop."""
    flow = flow_of(loop)
    steps = tuple(step_of(loop, number, flow) for number in range(len(loop.states)))
    last = tuple(_last_reader(loop, state) for state in loop.states)
    return LoopDependence(loop, flow, _parallel_groups(loop, flow), steps, last)


def _last_reader(loop: Loop, state: Node) -> Node | None:
    readers = (node for node in reversed(loop.body.nodes) if _reads(node, state))
    return next(readers, None)


def _reads(node: Node, read: Node) -> bool:
    """Whether a node, or one inside it, reads another one."""
    return any(read in (*each.operands, *yielded(each)) for each in with_inside(node))


def _long_axes(state: Node) -> set[int]:
    return {axis for axis, extent in enumerate(state.shape) if extent != 1}


def _parallel_groups(loop: Loop, flow: Mapping[Node, Accesses]) -> tuple[frozenset[StateAxis], ...]:
    """The groups of axes that only depend on themselves, in the order of their first axis."""
    groups = _Groups(
        {(k, axis) for k, state in enumerate(loop.states) for axis in _long_axes(state)}
    )
    numbers = {state: k for k, state in enumerate(loop.states)}
    edges = list(_edges(loop, flow, numbers))
    for (k, axis), read, access in edges:
        for other, index in enumerate(access):
            if index == own(axis) and (read, other) in groups.leader:
                groups.unite((k, axis), (read, other))
    while broken := {group for edge in edges if (group := groups.broken_by(edge)) is not None}:
        groups.drop(broken)
    return tuple(frozenset(group) for group in groups.members())


_Edge = tuple[StateAxis, int, AccessMap]
"""An axis of a next value, the number of a carried value that it reads, and where.

The axis is -1 where the reader has none, or is no carried value (number -1).
"""


def _edges(
    loop: Loop, flow: Mapping[Node, Accesses], numbers: Mapping[Node, int]
) -> Iterator[_Edge]:
    for k, after in enumerate(loop.nexts):
        for source, maps in flow.get(after, NOTHING).items():
            for access in maps:
                for axis in _long_axes(loop.states[k]) or {-1}:
                    yield (k, axis), numbers[source], access
    if loop.next_condition is not None:
        for source, maps in flow.get(loop.next_condition, NOTHING).items():
            yield from (((-1, -1), numbers[source], access) for access in maps)


class _Groups:
    """Disjoint sets of axes."""

    def __init__(self, axes: set[StateAxis]) -> None:
        self.leader = {each: each for each in axes}

    def of(self, axis: StateAxis) -> StateAxis | None:
        """The representative of an axis's group; None if it has none any more."""
        return self.leader.get(axis)

    def unite(self, one: StateAxis, other: StateAxis) -> None:
        """Make one group of both."""
        first, second = self.leader[one], self.leader[other]
        self.leader = {k: first if v == second else v for k, v in self.leader.items()}

    def broken_by(self, edge: _Edge) -> StateAxis | None:
        """A group of which an edge reads an index that is not its own."""
        reader, read, access = edge
        for other, index in enumerate(access):
            group = self.of((read, other))
            if group is None:
                continue
            ours = [axis for number, axis in self.leader
                    if number == reader[0] and self.of((number, axis)) == group]  # fmt: skip
            if len(ours) != 1 or index != own(ours[0]):
                return group
        return None

    def drop(self, groups: set[StateAxis]) -> None:
        """Remove whole groups."""
        self.leader = {axis: group for axis, group in self.leader.items() if group not in groups}

    def members(self) -> list[list[StateAxis]]:
        """The groups, each sorted, in the order of their first axis."""
        found: dict[StateAxis, list[StateAxis]] = {}
        for axis in sorted(self.leader):
            found.setdefault(self.leader[axis], []).append(axis)
        return list(found.values())
