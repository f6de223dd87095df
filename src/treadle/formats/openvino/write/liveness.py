"""Liveness: the values that a program's results need; others are not written."""

from __future__ import annotations

from collections.abc import Iterable

from treadle.formats.openvino.write.constant_analysis import Knowledge
from treadle.ir import Block, Branch, Loop, Operands, Ports, Step, Value, ports, reads


def needed(block: Block, knowledge: Knowledge) -> set[Value]:
    """The values of a block and its bodies that its results depend on, without constants."""
    found = _Needed(knowledge)
    found.block(block, block.results)
    return found.values


def kept_carried(views: Ports, values: set[Value]) -> list[int]:
    """The positions of a loop's carried values that are needed."""
    return [
        k for k, port in enumerate(views.carried) if port.result in values or port.param in values
    ]


def depends_on_slices(loop: Loop, values: set[Value]) -> bool:
    """Whether every needed result of a loop depends on its sliced inputs."""
    views = ports(loop)
    reached = {port.param for port in views.sliced}
    before = -1
    while before != len(reached):
        before = len(reached)
        for step in loop.body.steps:
            if not reached.isdisjoint(value for value in reads(step) if value is not None):
                reached.update(value for value in step.results if value is not None)
        reached.update(port.param for port in views.carried if port.next in reached)
    given = [(port.result, port.next) for port in views.carried]
    given += [(port.result, port.element) for port in views.stacked]
    return all(value in reached for result, value in given if result in values)


class _Needed:
    def __init__(self, knowledge: Knowledge) -> None:
        self.knowledge = knowledge
        self.values: set[Value] = set()

    def add(self, values: Iterable[Value | None]) -> None:
        literals = self.knowledge.literals
        self.values.update(v for v in values if v is not None and v not in literals)

    def block(self, block: Block, results: Operands) -> None:
        self.add(results)
        for step in reversed(block.steps):
            if not self.values.isdisjoint(v for v in step.results if v is not None):
                self.step(step)

    def step(self, step: Step) -> None:
        match step:
            case Branch():
                self.branch(step)
            case Loop():
                self.loop(step)
            case _:
                self.add(reads(step))

    def branch(self, branch: Branch) -> None:
        places = [k for k, value in enumerate(branch.results) if value in self.values]
        chosen = self.knowledge.chosen.get(branch)
        if chosen is None:
            self.add((branch.condition,))
        for block in (branch.then, branch.otherwise) if chosen is None else (chosen,):
            self.block(block, tuple(block.results[k] for k in places))
            self.params(block, branch.operands)

    def params(self, block: Block, operands: Operands) -> None:
        pairs = zip(block.params, operands, strict=True)
        self.add(value for param, value in pairs if param in self.values)

    def loop(self, loop: Loop) -> None:
        views = ports(loop)
        if loop in self.knowledge.idle:
            self.add(port.initial for port in views.carried if port.result in self.values)
            return
        self.add((loop.trip, loop.condition))
        kept: list[int] | None = None
        while kept != (kept := kept_carried(views, self.values)):
            given = [views.carried[k].next for k in kept]
            stacked = [port.element for port in views.stacked if port.result in self.values]
            self.block(loop.body, (views.next_condition, *given, *stacked))
        self.add(views.carried[k].initial for k in kept)
        self.add(port.operand for port in views.invariants if port.param in self.values)
        self.add(port.operand for port in views.sliced)
