"""Emits the nodes of a block in order; nodes of one shape share fused loop nests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from typing import Any

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.branch import BranchResult, emit_branch
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.carried import sliding_window
from treadle.jit.codegen.carried.growable import appended
from treadle.jit.codegen.clock import timed_node
from treadle.jit.codegen.context import UNFIT, UNMATCHED, CodegenContext
from treadle.jit.codegen.failure import fail_if
from treadle.jit.codegen.fused_nest import Stacked, emit_nest
from treadle.jit.codegen.host_call import emit_host_call
from treadle.jit.codegen.llvm_types import literal
from treadle.jit.codegen.loop import emit_loop
from treadle.jit.codegen.loops.pipeline import emit_pipeline
from treadle.jit.codegen.ops import concat_in_place
from treadle.jit.codegen.ops.cumulative import emit_cumulative
from treadle.jit.codegen.ops.gather import emit_flat_nonzero, emit_gather, emit_take
from treadle.jit.codegen.ops.matmul import emit_contract
from treadle.jit.codegen.ops.reduce import emit_reduce
from treadle.jit.codegen.ops.scatter import emit_scatter
from treadle.jit.codegen.ops.topk import emit_topk
from treadle.jit.codegen.ops.transpose import copy_by_index
from treadle.jit.kernel.ir import (
    ArgTopK,
    Block,
    Branch,
    CarriedArg,
    Concat,
    Constant,
    Cumulative,
    DimOf,
    Elementwise,
    Empty,
    FlatNonzero,
    Gather,
    Guard,
    HostCall,
    InductionVar,
    Input,
    InputDim,
    Iota,
    Loop,
    MatMul,
    Node,
    Reduce,
    Reshape,
    Result,
    ScanSlice,
    Scatter,
    Take,
    View,
    op_of,
    static_shape,
)
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.index_set_splitting import operand_at
from treadle.jit.schedule.storage import Storage


def emit_block(context: CodegenContext, block: Block, stacked: Stacked) -> None:
    """Emit every node of the block; elements that an iteration stacks are written there too."""
    written = {*context.schedule.epilogues.values()}
    for step in context.schedule.steps_of(block):
        if step in written:
            continue
        if isinstance(step, Nest):
            with _own_blocks(context, step):
                emit_nest(context, step, stacked)
            continue
        with timed_node(context, step), _own_blocks(context, step):
            _emit_node(context, step)


def _own_blocks(context: CodegenContext, step: Step) -> AbstractContextManager[None]:
    """Blocks of its own for a step that may become a function."""
    is_own = context.schedule.functions.may_be_one(step)
    return context.builder.step() if is_own else nullcontext()


def _emit_node(context: CodegenContext, node: Node) -> None:
    match node.op:
        case Loop() if node in context.schedule.pipelines.found:
            emit_pipeline(context, context.schedule.pipelines.found[node], emit_block)
        case Loop() if node in context.schedule.pipelines.later:
            pass  # emitted with the first loop of its pipeline
        case Loop():
            emit_loop(context, node, emit_block)
        case Branch():
            emit_branch(context, node, emit_block)
        case _:
            _EMIT[type(node.op)](context, node)


def _input(context: CodegenContext, node: Node) -> None:
    op = op_of(node, Input)
    pointer = context.access.slots.given(op.position)
    context.access.buffers[node] = Buffer(
        pointer, node.dtype, context.access.strides(node), "given"
    )
    if context.access.storage_of(node) is Storage.REGISTERS:
        _elements(
            context, node, lambda index: context.access.load(context.access.buffers[node], index)
        )


def _constant(context: CodegenContext, node: Node) -> None:
    op = op_of(node, Constant)
    if context.access.storage_of(node) is Storage.REGISTERS:
        context.access.registers[node] = [
            literal(node.dtype, element) for element in op.array.ravel()
        ]
        if node in context.schedule.functions.arguments:
            (value,) = context.access.registers[node]
            context.access.registers[node] = [context.builder.opaque(value)]


def _counter(context: CodegenContext, node: Node) -> None:
    context.access.keep(node, [context.access.counters[node.home]])


def _empty(context: CodegenContext, node: Node) -> None:
    if context.access.storage_of(node) is Storage.REGISTERS:
        context.access.keep(node, [])
    else:
        context.access.buffers[node] = allocate(context, node)


def _length(context: CodegenContext, node: Node) -> None:
    op = op_of(node, InputDim)
    context.access.keep(node, [context.access.extent(op.extent)])


def _dim(context: CodegenContext, node: Node) -> None:
    op = op_of(node, DimOf)
    whose = node.operands[0] if node.operands else node.home
    context.access.keep(
        node, [context.builder.index(context.results.dims[whose, op.number, op.axis])]
    )


def _guard(context: CodegenContext, node: Node) -> None:
    op = op_of(node, Guard)
    status = UNMATCHED if op.is_of_shapes else UNFIT
    fail_if(context, context.builder.builder.not_(context.access.scalar(node.operands[0])), status)
    context.access.keep(node, [literal(node.dtype, True)])


def _state(context: CodegenContext, node: Node) -> None:
    if node in context.carried.growable:
        context.access.buffers[node] = context.carried.growable[node].buffer(context)
    assert node in context.access.registers or node in context.access.buffers


def _computed(context: CodegenContext, node: Node) -> None:
    if context.access.storage_of(node) is Storage.BUFFER:
        access, buffer = context.access, allocate(context, node)
        copy_by_index(context, node, buffer, context.schedule.computed(node), access.compute)
        access.buffers[node] = buffer
        return
    _elements(context, node, lambda index: context.access.compute(node, index))


def _elements(
    context: CodegenContext, node: Node, element: Callable[[tuple[int, ...]], Any]
) -> None:
    context.access.keep(
        node, [element(index) for index in product(*map(range, static_shape(node)))]
    )


def _join(context: CodegenContext, node: Node) -> None:
    op = op_of(node, Concat)
    if node in context.carried.delay_lines:
        context.carried.delay_lines[node].storage_of(
            context, node, context.builder.add(context.access.counters[node.home], 1)
        )
        return
    if context.access.storage_of(node) is Storage.REGISTERS:
        _elements(context, node, lambda index: _piece(context, node, op.axis, index))
        return
    if node in context.carried.sliding:
        sliding_window.enter(context, node)
        return
    if appended(context, node):
        return
    buffer = concat_in_place.written_whole(context, node)
    if not concat_in_place.interleaved_into(context, node, buffer):
        concat_in_place.join_into(context, buffer, node, 0, node.operands)
    context.access.buffers[node] = buffer


def _piece(context: CodegenContext, node: Node, axis: int, index: Sequence[int]) -> Any:
    at = index[axis]
    operand, first = operand_at(node, at, at + 1)
    assert isinstance(first, int), "a Concat in registers needs operands at known places"
    return context.access.read(operand, (*index[:axis], at - first, *index[axis + 1 :]))


def _part(context: CodegenContext, node: Node) -> None:
    op = op_of(node, Result)
    found = context.results.values.get((node.operands[0], op.number))
    if isinstance(found, BranchResult):
        found = found.found(context)
    if found is None:
        return
    if isinstance(found, Buffer):
        context.access.buffers[node] = found
        if context.access.storage_of(node) is Storage.REGISTERS:
            _elements(context, node, lambda index: context.access.load(found, index))
    else:
        context.access.keep(node, found)


_EMIT: Mapping[type, Callable[[CodegenContext, Node], None]] = {
    Input: _input,
    Constant: _constant,
    Empty: _empty,
    InputDim: _length,
    DimOf: _dim,
    Guard: _guard,
    InductionVar: _counter,
    CarriedArg: _state,
    Iota: _computed,
    ScanSlice: _computed,
    Elementwise: _computed,
    View: _computed,
    Reshape: _computed,
    Concat: _join,
    Reduce: emit_reduce,
    MatMul: emit_contract,
    FlatNonzero: emit_flat_nonzero,
    Take: emit_take,
    Gather: emit_gather,
    Scatter: emit_scatter,
    Cumulative: emit_cumulative,
    ArgTopK: emit_topk,
    HostCall: emit_host_call,
    Result: _part,
}
