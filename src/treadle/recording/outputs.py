"""The outputs of an exposed model as columns: which value, in which iterations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from treadle.passes import Exposure, Form, Target
from treadle.tracing import Column, QualifiedName, Statistics


def columns(
    exposure: Exposure, outputs: Mapping[str, Any], *, never_made: bool = False
) -> Iterator[Column]:
    """What the outputs of an exposed model say of each value; of those never made too if asked."""
    for target, names in exposure.names.items():
        if target.form is Form.STATISTICS:
            continue
        place = place_of(target)
        given = {kind: outputs[called] for kind, called in names.items()}
        made, numbers, extents = _made(target, given)
        if len(made) or never_made:
            yield Column(*place, made, numbers, extents, target.step)


def statistics(
    exposure: Exposure, outputs: Mapping[str, Any]
) -> Iterator[tuple[QualifiedName, Statistics]]:
    """The statistics among the outputs of an exposed model."""
    for target, names in exposure.names.items():
        if target.form is Form.STATISTICS:
            given = {kind: np.asarray(outputs[called]).item() for kind, called in names.items()}
            yield place_of(target), _statistics(given)


def _statistics(given: Mapping[str, Any]) -> Statistics:
    nans, infs = given.get("nans", 0), given.get("infinite", 0)
    made = Statistics(given["elements"], nans, infs, total=given["sum"])
    if made.count > nans + infs:
        made.minimum, made.maximum = given["minimum"], given["maximum"]
    return made


def place_of(target: Target) -> QualifiedName:
    """The path and the name under which a value is recorded."""
    return place_of_step(target.output) if target.extra else QualifiedName(target.path, target.name)


def place_of_step(extra: str) -> QualifiedName:
    """The place of what is recorded of a step, such as "main/loop_3@trips"."""
    path, _, name = extra.rpartition("/")
    return QualifiedName(path, name)


def _made(target: Target, given: Mapping[str, Any]) -> tuple[Any, Any, tuple[int, ...]]:
    values = given["values"]
    if target.form is not Form.TENSOR:
        return _grouped(values, given.get("lengths")), given["at"], ()
    if not target.depth:
        return [values], np.zeros((1, 0), np.int64), ()
    extents, shape = values.shape[: target.depth], values.shape[target.depth :]
    return values.reshape(prod(extents), *shape), None, extents


def _grouped(values: Sequence[Any], lengths: np.ndarray | None) -> Sequence[Any]:
    """Group the elements by the sequences they belong to."""
    if lengths is None:
        return values
    ends = np.cumsum(lengths).tolist()
    return [list(values[end - n : end]) for end, n in zip(ends, lengths.tolist(), strict=True)]
