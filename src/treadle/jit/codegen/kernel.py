"""A kernel as one LLVM function: i64 kernel(slots), which returns 0 or a failure status."""

from __future__ import annotations

from collections.abc import Collection

from llvmlite import ir as llvm

from treadle.jit.codegen.abi_slots import AbiSlots
from treadle.jit.codegen.alias_metadata import AliasScopes
from treadle.jit.codegen.allocation import allocate_in, new_heap_buffer
from treadle.jit.codegen.block import emit_block
from treadle.jit.codegen.buffer import Buffer
from treadle.jit.codegen.clock import has_clocks, timed_kernel
from treadle.jit.codegen.context import CodegenContext, Exit, MemoryState, SafepointState
from treadle.jit.codegen.debug_locations import keep_own_locations, line_numbers
from treadle.jit.codegen.element_access import ElementAccess
from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.heap_buffer import HeapBuffer, declare_room, release, set_inlining
from treadle.jit.codegen.iteration_space import copy_node
from treadle.jit.codegen.llvm_types import I64, POINTER
from treadle.jit.codegen.module_text import text_of
from treadle.jit.codegen.safepoint import end, polls_keep_registers, release_gil
from treadle.jit.codegen.scalar import half
from treadle.jit.codegen.scalar.vector_function import is_vector_function
from treadle.jit.codegen.steps.outline import merge, merge_parts, outline
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.ir import (
    Concat,
    Kernel,
    Node,
    SymbolicDim,
)
from treadle.jit.kernel.target import PYTHON, Surroundings, Target
from treadle.jit.kernel.traversal import has_known_shape
from treadle.jit.schedule.layouts.memory_order import in_same_order
from treadle.jit.schedule.loops.iteration_time import SAFEPOINT_PERIOD
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.storage import Storage, StorageMap

_CACHE_LINE = 64
"""The bytes of a cache line, of x86 and most others."""


def emit_kernel(
    kernel: Kernel,
    exact: Collection[SymbolicDim],
    target: Target,
    surroundings: Surroundings = PYTHON,
    name: str = "kernel",
) -> KernelArtifact:
    """Emit the kernel in LLVM for a target; `exact` are the extents known before it runs."""
    target = half.target_of(kernel, target)
    module = llvm.Module(name="treadle")
    function = llvm.Function(module, llvm.FunctionType(I64, [POINTER]), name)
    function.args[0].add_attribute("noalias")
    if surroundings.is_free:
        function.linkage = "hidden"
    else:
        declare_room(module)
    w = FunctionBuilder(module, function, target)
    slots = AbiSlots(w, function.args[0], surroundings=surroundings)
    schedule = schedule_kernel(kernel, target, exact, has_pool=not surroundings.is_free)
    placed = schedule.storage
    t = ElementAccess(
        w,
        placed,
        schedule.order,
        slots,
        AliasScopes(module),
        chains=schedule.chains,
        exact=frozenset(exact),
    )
    status = w.variable(I64, llvm.Constant(I64, 0))
    e = CodegenContext(
        kernel,
        schedule,
        w,
        t,
        Exit(status, function.append_basic_block("leave")),
        SafepointState(
            w.variable(I64, llvm.Constant(I64, SAFEPOINT_PERIOD)),
            w.variable(POINTER),
            slots.poll(),
            polls_keep_registers(kernel, target),
        ),
        MemoryState(w.variable(I64, llvm.Constant(I64, 0))),
        surroundings,
    )
    if has_clocks(e):
        e.debug = line_numbers(module, function)
    release_gil(e)
    with timed_kernel(e):
        emit_block(e, kernel.main, {})
    grown = tuple(_give(e))
    w.builder.branch(e.exit.block)
    w.builder.position_at_end(e.exit.block)
    for number, rows in e.rows.items():
        w.builder.store(w.builder.load(rows, typ=I64), slots.out("rows", number))
    for scratch in e.heap_buffers:
        release(w, scratch.at(w))
    end(e)
    w.close_entry()
    calls = list(e.functions.step_calls)
    if schedule.functions.are_made:
        calls += outline(module, function, w.nests, schedule.functions)
    if e.debug is not None:
        keep_own_locations(module, function)
    t.aliases.close()
    merge_parts(module, e.functions.calls)
    merge(module, calls)
    set_inlining(module, inline=not calls)
    _align(module, target)
    e.counts.update(_unjoined(placed))
    counts = tuple(sorted(e.counts.items()))
    vectorizers = _vectorizers(w, packs_registers=schedule.packs_registers)
    return KernelArtifact(
        text_of(module),
        tuple(slots.slots),
        slots.size,
        grown,
        vectorizers,
        counts,
        tuple(sorted(slots.constants.items())),
        tuple((clock.kind, clock.path, clock.words) for clock in e.clocks),
        ()
        if e.debug is None
        else tuple((place.path, place.words, place.has_clock) for place in e.debug.lines),
    )


