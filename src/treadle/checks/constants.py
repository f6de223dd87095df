"""What the file's own constants say of values: what does not depend on what the model is fed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from treadle import ops
from treadle.errors import KernelError, Unsupported
from treadle.ir import (
    Block,
    Condition,
    Leaf,
    Literal,
    Loop,
    Model,
    Reference,
    Step,
    Value,
    bodies,
    captures,
)

Known = Mapping[Value, np.ndarray]

_FOLDED = frozenset(
    {
        "Abs", "Add", "And", "Cast", "Ceil", "Concat", "Constant", "ConstantOfShape", "Div",
        "Equal", "Floor", "Gather", "Greater", "GreaterOrEqual", "Identity", "Less", "LessOrEqual",
        "Max", "Min", "Mul", "Neg", "Not", "Or", "Reshape", "Shape", "Size", "Slice", "Squeeze",
        "Sub", "Unsqueeze", "Where", "Xor",
    }
)  # fmt: skip
_MOST_ELEMENTS = 64
_CONSTANT_OF = {"value": None, "value_int": "int64", "value_float": "float32"}


def constant_values(model: Model) -> Known:
    """The values every run of the model has the same array for, as far as small ones show it.

    An input with a default may be fed another value, so it is not known.
    """
    known: dict[Value, np.ndarray] = {}
    pending = [model.main, *(function.block for function in model.functions.values())]
    while pending:
        pending += _learn(pending.pop(), known)
    return known


def is_true(known: Known, value: Value | None) -> bool | None:
    """The bool a known value of one element holds; None where it is not known."""
    array = known.get(value) if value is not None else None
    return bool(array.reshape(-1)[0]) if array is not None and array.size == 1 else None


def whole(known: Known, value: Value | None) -> int | None:
    """The whole number a known value of one element holds; None where it is not known."""
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
    if leaf.domain or leaf.op not in _FOLDED or len(leaf.results) != 1 or leaf.results[0] is None:
        return
    operands = [known.get(value) if value is not None else None for value in leaf.operands]
    pairs = zip(leaf.operands, operands, strict=True)
    if any(value is not None and array is None for value, array in pairs):
        return
    if any(isinstance(attribute.value, Reference) for attribute in leaf.attributes.values()):
        return
    array = _constant(leaf) if leaf.op == "Constant" else _evaluated(leaf, operands)
    if isinstance(array, np.ndarray):
        known[leaf.results[0]] = array


def _constant(leaf: Leaf) -> np.ndarray | None:
    for name, dtype in _CONSTANT_OF.items():
        value = leaf.attributes[name].value if name in leaf.attributes else None
        if isinstance(value, Literal):
            return value.array
        if dtype is not None and isinstance(value, int | float):
            return np.array(value, dtype)
    ints = leaf.attributes["value_ints"].value if "value_ints" in leaf.attributes else None
    return np.array(ints, np.int64) if isinstance(ints, tuple) else None


def _evaluated(leaf: Leaf, operands: Sequence[np.ndarray | None]) -> np.ndarray | None:
    if any(array is not None and array.size > _MOST_ELEMENTS for array in operands):
        return None
    if leaf.op == "ConstantOfShape" and _extent(operands) > _MOST_ELEMENTS:
        return None
    try:
        (result,) = ops.bind_kernel(leaf)(operands)
    except (KernelError, Unsupported):
        return None
    return result if isinstance(result, np.ndarray) and result.size <= _MOST_ELEMENTS else None


def _extent(operands: Sequence[np.ndarray | None]) -> int:
    shape = operands[0] if operands else None
    return 0 if shape is None else prod(map(int, shape.reshape(-1)))


def _enter(step: Step, known: dict[Value, np.ndarray]) -> None:
    for value, param in captures(step):
        if value is not None and value in known:
            known[param] = known[value]
    if isinstance(step, Loop):
        for role, param in zip(step.roles, step.body.params, strict=True):
            if isinstance(role, Condition):
                known[param] = np.array(True)
