"""Lowers a block of the program to the kernel IR: its steps in order, over nodes by value.

A leaf whose operands are all constant is folded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle import ops
from treadle.ir import (
    Attribute,
    Block,
    Branch,
    Call,
    Constant,
    Kind,
    Leaf,
    Loop,
    Operands,
    Step,
    Value,
    dtype_of,
    operator_of,
)
from treadle.jit.host.sequence_layout import PARTS_DOMAIN
from treadle.jit.host.sequence_marshal import LISTS
from treadle.jit.kernel.builder import WrongElementGuess
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Constant as ConstantNode
from treadle.jit.kernel.ir import Node
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.lowering.branch import lower_branch
from treadle.jit.lowering.host_call import lower_host_call
from treadle.jit.lowering.loop import lower_loop
from treadle.jit.lowering.lowering_builder import LoweringBuilder
from treadle.jit.lowering.registry import lowering
from treadle.jit.lowering.sequences.ragged_ops import lower_parts

Environment = dict[Value, Node | None]
_MAX_FOLDED_ELEMENTS = 4096
"""The number of operand elements up to which a leaf is folded."""
_MAX_CONVERTED_ELEMENTS = 2**26
"""The same for operators of `_CONVERSIONS`."""
_CONVERSIONS = frozenset((
    "Cast", "CastLike", "Concat", "DequantizeLinear", "Gather", "Pad", "Slice", "Split",
    "Transpose",
))  # fmt: skip
"""Operators that rearrange or convert elements: folded for large constants too."""
_IDENTITIES = ("Identity", "Optional")


def lower_block(
    builder: LoweringBuilder, block: Block, params: Sequence[Node | None]
) -> list[Node | None]:
    """The nodes of the block's results; `params` are the nodes of its params."""
    return _read(lower_steps(builder, block, params), block.results)


def lower_steps(
    builder: LoweringBuilder, block: Block, params: Sequence[Node | None]
) -> Environment:
    """The nodes of all named values of the block."""
    environment: Environment = {c.value: _constant(builder, c) for c in block.constants}
    environment.update(zip(block.params, params, strict=True))
    for step in block.steps:
        made = _lower_step(builder, step, environment)
        for value, node in zip(step.results, made, strict=True):
            if value is not None:
                environment[value] = node
    return environment


def _constant(builder: LoweringBuilder, constant: Constant) -> Node | None:
    """A constant of the program, boxed if it has no native form."""
    if dtype_of(constant.array.dtype) in NATIVE:
        return builder.constant(constant.array)
    value = Attribute("value", Kind.TENSOR, constant.data)
    leaf = Leaf("", "Constant", 13, (), (constant.value,), {"value": value})
    return lower_host_call(builder, leaf, ())[0]


def _read(environment: Environment, values: Operands) -> list[Node | None]:
    return [None if value is None else environment[value] for value in values]


def _lower_step(
    builder: LoweringBuilder, step: Step, environment: Environment
) -> Sequence[Node | None]:
    match step:
        case Leaf(domain=domain) if domain == PARTS_DOMAIN:
            return lower_parts(builder, step, _read(environment, step.operands))
        case Leaf():
            return _lower_leaf(builder, step, _read(environment, step.operands))
        case Loop():
            given = _read(environment, (step.trip, step.condition, *step.operands))
            return lower_loop(builder, step, given, lower_block)
        case Branch():
            given = _read(environment, (step.condition, *step.operands))
            return lower_branch(builder, step, given, lower_block)
        case Call():
            raise Declined(f"no native code for {operator_of(step)}")


