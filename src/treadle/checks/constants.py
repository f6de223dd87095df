"""Values that follow from the file's own constants, whatever inputs the model is given."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import numpy as np

from treadle import ops
from treadle.ir import (
    Block,
    Condition,
    Leaf,
    Literal,
    Loop,
    Model,
    Step,
    Value,
    bodies,
    captures,
)

Known = Mapping[Value, np.ndarray]

_MOST_ELEMENTS = 64


def constant_values(model: Model) -> Known:
    """Find the values that are the same array in every run, among small tensors.

    An input with a default is not constant: a caller may feed another value.
    """
    known: dict[Value, np.ndarray] = {}
    pending = [model.main, *(function.block for function in model.functions.values())]
    while pending:
        pending += _learn(pending.pop(), known)
    return known


def is_true(known: Known, value: Value | None) -> bool | None:
    """The bool held by a constant value of one element; None if the value is not constant."""
    array = known.get(value) if value is not None else None
    return bool(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def whole(known: Known, value: Value | None) -> int | None:
    """The integer held by a constant value of one element; None if the value is not constant."""
    array = known.get(value) if value is not None else None
    if array is None or array.size != 1 or array.dtype.kind not in "iu":
        return None
    return int(array.reshape(-1)[0])


def _learn(block: Block, known: dict[Value, np.ndarray]) -> Sequence[Block]:
    inputs = set(block.params)
    for constant in block.constants:
        if constant.value not in inputs and isinstance(constant.data, Literal):
            known[constant.value] = constant.data.array
    inner: list[Block] = []
    for step in block.steps:
        if isinstance(step, Leaf):
            _fold(step, known)
        _enter(step, known)
        inner += (body for _, body in bodies(step))
    return inner


def _fold(leaf: Leaf, known: dict[Value, np.ndarray]) -> None:
    if len(leaf.results) != 1 or leaf.results[0] is None:
        return
    operands = [known.get(value) if value is not None else None for value in leaf.operands]
    pairs = zip(leaf.operands, operands, strict=True)
    if any(value is not None and array is None for value, array in pairs):
        return
    is_constant = leaf.op == "Constant" and not leaf.domain
    most, exact = (sys.maxsize, False) if is_constant else (_MOST_ELEMENTS, True)
    (array,) = ops.fold(leaf, operands, most, exact=exact) or (None,)
    if isinstance(array, np.ndarray):
        known[leaf.results[0]] = array


def _enter(step: Step, known: dict[Value, np.ndarray]) -> None:
    for value, param in captures(step):
        if value is not None and value in known:
            known[param] = known[value]
    if isinstance(step, Loop):
        for role, param in zip(step.roles, step.body.params, strict=True):
            if isinstance(role, Condition):
                known[param] = np.array(True)
