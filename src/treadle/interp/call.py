"""A call of an operator that the standard defines by other operators: runs their block.

    results = block(*operands, *captures)

The definition may depend on the types of the operands, so it is made at run time, once for each
combination of types. Functions of the model itself have been inlined before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treadle import ops
from treadle.errors import Unsupported
from treadle.interp.executable import Define, Executable, Prepare
from treadle.ir import Call, Leaf, Tensor, Type, Value, domain_of, dtype_of, operator_of, show_type
from treadle.ir import Sequence as SequenceType
from treadle.plan import RunContext
from treadle.tracing import Iterations

Types = tuple[Type | None, ...]

_MOST_KEPT = 256


def prepare_call(
    step: Leaf | Call, path: str, define: Define | None, prepare: Prepare
) -> Executable:
    """Prepare the call; its operands are (*operands, *captures).

    Raises Unsupported if there is neither a kernel nor a definition; at run time, if there is no
    definition for the types at hand.
    """
    domain = domain_of(step)
    schema = ops.schema(domain, operator_of(step), step.version)
    if schema is None or not schema.is_function or define is None:
        name = f"{domain}::{operator_of(step)}" if domain else operator_of(step)
        raise Unsupported(name, step.version or None, ops.without_kernel(domain), path)
    return _by_types(step, path, define, prepare)


def _by_types(step: Leaf | Call, path: str, define: Define, prepare: Prepare) -> Executable:
    actions: dict[Types, Executable] = {}

    def prepared(types: Types) -> Executable:
        block = define(step, types)
        if block is None:
            given = ", ".join(map(show_type, types))
            why = f"no kernel evaluates it, and it is not defined for ({given})"
            raise Unsupported(operator_of(step), step.version, why, path)
        return prepare(block, f"{path}.function")

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        types = tuple(map(_type, step.operands, operands))
        if types not in actions:
            if len(actions) >= _MOST_KEPT:
                actions.clear()
            actions[types] = prepared(types)
        return actions[types](operands, context, iterations)

    return act


def _type(operand: Value | None, value: Any) -> Type | None:
    """The type of the value; elements of a sequence may differ in shape but not in dtype."""
    if not isinstance(value, list):
        return ops.type_of(value)
    if value and isinstance(value[0], np.ndarray):
        return SequenceType(Tensor(dtype_of(value[0].dtype)))
    return operand.type if operand is not None else None
