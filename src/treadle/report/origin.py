"""Traces a value to its origin: through captures and steps that only pass it on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treadle.ir import (
    Attribute,
    Block,
    Branch,
    Call,
    Carried,
    Condition,
    Constant,
    Invariant,
    Iteration,
    Leaf,
    Loop,
    Model,
    Sliced,
    SparseArray,
    Step,
    Value,
    bodies,
    step_path,
)
from treadle.ir import Literal as TensorLiteral

Kind = Literal["input", "constant", "step", "iteration", "condition", "carried", "sliced"]

_PASSES_ON = frozenset({"Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Flatten"})
_ROLE_KINDS: Mapping[type, Kind] = {
    Iteration: "iteration",
    Condition: "condition",
    Carried: "carried",
    Sliced: "sliced",
}


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """The origin of a value: an input, a constant (its `array`), a step, or a role in a loop.

    `path` is that of the block for an input, a constant or a role, and of the step otherwise.
    """

    value: Value
    kind: Kind
    path: str
    array: np.ndarray | None = None


Origins = Mapping[Value, Origin]


def origins(model: Model) -> Origins:
    """The origin of every value of the model that has one."""
    found: dict[Value, Origin] = {}
    _collect(model.main, "main", found)
    for identity, function in model.functions.items():
        _collect(function.block, str(identity), found)
    return found


def _collect(block: Block, path: str, found: dict[Value, Origin]) -> None:
    for param in block.params:
        found.setdefault(param, Origin(param, "input", path))
    for constant in block.constants:
        found.setdefault(constant.value, _constant(constant, path))
    for position, step in enumerate(block.steps):
        at = step_path(path, step, position)
        for name, body in bodies(step):
            found.update(list(_enter(step, body, f"{at}.{name}", found)))
            _collect(body, f"{at}.{name}", found)
        for result in step.results:
            if result is not None:
                found[result] = _made(step, result, at, found)


def _enter(step: Step, body: Block, path: str, found: Origins) -> Iterator[tuple[Value, Origin]]:
    match step:
        case Loop():
            operands = iter(step.operands)
            for role, param in zip(step.roles, body.params, strict=True):
                outer = None if isinstance(role, Iteration | Condition) else next(operands)
                if not isinstance(role, Invariant):
                    yield param, Origin(param, _ROLE_KINDS[type(role)], path)
                elif outer is not None and outer in found:
                    yield param, found[outer]
        case Branch():
            given = zip(body.params, step.operands, strict=True)
            yield from ((param, found[v]) for param, v in given if v is not None and v in found)
        case Leaf() | Call():
            captured = body.params[len(body.params) - len(step.captures) :]
            given = zip(captured, step.captures, strict=True)
            yield from ((param, found[v]) for param, v in given if v is not None and v in found)


def _made(step: Step, result: Value, path: str, found: Origins) -> Origin:
    operator = step.op if isinstance(step, Leaf) and not step.domain else ""
    if operator in _PASSES_ON and step.results[0] is result:
        source = found.get(first) if (first := _first(step)) is not None else None
        if source is not None:
            return source
    array = _constant_leaf(step) if operator == "Constant" else None
    return Origin(result, "constant" if array is not None else "step", path, array)


def _first(step: Step) -> Value | None:
    return step.operands[0] if step.operands else None


def _constant_leaf(step: Step) -> np.ndarray | None:
    assert isinstance(step, Leaf)
    given = next(iter(step.attributes.values()), None)
    return _array(given) if given is not None else None


def _array(attribute: Attribute) -> np.ndarray | None:
    match attribute.value:
        case TensorLiteral(array=array):
            return array
        case SparseArray() as sparse:
            return sparse.dense()
        case int() | float() as scalar:
            return np.asarray(scalar)
        case tuple() as items if all(isinstance(item, int | float) for item in items):
            return np.asarray(items)
    return None


def _constant(constant: Constant, path: str) -> Origin:
    return Origin(constant.value, "constant", path, constant.array)
