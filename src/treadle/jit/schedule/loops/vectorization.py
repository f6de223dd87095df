"""Vectorization: iterations that do not need each other are computed side by side, in vector lanes.

    y[t] = f(x[t], x[t-1], ...)          a map; shift registers are windows over their history
    a[i + t] = f(a[j + t])               an update of an array, where LLVM finds that none is read
    s = s + f(x[t])                      a reduction of whole numbers, or a minimum or maximum

LLVM's loop vectorizer does it where a loop has no call, no branch out and no safepoint inside. The
loop is therefore strip-mined (codegen/loops/strip_mining.py): a safepoint once in a strip of many
iterations. Sums of floats and other linear recurrences are for the parallel prefix.

LLVM 22.1 miscompiles a loop whose rows fill one vector each and whose last row is read after the
loop: the vectorized loop reads beyond the last row and returns a wrong one. Such a loop is kept
from the vectorizer, and the elements of a row fill the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from treadle.jit.kernel.element_types import is_float
from treadle.jit.kernel.ir import Loop, Node, Scatter
from treadle.jit.kernel.traversal import word_of
from treadle.jit.schedule.carried_storage import Registers
from treadle.jit.schedule.dependence import LoopDependence
from treadle.jit.schedule.layouts.windows import (
    Window,
    is_long,
    obstacle_to_lanes,
    obstacle_to_straight_code,
)
from treadle.jit.schedule.loops.facts import LoopFacts
from treadle.jit.schedule.loops.in_order import STRIP
from treadle.jit.schedule.update_chains import update_chains

_OF_FLOATS, _OF_INTEGERS = ("min", "max"), ("min", "max", "add", "mul", "and", "or", "xor")


@dataclass(frozen=True, slots=True)
class Vectorization:
    """A loop in strips of `strip` iterations, in each of which LLVM fills vectors with them.

    `of_elements`: it fills them with the elements of a row, and iterations follow each other.
    `updates`: iterations update arrays, and LLVM may unroll the loop if they depend on each other.
    """

    strip: int
    of_elements: bool = False
    updates: bool = False

    def __str__(self) -> str:
        what = "elements" if self.of_elements else "iterations"
        return f"vectors of {what}, in strips of {self.strip}"


def vectorization_of(facts: LoopFacts) -> Vectorization | str:
    """The strips of a loop, or why its iterations are not computed side by side."""
    op = facts.op
    obstacle = obstacle_to_lanes(op, facts.kernel) or _obstacle(facts)
    obstacle = obstacle or _obstacle_of_carried(facts)
    return obstacle or Vectorization(STRIP, _hands_rows_on(facts), bool(_updated(facts)))


def _hands_rows_on(facts: LoopFacts) -> bool:
    """Whether values of the last iteration leave the loop, and a row of it fills one vector."""
    registers = [isinstance(storage, Registers) for storage in facts.carried]
    return any(registers) and any(
        number * row.dtype.numpy.itemsize == facts.target.vector_bytes
        for row, number in _rows(facts.op)
    )


def _rows(op: Loop) -> Iterator[tuple[Node, int]]:
    """The arrays of a body, and those that it reads, each with the elements of an iteration."""
    for node in op.body.nodes:
        if node.is_static:
            yield node, node.size
        for operand in node.operands:
            extents = [extent for extent in operand.shape[1:] if isinstance(extent, int)]
            if operand.home is not op.body and 0 < len(extents) == len(operand.shape) - 1:
                yield operand, prod(extents)


def _obstacle(facts: LoopFacts) -> str:
    """What keeps the body from being straight-line code of scalars; "" if nothing does.

    It is asked before the dependences, which take longer to find.
    """
    body, updated = facts.op.body, _updated(facts)
    for number, (state, storage) in enumerate(zip(facts.op.states, facts.carried, strict=True)):
        if not isinstance(storage, Registers | Window) and state not in updated.values():
            return f"carried {number} is an array"
    straight = obstacle_to_straight_code(body)
    if straight:
        return straight
    own = (node for node in body.nodes if node not in (*facts.op.states, *updated))
    array = next((node for node in own if not facts.is_in_registers(node)), None)
    if array is not None:
        return f"{word_of(array)} is an array"
    return "its body is long" if is_long(body) else ""


def _updated(facts: LoopFacts) -> dict[Node, Node]:
    """The links of update chains that each write an element of a carried array, and this array.

    In place: nothing that reads the old array needs the new one.
    """
    found = update_chains(facts.op)
    links = {node for node in found if _writes_element(node, facts)}
    others = {state for node, state in found.items() if node not in links}
    return {node: found[node] for node in links if found[node] not in others}


def _writes_element(link: Node, facts: LoopFacts) -> bool:
    if not isinstance(link.op, Scatter) or not link.operands[1].is_single:
        return False
    late = {link}
    for node in link.home.nodes:
        if not late.isdisjoint(node.operands):
            late.add(node)
    readers = facts.storage.readers.get(link.operands[0], ())
    return late.isdisjoint(each for each in readers if each is not link)


def _obstacle_of_carried(facts: LoopFacts) -> str:
    """Which carried value one iteration needs from the one before; "" if none does."""
    op, dependence = facts.op, facts.dependence
    arrays = set(_updated(facts).values())
    shifted: set[Node] = set()
    late: set[Node] = set()
    for number, (state, storage) in enumerate(zip(op.states, facts.carried, strict=True)):
        if isinstance(storage, Window) or state in arrays:
            continue
        if _is_reduced(state, dependence.steps[number]):
            late.add(state)
        else:
            shifted.add(state)
    for stack in op.stacks:
        if dependence.states_of(stack.element) & late:
            return "a stacked output has the results of earlier iterations"
    return _chain(op, dependence, shifted, late)


def _is_reduced(state: Node, step: str) -> bool:
    return step in (_OF_FLOATS if is_float(state.dtype) else _OF_INTEGERS)


def _chain(op: Loop, dependence: LoopDependence, shifted: set[Node], late: set[Node]) -> str:
    """Which value needs more of earlier iterations than its own sum, or values shifted by a few.

    Shifted values must go back to what the loop reads: s2 = s1, s1 = f(x).
    """
    known = {state for state in op.states if state not in shifted | late}
    waiting = dict(enumerate(op.states))
    while waiting:
        ready = [
            number
            for number, state in waiting.items()
            if dependence.states_of(op.nexts[number]) <= known | ({state} & late)
            or op.nexts[number] is state
        ]
        if not ready:
            return f"carried {min(waiting)} is computed from earlier iterations"
        for number in ready:
            state = waiting.pop(number)
            known |= {state} - late
    return ""
