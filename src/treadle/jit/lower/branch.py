"""If in the kernel IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treadle import ir
from treadle.ir import DType
from treadle.jit.building import Building
from treadle.jit.kernel_ir import Block, Branch, Constant, Dim, Empty, Extent, Node, Part
from treadle.jit.lower.given import native, present, scalar
from treadle.jit.lower.held import boxed, nothing
from treadle.jit.lower.sequence import empty
from treadle.jit.nodes import Declined

Given = Sequence[Node | None]
LowerBlock = Callable[[Building, ir.Block, Sequence[Node | None]], list[Node | None]]


def lower_branch(b: Building, step: ir.Branch, given: Given, lower: LowerBlock) -> Sequence[Node]:
    """The parts of a Branch node, or the results of the block that is always taken."""
    condition, *operands = given
    condition = native(b, present(condition), step.condition)
    condition = scalar(b, condition, "a condition", (DType.BOOL,))
    assert condition is not None
    if isinstance(condition.op, Constant):
        side = step.then if condition.op.array.all() else step.otherwise
        return [_or_nothing(b, node) for node in lower(b, side, operands)]
    outer = b.block
    blocks = Block("then", outer), Block("else", outer)
    sides = []
    for block, body in zip(blocks, (step.then, step.otherwise), strict=True):
        b.block = block
        sides.append(lower(b, body, operands))
    values = zip(step.then.results, step.otherwise.results, strict=True)
    pairs = [
        _alike_sides(b, blocks, nodes, each)
        for nodes, each in zip(zip(*sides, strict=True), values, strict=True)
    ]
    b.block = outer
    pairs = [(_alike(b, one, other), _alike(b, other, one)) for one, other in pairs]
    first, second = (tuple(side) for side in zip(*pairs, strict=True)) if pairs else ((), ())
    node = b.add(Branch(*blocks, first, second), DType.BOOL, (), condition)
    return [_either(b, node, k, one, other) for k, (one, other) in enumerate(pairs)]


def _or_nothing(b: Building, node: Node | None) -> Node:
    return nothing(b) if node is None else node


def _alike_sides(
    b: Building, blocks: Sequence[Block], nodes: Sequence[Node | None], values: ir.Operands
) -> tuple[Node, Node]:
    """What both sides give, held outside where it has no native form in common."""
    one, other = nodes
    is_native = one is not None and other is not None and not {one, other} & b.objects
    if is_native and one is not None and other is not None:
        kinds = {(each.dtype, len(each.shape)) for each in (one, other)}
        if len(kinds) == 1 or isinstance(one.op, Empty) or isinstance(other.op, Empty):
            return one, other
    made = []
    for block, node, value in zip(blocks, nodes, values, strict=True):
        b.block = block
        made.append(boxed(b, node, value))
    return made[0], made[1]


def _alike(b: Building, one: Node, other: Node) -> Node:
    """The node; an empty sequence with elements of the other's shape."""
    if not isinstance(one.op, Empty) or isinstance(other.op, Empty):
        return one
    sources = [each.source for each in other.shape[1:] if isinstance(each, Extent)]
    if any(source is not None and source.home.depth > b.block.depth for source in sources):
        return one
    return empty(b, other.dtype, other.shape[1:])


def _either(b: Building, branch: Node, number: int, one: Node, other: Node) -> Node:
    if (one.dtype, len(one.shape)) != (other.dtype, len(other.shape)):
        raise Declined("branches that give different ranks")
    shape = [
        left if left == right else b.number(b.add(Dim(number, axis), DType.INT64, (), branch))
        for axis, (left, right) in enumerate(zip(one.shape, other.shape, strict=True))
    ]
    made = b.add(Part(number), one.dtype, tuple(shape), branch)
    if one in b.objects:
        b.objects.add(made)
    return made
