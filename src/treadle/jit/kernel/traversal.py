"""Traversal of a kernel: blocks, operands and dims of nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from treadle.ir import show_shape
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Branch,
    Elementwise,
    Gather,
    HostCall,
    InputDim,
    Kind,
    Loop,
    Node,
    Number,
    Reduce,
    Result,
    Scatter,
    Stack,
    SymbolicDim,
    View,
)
from treadle.messages import join_words

_WITH_BLOCKS = frozenset((Loop, Branch))


def _offsets(op: View | Gather | Scatter) -> Iterator[Number]:
    return (axis.offset for axis in op.axes if isinstance(axis, Axis))


def _extents_of_results(op: HostCall) -> Iterator[Number | None]:
    return (extent for kind in op.results if kind is not None for extent in kind[1])


_NUMBERS_READ: Mapping[type, Callable[[Any], Iterable[Number | None]]] = {
    **dict.fromkeys((View, Gather, Scatter), _offsets),
    Loop: lambda op: (op.length, op.extent),
    InputDim: lambda op: (op.extent,),
    HostCall: _extents_of_results,
}
"""The numbers that an operation reads, by its type; others read none."""


def dims_of(node: Node) -> list[SymbolicDim]:
    """The symbolic dims of a node: those of its shape, and those its operation reads."""
    numbers: Iterable[Number | None] = node.shape
    read = _NUMBERS_READ.get(type(node.op))
    if read is not None:
        numbers = (*numbers, *read(node.op))
    return [number for number in numbers if isinstance(number, SymbolicDim)]


def has_known_shape(node: Node, exact: Collection[SymbolicDim]) -> bool:
    """Whether the shape is known before the kernel runs, where `exact` extents are."""
    return all(isinstance(e, int) or e.source is None or e in exact for e in node.shape)


def shape_operands(node: Node) -> list[Node]:
    """The scalars that hold a node's dims: implicit operands."""
    return [dim.source for dim in dims_of(node) if dim.source is not None]


def is_inside(number: Number, body: Block) -> bool:
    """Whether the number is known only in the body of a loop."""
    source = number.source if isinstance(number, SymbolicDim) else None
    return source is not None and source.home.depth >= body.depth


def is_run_once(node: Node, home: Block) -> bool:
    """Whether a node runs once each time a block around it does: no loop is between them."""
    found = next((block for block in node.home.outward() if block.is_loop or block is home), None)
    return found is home


def inner_blocks(node: Node) -> tuple[Block, ...]:
    """The blocks of a Loop or a Branch."""
    match node.op:
        case Loop(body=body):
            return (body,)
        case Branch(then=then, otherwise=otherwise):
            return then, otherwise
    return ()


def yielded(node: Node) -> tuple[Node, ...]:
    """The nodes a Loop or a Branch reads at the end of its blocks."""
    match node.op:
        case Loop() as loop:
            ends = (*loop.nexts, *(stack.element for stack in loop.stacks))
            return ends if loop.next_condition is None else (*ends, loop.next_condition)
        case Branch() as branch:
            return (*branch.then_results, *branch.otherwise_results)
    return ()


def all_blocks(block: Block) -> Iterator[Block]:
    """The block, and those of its nodes."""
    yield block
    for node in block.nodes:
        for inner in inner_blocks(node):
            yield from all_blocks(inner)


def with_inside(node: Node) -> Iterator[Node]:
    """The node, and every node of its blocks."""
    yield node
    for inner in inner_blocks(node):
        yield from all_nodes(inner)


def reads_of(nodes: Iterable[Node]) -> set[Node]:
    """What nodes read, or return from their blocks, the extents of results among it."""
    found = set[Node]()
    for each in nodes:
        found.update(each.operands, shape_operands(each))
        if type(each.op) in _WITH_BLOCKS:
            found.update(yielded(each))
    return found


def all_nodes(block: Block) -> list[Node]:
    """Every node of the block and of nested ones, in order."""
    found: list[Node] = []
    _collect(block, found)
    return found


def _collect(block: Block, found: list[Node]) -> None:
    for node in block.nodes:
        if type(node.op) in _WITH_BLOCKS:
            for inner in inner_blocks(node):
                _collect(inner, found)
        found.append(node)


def computed_from(body: Block, ends: Iterable[Node]) -> set[Node]:
    """The nodes of a body that `ends` are computed from, with them; inner blocks read, too."""
    found, waiting = set[Node](), list(ends)
    while waiting:
        node = waiting.pop()
        if node not in found and node.home is body:
            found.add(node)
            waiting += reads_of(with_inside(node))
    return found


def loops_by_body(nodes: Iterable[Node]) -> dict[Block, Node]:
    """The loops among nodes, by their bodies."""
    return {node.op.body: node for node in nodes if isinstance(node.op, Loop)}


def readers_of(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """The nodes that read each node: as an operand, an extent, or what a block of theirs yields."""
    found = dict[Node, list[Node]]()
    for node in nodes:
        for read in reads_of([node]):
            found.setdefault(read, []).append(node)
    return found


def stack_of(node: Node) -> Stack | None:
    """The stacked output that a node is, if it is one of a loop."""
    if not isinstance(node.op, Result) or not isinstance(node.operands[0].op, Loop):
        return None
    loop = node.operands[0].op
    number = node.op.number - len(loop.states)
    return loop.stacks[number] if number >= 0 else None


def word_of(node: Node) -> str:
    """The operation of a node in a word: `add`, `matmul`, the operator that a call calls."""
    match node.op:
        case Elementwise(function) | Reduce(function):
            return function
        case HostCall(leaf=leaf):
            return f"{leaf.op}-{leaf.version}"
    return type(node.op).__name__.lower()


def words_of(nest: Sequence[Node]) -> str:
    """Describe the operations of a nest: `mul, add, tanh: float32[64]`."""
    words = join_words(map(word_of, nest))
    shape = show_shape(
        tuple(extent if isinstance(extent, int) else None for extent in nest[0].shape)
    )
    return f"{words}: {nest[0].dtype}{shape}"


def is_known_kind(kind: Kind) -> bool:
    """Whether every extent of a HostCall's result is known."""
    return all(isinstance(extent, int) for extent in kind[1])


def makes_objects(node: Node) -> bool:
    """Whether the node boxes values."""
    return isinstance(node.op, HostCall) and any(node.op.makes)
