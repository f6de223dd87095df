"""Common subexpression elimination: merges equal steps and constants into the first one.

    a = Mul(x, y)   b = Mul(x, y)        a = Mul(x, y), readers of b read a

The first one may be in an enclosing block. Only pure steps merge; if the first one fails, the
second would not have run. Declines for steps inside one branch of an If, and for constants of more
than 1,024 elements. A Constant whose value is a result of its body stays: each body has its own.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from treadle.ir import (
    Attribute,
    Block,
    Branch,
    Constant,
    Kind,
    Leaf,
    Literal,
    Loop,
    SparseArray,
    Step,
    Value,
    map_bodies,
    operator_of,
    step_path,
    with_operands,
)
from treadle.passes.simplify.captures import replaced
from treadle.passes.simplify.context import FEW, PassContext
from treadle.passes.simplify.speculation import is_pure

NAME = "common subexpressions eliminated"
_LARGE = (Kind.TENSORS, Kind.SPARSES)
Seen = ChainMap[object, tuple[Value | None, ...]]


def eliminate_common_steps(block: Block, at: PassContext) -> Block:
    """Merge all equal steps and constants of the open block."""
    by: dict[Value, Value | None] = {}
    merged = _merged(block, "main", ChainMap(), by, at)
    return replaced(merged, by) if by else block


def _merged(
    block: Block, path: str, seen: Seen, by: dict[Value, Value | None], at: PassContext
) -> Block:
    params, results = set(block.params), set(block.results)
    constants = []
    for constant in block.constants:
        key = constant_key(constant)
        if constant.value in params or key is None or not _known(key, (constant.value,), seen, by):
            constants.append(constant)
    steps: list[Step] = []
    for position, step in enumerate(block.steps):
        where = step_path(path, step, position)
        reading = with_operands(step, by) if by else step
        is_own = operator_of(step) == "Constant" and bool(results.intersection(step.results))
        key = None if is_own else step_key(reading)
        if key is not None and _known(key, step.results, seen, by):
            at.note(NAME, where, operator_of(step))
            continue
        if isinstance(reading, Loop | Branch):
            reading = _inside(reading, where, seen, by, at)
        steps.append(reading)
    return replace(block, constants=tuple(constants), steps=tuple(steps))


def _inside(
    step: Loop | Branch, path: str, seen: Seen, by: dict[Value, Value | None], at: PassContext
) -> Step:
    return map_bodies(
        step, lambda name, body: _merged(body, f"{path}.{name}", seen.new_child(), by, at)
    )


def _known(
    key: object,
    results: tuple[Value | None, ...],
    seen: Seen,
    by: dict[Value, Value | None],
) -> bool:
    """Replace the step by an equal earlier one, if there is one."""
    first = seen.setdefault(key, results)
    if first is results:
        return False
    by.update((new, old) for new, old in zip(results, first, strict=True) if new is not None)
    return True


def step_key(step: Step) -> object:
    """A key that equal steps share; None for a step that must not be merged."""
    if not isinstance(step, Leaf) or not is_pure(step) or step.op == "Identity":
        return None
    attributes = attributes_key(step.attributes)
    if attributes is None:
        return None
    absent = tuple(value is None for value in step.results)
    return (step.op, step.version, step.operands, attributes, absent)


def attributes_key(attributes: Mapping[str, Attribute]) -> object:
    """The attributes as a comparable key; None if one is large."""
    found = []
    for name, attribute in sorted(attributes.items()):
        value = attribute.value
        key = literal_key(value) if isinstance(value, Literal) else repr(value)
        if key is None or isinstance(value, SparseArray) or attribute.kind in _LARGE:
            return None
        found.append((name, attribute.kind, key))
    return tuple(found)


def constant_key(constant: Constant) -> object:
    """A small constant as a comparable key."""
    return literal_key(constant.data) if isinstance(constant.data, Literal) else None


def literal_key(literal: Literal) -> object:
    """A small tensor as a comparable key: its type, its shape and its bits."""
    array = literal.array
    if array.size > FEW:
        return None
    content = (
        tuple(array.reshape(-1)) if array.dtype == object else np.ascontiguousarray(array).tobytes()
    )
    return (literal.dtype, array.shape, content)