def _lower_leaf(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> Sequence[Node | None]:
    if any(node in builder.objects for node in operands):
        is_same = leaf.op in _IDENTITIES and not leaf.domain
        return operands if is_same else lower_host_call(builder, leaf, operands)
    folded = _folded(builder, leaf, operands)
    if folded is not None:
        return folded
    lower = lowering(leaf.domain, leaf.op, leaf.version)
    if lower is None:
        return lower_host_call(builder, leaf, operands)
    mark = builder.mark()
    try:
        given = {**attributes_of(leaf), "results": len(leaf.results)}
        _expect_shapes(builder, leaf, operands, given)
        made = lower(builder, operands, given)
        return _wanted(leaf, (made,) if isinstance(made, Node) else tuple(made))
    except WrongElementGuess:  # the loop that carries the list lowers its body again
        raise
    except Declined as why:
        builder.back(mark)
        return _called(builder, leaf, operands, why)


def _expect_shapes(
    builder: LoweringBuilder,
    leaf: Leaf,
    operands: Sequence[Node | None],
    attributes: Mapping[str, Any],
) -> None:
    """Decline ranks and extents that the standard does not allow: interp's kernel reports them."""
    if leaf.domain:
        return
    fault = ops.rank_fault(
        leaf.op, [None if node is None else len(node.shape) for node in operands]
    )
    if fault:
        raise Declined(fault)
    position, wanted = ops.repeated_extents(leaf.op, attributes)
    node = operands[position] if position < len(operands) else None
    if wanted is not None and node is not None:
        builder.expect_shape(
            node.shape[2:], tuple(wanted), "an operand of another rank than an attribute"
        )


def _wanted(leaf: Leaf, made: Sequence[Node | None]) -> Sequence[Node | None]:
    """A node for each result; raises Declined if the lowering returned none for a needed one."""
    results = (*made, *(None,) * len(leaf.results))[: len(leaf.results)]
    if any(n is None and v is not None for n, v in zip(results, leaf.results, strict=True)):
        raise Declined(f"no native code for a result of {leaf.op}-{leaf.version}")
    return results


def _called(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None], why: Declined
) -> Sequence[Node | None]:
    """A host call for a leaf that the lowering declined.

    If it declines too, the first reason counts.
    """
    mark = builder.mark()
    try:
        return lower_host_call(builder, leaf, operands)
    except Declined as second:
        builder.back(mark)
        raise Declined(f"{operator_of(leaf)}: {why}") from second


def attributes_of(leaf: Leaf) -> dict[str, Any]:
    """The attributes of a leaf, with the schema's defaults."""
    defaults = ops.defaults_of(leaf.domain, leaf.op, leaf.version)
    return {**defaults, **ops.attributes_of(leaf.attributes)}


def is_deterministic(leaf: Leaf) -> bool:
    """Whether equal operands give equal results."""
    schema = ops.schema(leaf.domain, leaf.op, leaf.version)
    return schema is None or schema.is_deterministic


def _folded(
    builder: LoweringBuilder, leaf: Leaf, operands: Sequence[Node | None]
) -> list[Node | None] | None:
    """The results as constants, if all operands are constants of limited size."""
    if not is_deterministic(leaf) or leaf.op in LISTS or leaf.op in _IDENTITIES:
        return None
    arrays: list[Any] = []
    for node in operands:
        if node is None:
            arrays.append(None)
        elif isinstance(node.op, ConstantNode):
            arrays.append(node.op.array)
        else:
            return None
    size = sum(array.size for array in arrays if array is not None)
    if not arrays or size > (
        _MAX_CONVERTED_ELEMENTS if leaf.op in _CONVERSIONS else _MAX_FOLDED_ELEMENTS
    ):
        return None
    key = (leaf, *operands)
    if key not in builder.evaluated:
        builder.evaluated[key] = _evaluated(builder, leaf, arrays, size)
    return builder.evaluated[key]


def _evaluated(
    builder: LoweringBuilder, leaf: Leaf, arrays: Sequence[Any], size: int
) -> list[Node | None] | None:
    """The evaluated results of a leaf as constants, unless they are larger than its operands."""
    made = ops.fold(leaf, arrays, max(_MAX_FOLDED_ELEMENTS, size), exact=False)
    if made is None:
        return None
    return [None if array is None else builder.constant(array) for array in made]
