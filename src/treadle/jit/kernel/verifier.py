"""Verifies that a kernel obeys the rules of the kernel IR.

Structure: a node occurs once, in its home block, after every node it reads, including those that
define its dims. Blocks, inputs and results belong to the kernel. Carried arguments are those of
their loop. Types: `op_rules`, and the rules for loops, branches and calls below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treadle.ir import DType
from treadle.jit.kernel.ir import (
    Block,
    Branch,
    CarriedArg,
    DimOf,
    HostCall,
    Input,
    Kernel,
    Loop,
    Node,
    Number,
    Result,
    show_node,
    show_shape,
)
from treadle.jit.kernel.op_rules import complaints, may_be_equal
from treadle.jit.kernel.op_text import InvalidKernel
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import shape_operands, yielded

_WITH_PARTS = (Loop, Branch, HostCall)


def verify_kernel(kernel: Kernel) -> None:
    """Raise InvalidKernel, with the text of the kernel, if it breaks a rule."""
    found = list(violations(kernel))
    if found:
        raise InvalidKernel("\n".join((*found[:10], show_kernel(kernel))))


def violations(kernel: Kernel) -> Iterator[str]:
    """A sentence for each rule that the kernel breaks."""
    known: set[Node] = set()
    yield from _block(kernel.main, known)
    for node in (*kernel.inputs, *kernel.results):
        if node not in known or node.home is not kernel.main:
            yield f"{_named(node)} is not a value of the main block"
    positions = [getattr(node.op, "position", None) for node in kernel.inputs]
    if positions != list(range(len(positions))):
        yield f"the inputs are those at {positions}"
    inputs = [node for node in kernel.main.nodes if isinstance(node.op, Input)]
    if set(inputs) != set(kernel.inputs):
        yield "the main block has other inputs than the kernel"
    if not set(kernel.boxed_results) <= set(range(len(kernel.results))):
        yield f"boxed results {kernel.boxed_results} of {len(kernel.results)}"


def _named(node: Node) -> str:
    return f"the {type(node.op).__name__} of type {show_node(node)}"


def _block(block: Block, known: set[Node]) -> Iterator[str]:
    """The violations of a block; `known` are the nodes before it, extended by its own."""
    for node in block.nodes:
        for what in (*_position(node, block, known), *_node(node, known)):
            yield f"{_named(node)} in {block.name}: {what}"
        yield from _inner(node, known)
        known.add(node)


def _position(node: Node, block: Block, known: set[Node]) -> Iterator[str]:
    if node.home is not block:
        yield f"it is at home in {node.home.name}"
    if node in known:
        yield "it occurs there twice"
    for read in (*node.operands, *shape_operands(node)):
        if read not in known:
            yield f"it reads {_named(read)}, which is not defined before it"
    for source in shape_operands(node):
        if source.dtype is not DType.INT64 or source.shape != ():
            yield f"the extent of a dim is {_named(source)}"
    if any(isinstance(extent, int) and extent < 0 for extent in node.shape):
        yield "an extent is negative"


def _inner(node: Node, known: set[Node]) -> Iterator[str]:
    """The violations inside a loop or a branch, whose values are unknown after it."""
    for block, ends in _blocks(node):
        if block.parent is not node.home or block.is_loop != isinstance(node.op, Loop):
            yield f"the block {block.name} is not that of {_named(node)}"
        inside = set(known)
        yield from _block(block, inside)
        for end in ends:
            if end not in inside:
                yield f"{block.name} yields {_named(end)}, which is not known at its end"


def _blocks(node: Node) -> Sequence[tuple[Block, Sequence[Node]]]:
    """The blocks of a node, and the results of each."""
    match node.op:
        case Loop(body=body):
            return [(body, yielded(node))]
        case Branch() as branch:
            return [
                (branch.then, branch.then_results),
                (branch.otherwise, branch.otherwise_results),
            ]
    return []


def _node(node: Node, known: set[Node]) -> Iterator[str]:
    parts = [operand for operand in node.operands if isinstance(operand.op, _WITH_PARTS)]
    if parts and not isinstance(node.op, Result | DimOf):
        yield "it reads a loop, a branch or a call itself instead of one of its results"
        return
    match node.op:
        case Loop() as loop:
            yield from _loop(node, loop)
        case Branch() as branch:
            yield from _branch(node, branch)
        case HostCall() as call:
            yield from _call(node, call)
        case Result(number):
            yield from complaints(node) if len(node.operands) != 1 else _result(node, number)
        case DimOf(number, axis):
            yield from (*complaints(node), *_dim(node, number, axis))
        case _:
            yield from complaints(node)


def _loop(node: Node, loop: Loop) -> Iterator[str]:
    heads = loop.heads
    if loop.has_trip and not node.operands[0].is_single:
        yield "its trip count is not a scalar"
    for condition in (*node.operands[loop.has_trip : heads], loop.next_condition):
        if condition is not None and (condition.dtype, condition.is_single) != (DType.BOOL, True):
            yield f"its condition is {_named(condition)}"
    yield from _carried(loop, node.operands[heads:])
    for stack in loop.stacks:
        if not 0 <= stack.axis <= len(stack.element.shape):
            yield f"{_named(stack.element)} is stacked along axis {stack.axis}"


def _carried(loop: Loop, initials: Sequence[Node]) -> Iterator[str]:
    states = [node for node in loop.body.nodes if isinstance(node.op, CarriedArg)]
    if set(states) != set(loop.states):
        yield f"its body has {len(states)} carried arguments where it carries {len(loop.states)}"
    if not len(initials) == len(loop.states) == len(loop.nexts):
        yield f"{len(initials)} initial, {len(loop.states)} carried, {len(loop.nexts)} next values"
        return
    for number, (state, *others) in enumerate(zip(loop.states, initials, loop.nexts, strict=True)):
        if state.op != CarriedArg(number):
            yield f"carried value {number} is {_named(state)}"
        for other in others:
            if other.dtype is not state.dtype or not may_be_equal(other.shape, state.shape):
                yield f"carried value {number} is {_named(state)}, but also {_named(other)}"


def _branch(node: Node, branch: Branch) -> Iterator[str]:
    if len(node.operands) != 1 or node.operands[0].dtype is not DType.BOOL:
        yield "its condition is not a bool"
    if len(branch.then_results) != len(branch.otherwise_results):
        yield (
            f"{len(branch.then_results)} results of one side, "
            f"{len(branch.otherwise_results)} of the other"
        )


def _call(node: Node, call: HostCall) -> Iterator[str]:
    given = sum(call.given)
    if not given == len(node.operands) == len(call.takes):
        yield f"{len(node.operands)} operands where {given} are given"
    if len(call.results) != len(call.makes):
        yield f"{len(call.results)} results, of which {len(call.makes)} are boxed or not"
    boxed = (operand for operand, takes in zip(node.operands, call.takes, strict=False) if takes)
    for operand in boxed:
        if (operand.dtype, operand.shape) != (DType.INT64, ()):
            yield f"{_named(operand)} is not the handle of a boxed value"


def _results(node: Node) -> Sequence[tuple[DType, tuple[Number | None, ...]] | None]:
    """The type of each result of a loop, a branch or a call; None for an unknown extent."""
    match node.op:
        case Loop() as loop:
            stacks = [
                (s.element.dtype, (*s.element.shape[: s.axis], None, *s.element.shape[s.axis :]))
                for s in loop.stacks
            ]
            return [*((state.dtype, state.shape) for state in loop.states), *stacks]
        case Branch(then_results=results):
            return [(each.dtype, (None,) * len(each.shape)) for each in results]
        case HostCall(results=kinds):
            return kinds
    return ()


def _result(node: Node, number: int) -> Iterator[str]:
    results = _results(node.operands[0])
    if not 0 <= number < len(results) or results[number] is None:
        yield f"it is result {number} of {len(results)}"
        return
    dtype, shape = results[number] or (node.dtype, ())
    known = tuple(
        own if extent is None else extent for own, extent in zip(node.shape, shape, strict=False)
    )
    is_alike = len(shape) == len(node.shape) and may_be_equal(node.shape, known)
    if node.dtype is not dtype or not is_alike:
        yield f"result {number} is {dtype}{show_shape(shape)}"


def _dim(node: Node, number: int, axis: int) -> Iterator[str]:
    if not node.operands:
        if not node.home.is_loop:
            yield "it is the dim of a carried value, but not in a loop's body"
        return
    results = _results(node.operands[0])
    found = results[number] if 0 <= number < len(results) else None
    if found is None or not 0 <= axis < len(found[1]):
        yield f"it is dim {axis} of value {number} of {len(results)}"
