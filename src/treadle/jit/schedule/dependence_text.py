"""The dependences of a loop as text: a line for each carried value and group of parallel axes.

carried 0 float32[8,4]: affine, reads 0 at (i0, i1) (i0-1, i1), last read by add
parallel: 0.1
"""

from __future__ import annotations

from collections.abc import Iterator

from treadle.jit.kernel.ir import Node, SymbolicDim
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.access import Accesses, show_access
from treadle.jit.schedule.dependence import LoopDependence, StateAxis


def dependence_lines(dependence: LoopDependence) -> Iterator[str]:
    """The dependences of a loop, line by line."""
    loop = dependence.loop
    for number, state in enumerate(loop.states):
        words = [dependence.steps[number]]
        words += _reads(dependence, loop.nexts[number])
        last = dependence.last_readers[number]
        words += [] if last is None else [f"last read by {word_of(last)}"]
        yield f"carried {number} {_type(state)}: {', '.join(words)}"
    for number, stack in enumerate(loop.stacks):
        words = _reads(dependence, stack.element)
        yield f"stack {number} {_type(stack.element)}: {', '.join(words) or 'reads none'}"
    if loop.next_condition is not None:
        yield f"condition: {', '.join(_reads(dependence, loop.next_condition)) or 'alone'}"
    for group in dependence.parallel:
        yield f"parallel: {', '.join(map(_axis, sorted(group)))}"


def _reads(dependence: LoopDependence, node: Node) -> list[str]:
    numbers = {state: number for number, state in enumerate(dependence.loop.states)}
    accesses: Accesses = dependence.of(node)
    order = sorted(accesses, key=numbers.__getitem__)
    return [
        f"reads {numbers[state]} at {' '.join(sorted(map(show_access, accesses[state])))}"
        for state in order
    ]


def _axis(axis: StateAxis) -> str:
    return f"{axis[0]}.{axis[1]}"


def _type(node: Node) -> str:
    extents = (each.name if isinstance(each, SymbolicDim) else str(each) for each in node.shape)
    return f"{node.dtype}[{','.join(extents)}]"
