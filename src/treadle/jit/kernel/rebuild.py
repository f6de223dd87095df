"""Copies a kernel node by node, for passes that change some of its nodes.

A pass has its own functions for nodes of some operations; all other nodes are copied, views through
the builder, which simplifies views of replaced nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import (
    Axis,
    Block,
    Branch,
    CarriedArg,
    Constant,
    DimOf,
    Gather,
    HostCall,
    InductionVar,
    Input,
    InputDim,
    Kernel,
    Loop,
    Node,
    Number,
    Op,
    Result,
    ScanSlice,
    Scatter,
    Stack,
    SymbolicDim,
    View,
    op_of,
)

Rule = Callable[["Rebuild", Node], Node]
"""Writes the replacement of an old node."""


@dataclass(eq=False, slots=True)
class Rebuild:
    """A kernel under reconstruction: the replacements of the old nodes and dims.

    `numbers` are the new numbers of the results of old loops, of those that have others.
    """

    builder: KernelBuilder
    rules: Mapping[type, Rule]
    nodes: dict[Node, Node] = field(default_factory=dict)
    dims: dict[SymbolicDim, Number] = field(default_factory=dict)
    numbers: dict[Node, Sequence[int]] = field(default_factory=dict)

    def number(self, number: Any) -> Any:
        """An extent or an offset in the new kernel; None stays None."""
        if not isinstance(number, SymbolicDim) or number.source is None:
            return number
        if number not in self.dims:
            self.dims[number] = self.builder.dim_of(self.nodes[number.source], number.name)
        return self.dims[number]

    def shape(self, node: Node) -> tuple[Number, ...]:
        """The shape of an old node in the new kernel."""
        return tuple(self.number(extent) for extent in node.shape)

    def operands(self, node: Node) -> tuple[Node, ...]:
        """The replacements of an old node's operands."""
        return tuple(self.nodes[operand] for operand in node.operands)

    def write(self, block: Block) -> None:
        """Copy the nodes of an old block to the builder's current block."""
        for node in block.nodes:
            rule = self.rules.get(type(node.op), copied)
            self.nodes[node] = rule(self, node)

    def write_inside(self, old: Block, begin: Callable[[], None] | None = None) -> Block:
        """Copy the nodes of a block into another; `begin` first writes its parameters."""
        made = Block(old.name, self.builder.block, old.is_loop)
        with self.builder.inside(made):
            if begin is not None:
                begin()
            self.write(old)
        return made


def rebuilt(kernel: Kernel, rules: Mapping[type, Rule]) -> Kernel:
    """The kernel with nodes replaced by the rules for their operations."""
    rebuild = Rebuild(KernelBuilder.start(), rules)
    rebuild.write(kernel.main)
    made = rebuild.nodes
    hoisted = (made[node] for node in kernel.hoisted if node in made)
    return replace(
        kernel, inputs=tuple(made[node] for node in kernel.inputs), main=rebuild.builder.main,
        results=tuple(made[node] for node in kernel.results),
        hoisted=tuple(dict.fromkeys((*hoisted, *rebuild.builder.hoisted))),
    )  # fmt: skip


def copied(rebuild: Rebuild, node: Node) -> Node:
    """The node in the builder's current block, over the replacements of its operands."""
    builder = rebuild.builder
    match node.op:
        case Constant() | Input() | CarriedArg() | InductionVar():
            return _added(rebuild, node, node.op)
        case InputDim(extent=extent):
            return builder.dim(extent)
        case DimOf() if not node.operands:
            return _added(rebuild, node, node.op)
        case ScanSlice():
            return _added(rebuild, node, node.op)
        case View(axes=axes):
            (operand,) = rebuild.operands(node)
            return builder.view(operand, rebuild.shape(node), new_axes(rebuild, axes))
        case Loop():
            return write_loop(rebuild, node, node.op)
        case Branch():
            return write_branch(rebuild, node)
    op = _op(rebuild, node)
    return builder.add(op, node.dtype, rebuild.shape(node), *rebuild.operands(node))


def _added(rebuild: Rebuild, node: Node, op: Op) -> Node:
    """A node that equals no other, in the current block."""
    return rebuild.builder.param(op, node.dtype, rebuild.shape(node), *rebuild.operands(node))


def new_axes(rebuild: Rebuild, axes: Any) -> tuple[Any, ...]:
    """The axes of a view or an index with the dims of the new kernel."""
    return tuple(
        Axis(rebuild.number(axis.offset), axis.terms) if isinstance(axis, Axis) else axis
        for axis in axes
    )


def _op(rebuild: Rebuild, node: Node) -> Op:
    """The operation with the dims and the numbers of the new kernel."""
    op = node.op
    match op:
        case Result(number=number) | DimOf(number=number) if node.operands[0] in rebuild.numbers:
            return replace(op, number=rebuild.numbers[node.operands[0]][number])
        case Gather() | Scatter():
            return replace(op, axes=new_axes(rebuild, op.axes))
        case HostCall():
            kinds = tuple(
                None if kind is None else (kind[0], tuple(rebuild.number(e) for e in kind[1]))
                for kind in op.results
            )
            return replace(op, results=kinds)
    return op


def write_loop(rebuild: Rebuild, node: Node, op: Loop) -> Node:
    """Copy a loop with this operation, which has its own carried arguments and body."""
    made = loop_with(rebuild, op, rebuild.write_inside(op.body))
    return rebuild.builder.add(made, node.dtype, (), *rebuild.operands(node))


def loop_with(
    rebuild: Rebuild,
    op: Loop,
    body: Block,
    states: Iterable[Node] | None = None,
    nexts: Iterable[Node] | None = None,
) -> Loop:
    """The operation of a loop with this body, and with other carried values if they are given."""
    made = rebuild.nodes
    stacks = tuple(
        Stack(made[each.element], each.axis, each.reverse, each.is_given) for each in op.stacks
    )
    return replace(
        op, body=body, length=rebuild.number(op.length), extent=rebuild.number(op.extent),
        states=tuple([made[each] for each in op.states] if states is None else states),
        nexts=tuple([made[each] for each in op.nexts] if nexts is None else nexts),
        next_condition=None if op.next_condition is None else made[op.next_condition],
        stacks=stacks,
    )  # fmt: skip


def write_branch(rebuild: Rebuild, node: Node) -> Node:
    """Copy a branch with its sides."""
    op = op_of(node, Branch)
    operands = rebuild.operands(node)
    then, otherwise = (rebuild.write_inside(block) for block in (op.then, op.otherwise))
    results = (
        tuple(rebuild.nodes[each] for each in side)
        for side in (op.then_results, op.otherwise_results)
    )
    return rebuild.builder.add(Branch(then, otherwise, *results), node.dtype, (), *operands)
