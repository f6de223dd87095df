"""Inputs of operators that are left out: by the node itself, or by a caller of its function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treadle.ir.graph import Block, Call, FunctionId, Leaf, Model, Operands
from treadle.ir.values import Value
from treadle.ir.walk import Visit, captures, walk_block


class Omission(NamedTuple):
    """A leaf with inputs left out, and their positions.

    `depth` is the number of bodies around it in its function. `caller` is the path of the call that
    leaves them out; "" if the node does.
    """

    path: str
    leaf: Leaf
    positions: frozenset[int]
    depth: int
    caller: str


def omissions(model: Model) -> Iterator[Omission]:
    """Every leaf with inputs left out; one in a function once, and once a way it is called."""
    seen: set[tuple[FunctionId, frozenset[int]]] = set()
    waiting = [(model.main, "main", "", frozenset[int]())]
    waiting += [(each.block, str(key), "", frozenset()) for key, each in model.functions.items()]
    while waiting:
        block, path, caller, left_out = waiting.pop(0)
        absent = {block.params[k] for k in left_out}
        for visit in walk_block(block, path):
            step = visit.step
            absent.update(p for value, p in captures(step) if value is None or value in absent)
            if isinstance(step, Leaf):
                yield from _of_leaf(visit, step, caller, absent)
            elif isinstance(step, Call) and step.function in model.functions:
                called = model.functions[step.function].block
                positions = _left_out(step.operands, called, absent)
                if positions and (step.function, positions) not in seen:
                    seen.add((step.function, positions))
                    waiting.append((called, visit.path, visit.path, positions))


def _of_leaf(visit: Visit, leaf: Leaf, caller: str, absent: set[Value]) -> Iterator[Omission]:
    written = frozenset(k for k, value in enumerate(leaf.operands) if value is None)
    passed = frozenset(k for k, value in enumerate(leaf.operands) if value in absent)
    if written or passed:
        by = caller if passed else ""
        yield Omission(visit.path, leaf, written | passed, visit.depth, by)


def _left_out(operands: Operands, called: Block, absent: set[Value]) -> frozenset[int]:
    given = {k for k, value in enumerate(operands) if value is not None and value not in absent}
    return frozenset(range(len(called.params))) - given


def without_omitted_end(operands: Operands) -> Operands:
    """The operands up to the last that is there: leaving out the end means the same."""
    count = len(operands)
    while count and operands[count - 1] is None:
        count -= 1
    return operands[:count]
