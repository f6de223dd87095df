"""Writes iterations of a loop as straight-line code: shared by all kinds of unrolling.

iteration 0     the body's steps over the initial values, the number 0, item 0 of every slice
iteration k     the same over the results of iteration k - 1
a stack         Concat(Unsqueeze(element of each iteration))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treadle.ir import (
    Condition,
    Invariant,
    Iteration,
    Leaf,
    Loop,
    SlicedPort,
    StackedPort,
    Step,
    Value,
    declared_rank,
    defining_steps,
    operator_of,
    ports,
)
from treadle.passes.rewrites.paths import marked_path
from treadle.passes.rewrites.unroll.copies import Known, Where, copy_steps, iteration_metadata
from treadle.passes.simplify.context import PassContext
from treadle.passes.simplify.step_builder import StepBuilder

_AXES_ARE_INPUTS = 13


class Line:
    """Collects the steps of one loop's iterations; `replaced` maps the loop's results.

    `between` are the values that iterations carry on.
    """

    def __init__(self, loop: Loop, at: PassContext) -> None:
        self.loop, self.view, self.at = loop, ports(loop), at
        self.path = marked_path(loop)
        self.name = loop.info.name or self.path.rpartition("/")[2] or operator_of(loop).lower()
        self.writer = StepBuilder(at)
        self.writer.constants += loop.body.constants
        self.replaced: Known = {}
        self.between: list[Value] = []
        self._made = defining_steps(loop.body)
        self._constants: dict[tuple[object, ...], Value] = {}

    def number(self, number: int, rank: int = 0) -> Value:
        """A constant integer."""
        array = np.full((1,) * rank, number, np.int64)
        return self._shared((number, rank), array, "number")

    def no_axes(self) -> Value:
        """A constant: the shape of a scalar."""
        return self._shared(("shape",), np.zeros(0, np.int64), "no_axes")

    def true(self, rank: int = 0) -> Value:
        """The constant true."""
        return self._shared(("true", rank), np.ones((1,) * rank, np.bool_), "true")

    def _shared(self, key: tuple[object, ...], array: np.ndarray, name: str) -> Value:
        if key not in self._constants:
            self._constants[key] = self.writer.constant(array, f"{self.name}/{name}")
        return self._constants[key]

    def leaf(
        self,
        op: str,
        *operands: Value,
        iteration: int | None = None,
        result: Value | None = None,
        **attributes: object,
    ) -> Value:
        """A step of the line; its metadata name its iteration, if it belongs to one."""
        where = self.name if iteration is None else f"{self.name}/{iteration}"
        made = result if result is not None else Value(f"{where}/{op.lower()}")
        self.writer.leaf(op, *operands, result=made, **attributes)
        if iteration is not None:
            step = self.writer.steps[-1]
            assert isinstance(step, Leaf), "a step builder writes leaves"
            metadata = iteration_metadata((), self.path, Where.of(self.loop, iteration))
            self.writer.steps[-1] = replace(step, info=replace(step.info, metadata=metadata))
        return made

    def iterate(
        self, number: int, carried: Sequence[Value | None], counter: Value | None, last: bool
    ) -> tuple[list[Value | None], list[Value | None], Value | None]:
        """Write an iteration; returns its carried values, stacked elements and condition.

        `counter`: the iteration number if it is not constant. `last`: the carried values are the
        loop's results, and get their names.
        """
        known = self._params(number, carried, counter)
        kept = self._kept() if last else {}
        where = f"{self.name}/{number}"

        def new(value: Value) -> Value:
            return kept.get(value) or Value(f"{where}/{value.name}")

        self.writer.steps += copy_steps(
            self.loop.body.steps, known, new, Where.of(self.loop, number)
        )

        def given(value: Value | None) -> Value | None:
            return None if value is None else known.get(value, value)

        view = self.view
        after = [given(port.next) for port in view.carried]
        self.between += [value for value in after if value is not None]
        elements = [given(port.element) for port in view.stacked]
        return after, elements, given(view.next_condition)

    def _kept(self) -> Known:
        """The loop's results by the values of the body that define them."""
        found: Known = {}
        for port in self.view.carried:
            if port.result is not None and port.next in self._made and port.next not in found:
                found[port.next] = port.result
        return found

    def _params(self, number: int, carried: Sequence[Value | None], counter: Value | None) -> Known:
        known: Known = {}
        for role, param in zip(self.loop.roles, self.loop.body.params, strict=True):
            rank = self.rank(param)
            if isinstance(role, Iteration):
                known[param] = self._counted(number, counter, rank)
            elif isinstance(role, Condition):
                known[param] = self.true(rank)
            elif isinstance(role, Invariant):  # an open body has no Identity params with an operand
                known[param] = None
        for port, value in zip(self.view.carried, carried, strict=True):
            known[port.param] = value
        for sliced in self.view.sliced:
            known[sliced.param] = self._item(sliced, number, counter)
        return known

    def _counted(self, number: int, counter: Value | None, rank: int) -> Value:
        if counter is None:
            return self.number(number, rank)
        if rank == 0:
            return counter
        return self.leaf("Reshape", counter, self.number(1, 1), iteration=number)

    def _item(self, port: SlicedPort, number: int, counter: Value | None) -> Value:
        assert port.operand is not None, "its length is certain"
        shape = self.at.shape(port.operand)
        assert shape is not None, "its length is certain"
        length = shape[port.role.axis]
        assert isinstance(length, int), "its length is certain"
        index = counter or self.number(length - 1 - number if port.role.reverse else number)
        if counter is not None and port.role.reverse:
            index = self.leaf("Sub", self.number(length - 1), counter, iteration=number)
        return self.leaf("Gather", port.operand, index, iteration=number, axis=port.role.axis)

    def unsqueeze(self, value: Value, axis: int, iteration: int | None = None) -> Value:
        """Insert an axis."""
        if self.at.opset >= _AXES_ARE_INPUTS:
            return self.leaf("Unsqueeze", value, self.number(axis, 1), iteration=iteration)
        return self.leaf("Unsqueeze", value, iteration=iteration, axes=[axis])

    def stack(
        self, port: StackedPort, elements: Sequence[Value | None], result: Value | None = None
    ) -> Value:
        """Stack the elements of all iterations along the port's axis, in its direction."""
        axis, rows = self.axis(port), []
        for number, element in enumerate(elements):
            assert element is not None, "a stacked element is there"
            rows.append(self.unsqueeze(element, axis, number))
        ordered = rows[::-1] if port.role.reverse else rows
        return self.leaf("Concat", *ordered, axis=axis, result=result)

    def axis(self, port: StackedPort) -> int:
        """The axis of a stacked result, counted from the front."""
        if port.role.axis >= 0:
            return port.role.axis
        shape = self.at.shape(port.element)
        assert shape is not None, "an axis counted from the last is refused for an unknown rank"
        return port.role.axis % (len(shape) + 1)

    def scalar(self, value: Value, known_as: Value | None = None) -> Value:
        """Reshape a one-element value to a scalar; `known_as` is the value with the known shape."""
        if self.at.shape(known_as or value) == ():
            return value
        return self.leaf("Reshape", value, self.no_axes())

    def slice(self, value: Value, start: Value, end: Value, axis: int, step: int) -> Value:
        """A slice of the value along an axis."""
        return self.leaf("Slice", value, start, end, self.number(axis, 1), self.number(step, 1))

    def reversed(self, value: Value, axis: int) -> Value:
        """The value reversed along an axis."""
        first, before_all = self.number(-1, 1), self.number(np.iinfo(np.int64).min, 1)
        return self.slice(value, first, before_all, axis, -1)

    def rank(self, param: Value) -> int:
        """The rank that the body declares for its iteration number or condition."""
        return declared_rank(self.loop, self.loop.body.params.index(param))

    def gives(self, result: Value | None, value: Value | None) -> None:
        """Replace the loop's result by this value."""
        if result is not None and result is not value:
            self.replaced[result] = value

    def steps(self) -> list[Step]:
        """The written steps."""
        return self.writer.steps
