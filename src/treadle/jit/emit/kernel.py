"""A kernel as one LLVM function: i64 kernel(slots), which gives 0 or why it failed."""

from __future__ import annotations

from collections.abc import Collection

from llvmlite import ir as llvm

from treadle.jit.code import Code
from treadle.jit.emit.alias import Aliases
from treadle.jit.emit.block import emit_block
from treadle.jit.emit.buffer import Buffer
from treadle.jit.emit.chains import ordered
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.nest import Ending
from treadle.jit.emit.outline import merge, merge_parts, outline
from treadle.jit.emit.place import Place, Places, keeps_order, places
from treadle.jit.emit.poll import PERIOD, end, give_gil
from treadle.jit.emit.scratch import Scratch, release, settle
from treadle.jit.emit.slots import Slots
from treadle.jit.emit.tensors import Tensors
from treadle.jit.emit.types import I64, POINTER
from treadle.jit.emit.writer import Writer
from treadle.jit.kernel_ir import (
    Branch,
    Escape,
    Extent,
    Join,
    Kernel,
    Loop,
    Node,
    Part,
    Reshape,
    View,
)


def emit_kernel(kernel: Kernel, exact: Collection[Extent], name: str = "kernel") -> Code:
    """The kernel in LLVM; `exact` are the extents known before it runs."""
    module = llvm.Module(name="treadle")
    function = llvm.Function(module, llvm.FunctionType(I64, [POINTER]), name)
    function.args[0].add_attribute("noalias")
    w = Writer(module, function)
    slots = Slots(w, function.args[0])
    placed = places(kernel)
    chains = ordered(kernel, placed.readers)
    t = Tensors(w, placed, slots, Aliases(module), chains=chains, exact=frozenset(exact))
    status = w.variable(I64, llvm.Constant(I64, 0))
    e = Emitter(
        kernel, w, t, _bound(kernel, t), status, function.append_basic_block("leave"),
        w.variable(I64, llvm.Constant(I64, PERIOD)), w.variable(POINTER), slots.poll(),
        w.variable(I64, llvm.Constant(I64, 0)),
    )  # fmt: skip
    give_gil(e)
    emit_block(e, kernel.main, Ending())
    grown = tuple(_give(e))
    w.builder.branch(e.leave)
    w.builder.position_at_end(e.leave)
    for scratch in e.scratches:
        release(w, scratch.at(w))
    end(e)
    w.close_entry()
    calls = outline(module, function, w.nests)
    t.aliases.close()
    merge(module, calls)
    merge_parts(module, e.shared)
    settle(module, inline=not calls)
    e.counts.update(_unjoined(placed))
    counts = tuple(sorted(e.counts.items()))
    return Code(str(module), tuple(slots.slots), slots.bytes, grown, _packs(placed), counts)


def _packs(placed: Places) -> bool:
    """Whether anything computed in registers has more elements than one."""
    return any(
        place is Place.REGISTERS and node.size > 1 and node.home.is_loop
        for node, place in placed.place.items()
    )


def _unjoined(placed: Places) -> list[str]:
    """The word for a Join that is in no memory, once for each."""
    return [
        "unjoined"
        for node, place in placed.place.items()
        if isinstance(node.op, Join) and place is Place.INLINE
    ]


def _bound(kernel: Kernel, t: Tensors) -> dict[Node, int]:
    """Results that are computed right where they are given."""
    bound: dict[Node, int] = {}
    for number, node in enumerate(kernel.results):
        source = _rearranged(node, t)
        is_made = t.place(source) in (Place.NEST, Place.BUFFER) and _is_own(source)
        if is_made and _is_told(node, t) and _is_told(source, t) and source not in bound:
            bound[source] = number
    return bound


def _rearranged(node: Node, t: Tensors) -> Node:
    """The node whose elements, in their order, a result has in another shape."""
    while t.place(node) is Place.INLINE and isinstance(node.op, Reshape | View):
        if isinstance(node.op, View) and not keeps_order(node):
            return node
        node = node.operands[0]
    return node


def _is_own(node: Node) -> bool:
    if isinstance(node.op, Part):
        return isinstance(node.operands[0].op, Loop | Branch | Escape)
    return bool(node.operands)


def _give(e: Emitter) -> list[int]:
    """Copy the results that are not where they belong; of those no room was made for, hand over."""
    handed: dict[int, Scratch] = {}
    for number, node in enumerate(e.kernel.results):
        if e.bound.get(_rearranged(node, e.t)) == number:
            continue
        if _is_told(node, e.t):
            pointer, strides = e.t.slots.result(number), e.t.strides(node)
            e.copy(node, Buffer(pointer, node.dtype, strides, e.t.aliases.fresh()))
            continue
        handed[number] = _own(e, node, handed.values())
    for number, scratch in handed.items():
        e.w.builder.store(scratch.take(e.w), e.t.slots.out("grown", number))
        for extent in e.kernel.results[number].shape:
            if isinstance(extent, Extent):
                e.w.builder.store(e.t.extent(extent), e.t.slots.out("count", extent))
    return list(handed)


def _own(e: Emitter, node: Node, others: Collection[Scratch]) -> Scratch:
    """The memory of a node, if nobody else has it; else a copy."""
    found = e.t.buffers.get(_rearranged(node, e.t))
    owner = found.owner if found is not None and found.is_dense else None
    if owner is not None and owner not in others:
        return owner
    scratch = e.scratch()
    e.copy(node, e.fill(scratch, node, e.t.aliases.fresh()))
    return scratch


def _is_told(node: Node, t: Tensors) -> bool:
    """Whether the shape is known before the kernel runs."""
    return all(isinstance(e, int) or e.source is None or e in t.exact for e in node.shape)
