"""Classifies the operands of repeated segments: captured, inner, carried, or one per segment.

    captured    the same value in all segments
    inner       the result of a step of the same segment
    carried     a result of the previous segment; in the first, an outer value
    each        a different outer value in every segment

A run with any other operand has no match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from treadle.ir import Step, Value
from treadle.passes.rewrites.reroll.segments import Run
from treadle.passes.rewrites.reroll.signature import all_reads

Content = Callable[[Value], np.ndarray | None]
Place = tuple[int, int]
"""A result in a segment: the position of its step, and of the result."""


@dataclass(slots=True)
class Match:
    """A run with classified operands."""

    run: Run
    captured: dict[Place, Value] = field(default_factory=dict)
    inner: dict[Place, Place] = field(default_factory=dict)
    carried: dict[Place, tuple[Place, Value]] = field(default_factory=dict)
    each: dict[Place, tuple[Value, ...]] = field(default_factory=dict)
    affine: dict[Place, tuple[int, int, np.dtype, tuple[int, ...]]] = field(default_factory=dict)


def match(
    steps: Sequence[Step],
    run: Run,
    content: Content,
    before: Mapping[Value, int],
    *,
    layers: bool,
) -> Match | None:
    """The match of a run.

    `content` gives the array of a constant, None for other values; `before` maps each value to the
    place of the step that defines it.
    """
    found = Match(run)
    for position in range(run.period):
        segments = range(run.start + position, run.start + run.size, run.period)
        for number, read in enumerate(zip(*(all_reads(steps[k]) for k in segments), strict=True)):
            if read[0] is None:
                continue
            values = [value for value in read if value is not None]
            source = (position, number)
            if not _classify(found, source, values, steps, content, before, layers=layers):
                return None
    return found


def _classify(
    found: Match,
    position: Place,
    values: list[Value],
    steps: Sequence[Step],
    content: Content,
    before: Mapping[Value, int],
    *,
    layers: bool,
) -> bool:
    run = found.run
    makers = [before.get(value, -1) for value in values]
    if all(value is values[0] for value in values) and makers[0] < run.start:
        found.captured[position] = values[0]
        return True
    where = [_in_segment(run, maker) for maker in makers]
    inside = [_result(steps, run, w, value) for w, value in zip(where, values, strict=True)]
    if all(w is not None and w[0] == t for t, w in enumerate(where)) and len(set(inside)) == 1:
        assert inside[0] is not None, "a value made in the segment"
        found.inner[position] = inside[0]
        return True
    later = where[1:]
    if where[0] is None and all(w is not None and w[0] == t for t, w in enumerate(later)):
        if len(set(inside[1:])) != 1 or inside[1] is None or makers[0] >= run.start:
            return False
        found.carried[position] = (inside[1], values[0])
        return True
    if any(maker >= run.start for maker in makers):
        return False
    return _each(found, position, values, content, layers=layers)


def _in_segment(run: Run, maker: int) -> tuple[int, int] | None:
    if not run.start <= maker < run.start + run.size:
        return None
    return divmod(maker - run.start, run.period)


def _result(
    steps: Sequence[Step], run: Run, where: tuple[int, int] | None, value: Value
) -> Place | None:
    if where is None:
        return None
    segment, position = where
    results = steps[run.start + segment * run.period + position].results
    return position, results.index(value)


def _each(
    found: Match,
    position: Place,
    values: list[Value],
    content: Content,
    *,
    layers: bool,
) -> bool:
    arrays = [array for array in map(content, values) if array is not None]
    if len(arrays) < len(values):
        if arrays or not layers:
            return False
        found.each[position] = tuple(values)
        return True
    if len({(array.dtype.str, array.shape) for array in arrays}) > 1:
        return False
    if all(np.array_equal(array, arrays[0]) for array in arrays):
        found.captured[position] = values[0]
        return True
    if arrays[0].dtype.kind == "i" and arrays[0].size == 1:
        numbers = [int(array.reshape(-1)[0]) for array in arrays]
        by = numbers[1] - numbers[0]
        if all(n == numbers[0] + by * t for t, n in enumerate(numbers)):
            found.affine[position] = (numbers[0], by, arrays[0].dtype, arrays[0].shape)
            return True
    if not layers and (arrays[0].dtype.kind != "i" or arrays[0].size > 1):
        return False
    found.each[position] = tuple(values)
    return True