def _vectorizers(builder: FunctionBuilder, *, packs_registers: bool) -> tuple[str, ...]:
    """The vectorizers of LLVM that have something to run on: loops, or values in registers.

    Which loops there are is known from the text alone. All of LLVM's passes run where there are
    several functions, which are inlined.
    """
    written = [f for f in builder.module.functions if not f.is_declaration]
    has_loops = builder.has_vector_loops or sum(not is_vector_function(f) for f in written) > 1
    return ("loop",) * (has_loops or packs_registers) + ("slp",) * packs_registers


def _align(module: llvm.Module, target: Target) -> None:
    """Align each function to a cache line, and its stack to vectors, which LLVM may keep there.

    Loops take different times as they lie in cache lines: a knapsack 0.60 ms or 0.79, as long as
    the function before its loop was (AMD Zen 3). LLVM aligns stacks only for variables that are in
    memory from the start. A vector in two cache lines takes twice the time: a Mandelbrot set 2.6 ms
    or 1.0, as the caller's stack lay.
    """
    for function in module.functions if target.has_unaligned_vectors else ():
        if function.blocks:
            function.attributes.add("uwtable")  # llvmlite writes none of an empty set
            function.attributes.alignstack = target.vector_bytes
            set.add(function.attributes, f"align {_CACHE_LINE}")  # llvmlite has no field for it


def _unjoined(placed: StorageMap) -> list[str]:
    """Count each Concat that is not stored in memory."""
    return [
        "unjoined"
        for node, storage in placed.storage_of.items()
        if isinstance(node.op, Concat) and storage is Storage.INLINE
    ]


def _give(context: CodegenContext) -> list[int]:
    """Copy the remaining results to their memory; hand over those of dynamic size."""
    handed: dict[int, HeapBuffer] = {}
    for number, node in enumerate(context.kernel.results):
        if context.schedule.in_results.get(in_same_order(node, context.schedule.storage)) == number:
            _tell_extents(context, node)
            continue
        if has_known_shape(node, context.access.exact):
            pointer, strides = context.access.slots.result(number), context.access.strides(node)
            buffer = Buffer(pointer, node.dtype, strides, context.access.aliases.fresh())
            copy_node(context, node, buffer, context.kernel.main)
            continue
        handed[number] = _own(context, node, handed.values())
    for number, scratch in handed.items():
        context.builder.builder.store(
            scratch.take(context.builder), context.access.slots.out("grown", number)
        )
        _tell_extents(context, context.kernel.results[number])
    return list(handed)


def _tell_extents(context: CodegenContext, node: Node) -> None:
    """Write the extents of a result, if not all of them were known before the kernel ran."""
    if has_known_shape(node, context.access.exact):
        return
    for extent in node.shape:
        if isinstance(extent, SymbolicDim):
            context.builder.builder.store(
                context.access.extent(extent), context.access.slots.out("count", extent)
            )


def _own(context: CodegenContext, node: Node, others: Collection[HeapBuffer]) -> HeapBuffer:
    """The memory of a node if it has some that nothing else uses; else a copy.

    This is no choice: memory is handed over wherever it can be. A value has a heap buffer of its
    own if its extents are dynamic and its elements are in row-major order.
    """
    found = context.access.buffers.get(in_same_order(node, context.schedule.storage))
    owner = None if found is None else found.owner
    if owner is not None and owner not in others:
        return owner
    scratch = new_heap_buffer(context)
    buffer = allocate_in(context, scratch, node, context.access.aliases.fresh())
    copy_node(context, node, buffer, context.kernel.main)
    return scratch
