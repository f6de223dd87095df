"""CF808: integers of a model that may reach values for which onnxruntime answers wrongly.

Values made only of extents and constants are not reported, nor values whose ranges exclude the
fault: casts from bool, positions in a tensor, and results computed from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from treadle.checks.rules import finding
from treadle.checks.runtimes.known_bugs import bugs_of
from treadle.checks.runtimes.reach import may_be_wrong
from treadle.errors import Finding
from treadle.infer import Range, range_of_array, range_of_result, range_of_type
from treadle.ir import (
    Block,
    Constant,
    Leaf,
    Literal,
    Model,
    Operands,
    Value,
    bodies,
    captures,
    walk,
)

_COUNTING = ("ArgMax", "ArgMin", "NonMaxSuppression", "NonZero", "Shape", "Size")
_POSITIONS: Range = (-1, 2**31 - 1)
_POSITIONS_FOLLOW = ("MaxPool", "TopK", "Unique")


@dataclass(frozen=True, slots=True)
class _Learned:
    """The ranges of values, and the values made only of extents and constants."""

    ranges: dict[Value, Range | None] = field(default_factory=dict)
    fixed: set[Value] = field(default_factory=set)

    def range(self, value: Value | None) -> Range | None:
        """The least and the greatest number an element of the value may have; None if unknown."""
        if value is None:
            return None
        return self.ranges.get(value) or range_of_type(value.type)

    def is_fixed(self, values: Sequence[Value | None]) -> bool:
        """Whether none of the values depends on the content of the model's inputs."""
        return all(value is None or value in self.fixed for value in values)


def of_edges(model: Model) -> Iterator[Finding]:
    """Report the known defects of steps of a typed model for the integers they may receive."""
    learned = _Learned()
    for block in (model.main, *(function.block for function in model.functions.values())):
        _learn_constants(learned, block)
    for path, step, _, _ in walk(model):
        for outer, param in captures(step):
            _follow(learned, outer, param)
        for _, body in bodies(step):
            _learn_constants(learned, body)
        if isinstance(step, Leaf):
            yield from _findings(learned, step, path)
            _learn(learned, step)


def _findings(learned: _Learned, step: Leaf, path: str) -> Iterator[Finding]:
    found = bugs_of(step)
    if not found or learned.is_fixed(step.operands):
        return
    if may_be_wrong(step, [learned.range(value) for value in step.operands]):
        edges = ", ".join(bug.edge for bug in found)
        message = f"{step.op}-{step.version} over these whole numbers is wrong near {edges}"
        hint = "treadle decomposes it or runs it on another engine; see docs/known_bugs.md"
        yield finding("CF808", path, message, hint)


def _learn_constants(learned: _Learned, block: Block) -> None:
    inputs = set(block.params)
    for constant in block.constants:
        if constant.value not in inputs:
            _learn_constant(learned, constant)


def _learn_constant(learned: _Learned, constant: Constant) -> None:
    learned.fixed.add(constant.value)
    if isinstance(constant.data, Literal):
        learned.ranges[constant.value] = range_of_array(constant.data.array)


def _follow(learned: _Learned, outer: Value | None, param: Value) -> None:
    if outer is None:
        return
    learned.ranges[param] = learned.range(outer)
    if outer in learned.fixed:
        learned.fixed.add(param)


def _learn(learned: _Learned, step: Leaf) -> None:
    counts = not step.domain and step.op in _COUNTING
    results: Operands = step.results
    if _is_fixed(learned, step):
        learned.fixed.update(value for value in results if value is not None)
    if results and results[0] is not None:
        given = [learned.range(value) for value in step.operands]
        learned.ranges[results[0]] = _POSITIONS if counts else range_of_result(step, given)
    if not step.domain and step.op in _POSITIONS_FOLLOW:
        learned.ranges.update({value: _POSITIONS for value in results[1:] if value is not None})


def _is_fixed(learned: _Learned, step: Leaf) -> bool:
    if step.op in _OF_EXTENTS or (step.op == "Constant" and not step.domain):
        return True
    return bool(step.operands) and not step.blocks and learned.is_fixed(step.operands)


_OF_EXTENTS = ("Shape", "Size")
