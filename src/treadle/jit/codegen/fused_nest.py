"""Emits fused loop nests: one nest computes all elements of several nodes of one shape.

Members that are not read outside are never stored. `schedule/fusion.py` says which nodes share a
nest, `schedule/layouts/reused_memory.py` which take over the memory of another value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from treadle.jit.codegen.allocation import allocate
from treadle.jit.codegen.buffer import Buffer, Flat, Indices
from treadle.jit.codegen.clock import timed_nest
from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.function_builder import Index
from treadle.jit.codegen.iteration_space import each_index, each_position
from treadle.jit.codegen.nest_function import is_swapped, outlined
from treadle.jit.codegen.ops.concat_in_place import concat_memory
from treadle.jit.codegen.ops.reduce import emit_reduce
from treadle.jit.codegen.parallel import split_nest
from treadle.jit.codegen.steps.changed_span import changed_span
from treadle.jit.codegen.steps.step_function import emit_nest_once
from treadle.jit.kernel.ir import Loop, Node, static_shape
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.parallelism import Parallelism

Targets = Mapping[Node, Sequence[Buffer]]
"""The memory each member is written to; its own storage comes first."""
Stacked = Mapping[Node, Sequence[Buffer]]
"""Where the elements that an iteration stacks are written."""


def emit_nest(context: CodegenContext, nest: Nest, stacked: Stacked) -> None:
    """Emit one nest."""
    kept = {node for node in nest.nodes if _is_kept(context, node, nest.nodes, stacked)}
    targets = {
        node: [*([_memory(context, node)] if node in kept else ()), *stacked.get(node, ())]
        for node in nest.nodes
    }
    context.counts.update({"nests": 1, "fused": len(nest.nodes)})
    is_apart = any(is_swapped(context, b) for node in nest.nodes for b in targets[node])
    found = context.schedule.parallelism_of(nest)
    with timed_nest(context, nest), outlined(context, when=is_apart):
        epilogue = context.schedule.epilogues.get(nest)
        if epilogue is not None:
            emit_reduce(context, epilogue, partial(_element, context, nest.nodes, targets))
        else:
            emit = partial(_write, context, nest, found, targets)
            emit_nest_once(context, nest, targets, found, emit)
    context.access.buffers.update({node: targets[node][0] for node in nest.nodes if node in kept})


def _write(context: CodegenContext, nest: Nest, found: Parallelism, targets: Targets) -> None:
    nodes, shape = nest.nodes, context.access.shape(nest.nodes[0])
    changed, w = context.schedule.changed.get(nest), context.builder
    pieces = nest.pieces
    if pieces is None and found.parted and changed is None:
        pieces = tuple((0, extent) for extent in static_shape(nodes[0]))
    if pieces is not None:
        split_nest(context, pieces, found, lambda index: _element(context, nodes, targets, index))
        return
    firsts: Sequence[Index] = (0,) * len(shape)
    if changed is not None:
        firsts, shape = changed_span(context, changed, shape)
        found = replace(found, interleaved=1)  # LLVM computes the rest of several one by one
    if found.vector_axis is None:
        start = context.access.flat(firsts, context.access.shape(nodes[0]))
        with each_position(context, w.product(shape), found) as position:
            _element(context, nodes, targets, Flat(context.builder.add(start, position)))
    else:
        with each_index(context, shape, found) as index:
            own = tuple(map(context.builder.add, firsts, index))
            _element(context, nodes, targets, own)


def _element(context: CodegenContext, nest: Sequence[Node], targets: Targets, at: Indices) -> None:
    with context.access.scope():
        values = [(node, context.access.read(node, at)) for node in nest]
        for node, value in values:
            for buffer in targets[node]:
                context.access.store(buffer, at, value)


def _is_kept(context: CodegenContext, node: Node, nest: Sequence[Node], stacked: Stacked) -> bool:
    """Whether a member has memory of its own: more than its nest and a stacked output read it."""
    if node in context.kernel.results:
        return True
    for reader in context.access.places.readers.get(node, ()):
        loop = reader.op
        is_stacked_alone = (
            isinstance(loop, Loop)
            and loop.body is node.home
            and node in stacked
            and node not in loop.nexts
        )
        if reader not in nest and not is_stacked_alone:
            return True
    return False


def _memory(context: CodegenContext, node: Node) -> Buffer:
    swapped = context.carried.double_buffers.get(node)
    if swapped is not None:
        target: Buffer = swapped.target
        return target
    old = context.schedule.reused.taken.get(node)
    if old is not None:
        return context.access.buffers[old]
    return concat_memory(context, node) or allocate(context, node)
