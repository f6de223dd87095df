"""Emits a Branch: both sides write their results to the same variables or memory.

A result that both sides update in place is already there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.allocation import (
    alias_scope,
    allocate,
    allocate_in,
    new_heap_buffer,
    result_node,
    reused_buffers,
)
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.fused_nest import Stacked
from treadle.jit.codegen.heap_buffer import HeapBuffer
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import I64, register_type
from treadle.jit.codegen.ops.matmul_packing import packed_for_one_side
from treadle.jit.kernel.ir import Block, Branch, DimOf, Node, op_of, static_shape
from treadle.jit.schedule.storage import Storage

EmitBlock = Callable[[CodegenContext, Block, Stacked], None]


def emit_branch(context: CodegenContext, node: Node, emit_block: EmitBlock) -> None:
    """Emit both sides; the results are in variables or in memory afterwards."""
    op, b = op_of(node, Branch), context.builder.builder
    own, dims = reused_buffers(context, node), _dims(context, node)
    parts = [result_node(context, node, number) for number in range(len(op.then_results))]
    homes = [_home(context, op, number, part, own.get(number)) for number, part in enumerate(parts)]
    order = sorted(range(len(parts)), key=lambda number: number in own)
    then, otherwise, after = context.builder.blocks("then", "else", "after_if")
    b.cbranch(context.access.scalar(node.operands[0]), then, otherwise)
    for start, block, results in (
        (then, op.then, op.then_results),
        (otherwise, op.otherwise, op.otherwise_results),
    ):
        b.position_at_end(start)
        with context.access.scope(), packed_for_one_side(context):
            emit_block(context, block, {})
            for (number, axis), variable in dims.items():
                b.store(
                    context.builder.index(context.access.extent(results[number].shape[axis])),
                    variable,
                )
            for number in order:
                _put(context, homes[number], results[number], block)
        context.builder.enter(after)
    for (number, axis), variable in dims.items():
        context.results.dims[node, number, axis] = b.load(variable, typ=I64)
    context.results.values.update({(node, number): home for number, home in enumerate(homes)})


@dataclass(frozen=True, eq=False, slots=True)
class BranchResult:
    """The destination of a branch result: variables, memory, or a heap buffer."""

    part: Node
    variables: Sequence[Any] = ()
    memory: Buffer | None = None
    scratch: HeapBuffer | None = None
    scope: str = ""

    def found(self, context: CodegenContext) -> Buffer | list[Any]:
        """The result after the branch."""
        if self.scratch is not None:
            pointer, strides = self.scratch.at(context.builder), context.access.strides(self.part)
            return Buffer(pointer, self.part.dtype, strides, self.scope, owner=self.scratch)
        type_ = register_type(self.part.dtype)
        return self.memory or [
            context.builder.builder.load(each, typ=type_) for each in self.variables
        ]


def _dims(context: CodegenContext, node: Node) -> dict[tuple[int, int], Any]:
    """Variables for the extents of results that the kernel asks for, by result and axis."""
    readers, none = context.schedule.storage.readers.get(node, ()), llvm.Constant(I64, 0)
    asked = (each.op for each in readers if isinstance(each.op, DimOf))
    return {(op.number, op.axis): context.builder.variable(I64, none) for op in asked}


def _home(
    context: CodegenContext, op: Branch, number: int, part: Node | None, own: Buffer | None
) -> BranchResult | None:
    if part is None:
        return None
    if own is not None:
        return BranchResult(part, memory=own)
    if context.access.storage_of(part) is Storage.REGISTERS:
        type_ = register_type(part.dtype)
        return BranchResult(part, [context.builder.variable(type_) for _ in range(part.size)])
    if part.is_static or part in context.schedule.in_results:
        return BranchResult(part, memory=allocate(context, part))
    scope = alias_scope(context, part)
    for block, results in ((op.then, op.then_results), (op.otherwise, op.otherwise_results)):
        if results[number].home is block and results.count(results[number]) == 1:
            context.carried.scopes[results[number]] = scope
    return BranchResult(part, scratch=new_heap_buffer(context), scope=scope)


def _put(context: CodegenContext, home: BranchResult | None, result: Node, block: Block) -> None:
    if home is None:
        return
    if home.memory is not None:
        if context.access.buffers.get(result) is not home.memory:
            copy_node(context, result, home.memory, block)
    elif home.scratch is not None:
        found = context.access.buffers.get(result) if result.home is block else None
        if found is not None and found.owner is not None and found.scope == home.scope:
            home.scratch.exchange(context.builder, found.owner)
        else:
            buffer = allocate_in(context, home.scratch, result, home.scope)
            copy_node(context, result, buffer, block)
    for position, variable in enumerate(home.variables):
        index = context.access.unflat(position, static_shape(home.part))
        context.builder.builder.store(context.access.read(result, index), variable)
