"""A call: the function's block runs over the operands, in a scope of its own.

    results = function(*operands)

The function is the model's own, or the one the standard defines an operator by. That one may depend
on the types of the operands, so it is asked for at run time, once for each combination of types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treadle import ops
from treadle.errors import Unsupported
from treadle.interp.work import Action, Prepare, Work
from treadle.ir import Call, Function, Leaf, Type, Value, operator_of
from treadle.ir import Sequence as SequenceType
from treadle.passes import bind_attributes
from treadle.plan import RunContext, interp_only
from treadle.tracing import Iterations

Types = tuple[Type | None, ...]


def prepare_call(step: Leaf | Call, path: str, work: Work, prepare: Prepare) -> Action:
    """The call ready to run; its operands are (*operands, *captures).

    Raises Unsupported where there is neither a kernel nor a function.
    """
    if isinstance(step, Call) and step.function in work.functions:
        return _prepared(work.functions[step.function], step, path, prepare)
    domain = step.domain if isinstance(step, Leaf) else step.function.domain
    schema = ops.schema(domain, operator_of(step), step.version)
    if schema is None or not schema.is_function or work.expand is None:
        raise _unsupported(step, path)
    return _by_types(step, path, work, prepare)


def _by_types(step: Leaf | Call, path: str, work: Work, prepare: Prepare) -> Action:
    actions: dict[Types, Action] = {}

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        types = tuple(map(_type, step.operands, operands))
        if types not in actions:
            actions[types] = _prepared(_function(step, types, path, work), step, path, prepare)
        return actions[types](operands, context, iterations)

    return act


def _function(step: Leaf | Call, types: Types, path: str, work: Work) -> Function:
    assert work.expand is not None
    function = work.expand(step, types)
    if function is None:
        raise _unsupported(step, path)
    return function


def _prepared(function: Function, step: Leaf | Call, path: str, prepare: Prepare) -> Action:
    block = bind_attributes(function, step.attributes)
    missing = len(block.params) - len(step.operands) - len(step.captures)
    action = prepare(interp_only(block, f"{path}.function"))
    if not missing:
        return action

    def act(operands: Sequence[Any], context: RunContext, iterations: Iterations) -> Sequence[Any]:
        return action((*operands, *[None] * missing), context, iterations)

    return act


def _type(operand: Value | None, value: Any) -> Type | None:
    """The type of the value; of an empty sequence, the one its operand is known to have."""
    if value == [] and operand is not None and isinstance(operand.type, SequenceType):
        return operand.type
    return ops.type_of(value)


def _unsupported(step: Leaf | Call, path: str) -> Unsupported:
    domain = step.domain if isinstance(step, Leaf) else step.function.domain
    name = f"{domain}::{operator_of(step)}" if domain else operator_of(step)
    return Unsupported(name, step.version or None, "nothing here evaluates it", path)
