"""The size of a model after inlining all its functions, computed without inlining them."""

from __future__ import annotations

from treadle.ir.graph import Block, Call, FunctionId, Model
from treadle.ir.walk import walk_block

Size = tuple[int, int]
"""The number of nodes, and the nesting depth of bodies and calls."""


def expanded_size(model: Model) -> Size:
    """The size of the model; a function that calls itself counts once."""
    known: dict[FunctionId, Size] = {}
    for identity in _callees_first(model) if model.functions else ():
        known[identity] = _size(model.functions[identity].block, known)
    return _size(model.main, known)


def _size(block: Block, known: dict[FunctionId, Size]) -> Size:
    nodes, deepest = 0, 0
    for visit in walk_block(block):
        inner, deeper = 1, 0
        if isinstance(visit.step, Call):
            called, inside = known.get(visit.step.function, (1, -1))
            inner, deeper = max(called, 1), inside + 1
        nodes += inner
        deepest = max(deepest, visit.depth + deeper)
    return nodes, deepest


def _callees_first(model: Model) -> list[FunctionId]:
    """Every called function, each after the functions it calls."""
    order: dict[FunctionId, None] = {}
    entered: set[FunctionId] = set()
    pending = [(identity, False) for identity in _called(model.main, model)]
    while pending:
        identity, is_done = pending.pop()
        if is_done:
            order[identity] = None
        elif identity not in entered:
            entered.add(identity)
            pending.append((identity, True))
            inner = _called(model.functions[identity].block, model)
            pending += [(each, False) for each in inner]
    return list(order)


def _called(block: Block, model: Model) -> list[FunctionId]:
    found = (v.step.function for v in walk_block(block) if isinstance(v.step, Call))
    return list(dict.fromkeys(each for each in found if each in model.functions))
