"""Unrolls a loop with a known number of iterations."""

from __future__ import annotations

import numpy as np

from treadle.ir import Loop, StackedPort, Value
from treadle.passes.rewrites.unroll.line import Line
from treadle.passes.simplify.context import PassContext


def counted_line(loop: Loop, trips: int, at: PassContext) -> Line:
    """The straight-line code of a loop with a known number of iterations; in open form."""
    line = Line(loop, at)
    carried: list[Value | None] = [port.initial for port in line.view.carried]
    rows: list[list[Value | None]] = []
    for number in range(trips):
        is_last = number == trips - 1
        carried, elements, _ = line.iterate(number, carried, None, is_last)
        rows.append(elements)
    for port, value in zip(line.view.carried, carried, strict=True):
        line.gives(port.result, value)
    for index, stack in enumerate(line.view.stacked):
        if stack.result is not None:
            elements = [row[index] for row in rows]
            line.gives(stack.result, _stacked(line, stack, elements))
    return line


def _stacked(line: Line, port: StackedPort, elements: list[Value | None]) -> Value:
    if not elements:
        return line.writer.constant(_empty(line, port), value=port.result)
    return line.stack(port, elements, port.result)


def _empty(line: Line, port: StackedPort) -> np.ndarray:
    extents, dtype = line.at.extents(port.element), line.at.dtype(port.element)
    assert extents is not None, "an element of unknown extents is refused"
    assert dtype is not None, "an element of unknown dtype is refused"
    shape = list(extents)
    shape.insert(line.axis(port), 0)
    return np.zeros(shape, dtype.numpy)
