"""Lowers If."""

from __future__ import annotations

from collections.abc import Sequence

from treadle import ir
from treadle.ir import DType
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    Constant,
    DimOf,
    Empty,
    Node,
    Result,
    SymbolicDim,
    show_node,
)
from treadle.jit.lowering.boxing import boxed, nothing
from treadle.jit.lowering.lowering_builder import LowerBlock, LoweringBuilder
from treadle.jit.lowering.operands import native_operands, present_operands, scalar
from treadle.jit.lowering.sequences.uniform import empty

Given = Sequence[Node | None]


def lower_branch(
    builder: LoweringBuilder, step: ir.Branch, given: Given, lower: LowerBlock
) -> Sequence[Node]:
    """The results of a Branch node, or of the block that is always taken."""
    condition, *operands = given
    condition = native_operands(builder, present_operands(condition), step.condition)
    condition = scalar(builder, condition, "a condition", (DType.BOOL,))
    assert condition is not None
    if isinstance(condition.op, Constant):
        side = step.then if condition.op.array.all() else step.otherwise
        return [node or nothing(builder) for node in lower(builder, side, operands)]
    outer = builder.block
    blocks = Block("then", outer), Block("else", outer)
    sides = []
    for block, body in zip(blocks, (step.then, step.otherwise), strict=True):
        builder.block = block
        sides.append(lower(builder, body, operands))
    values = zip(step.then.results, step.otherwise.results, strict=True)
    pairs = [
        _alike_sides(builder, blocks, nodes, each)
        for nodes, each in zip(zip(*sides, strict=True), values, strict=True)
    ]
    builder.block = outer
    pairs = [(_alike(builder, one, other), _alike(builder, other, one)) for one, other in pairs]
    first, second = (tuple(side) for side in zip(*pairs, strict=True)) if pairs else ((), ())
    node = builder.add(Branch(*blocks, first, second), DType.BOOL, (), condition)
    return [_either(builder, node, k, one, other) for k, (one, other) in enumerate(pairs)]


def _alike_sides(
    builder: LoweringBuilder,
    blocks: Sequence[Block],
    nodes: Sequence[Node | None],
    values: ir.Operands,
) -> tuple[Node, Node]:
    """The results of both sides, boxed if they have no common native form."""
    one, other = nodes
    is_native = one is not None and other is not None and not {one, other} & builder.objects
    if is_native and one is not None and other is not None:
        kinds = {(each.dtype, len(each.shape)) for each in (one, other)}
        if len(kinds) == 1 or isinstance(one.op, Empty) or isinstance(other.op, Empty):
            return one, other
    made = []
    for block, node, value in zip(blocks, nodes, values, strict=True):
        builder.block = block
        made.append(boxed(builder, node, value))
    return made[0], made[1]


def _alike(builder: LoweringBuilder, one: Node, other: Node) -> Node:
    """The node; an empty sequence gets elements of the other side's shape."""
    if not isinstance(one.op, Empty) or isinstance(other.op, Empty):
        return one
    sources = [each.source for each in other.shape[1:] if isinstance(each, SymbolicDim)]
    if any(source is not None and source.home.depth > builder.block.depth for source in sources):
        return one
    return empty(builder, other.dtype, other.shape[1:])


def _either(builder: LoweringBuilder, branch: Node, number: int, one: Node, other: Node) -> Node:
    if (one.dtype, len(one.shape)) != (other.dtype, len(other.shape)):
        raise Declined(
            f"one branch gives {show_node(one)}, the other {show_node(other)}:"
            " one dtype and rank are needed"
        )
    shape = [
        left
        if left == right
        else builder.number(builder.add(DimOf(number, axis), DType.INT64, (), branch))
        for axis, (left, right) in enumerate(zip(one.shape, other.shape, strict=True))
    ]
    made = builder.add(Result(number), one.dtype, tuple(shape), branch)
    if one in builder.objects:
        builder.objects.add(made)
    return made
