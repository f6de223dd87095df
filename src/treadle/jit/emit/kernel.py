"""A kernel as one LLVM function: i64 kernel(slots), which gives 0 or why it failed."""

from __future__ import annotations

from collections.abc import Collection

from llvmlite import ir as llvm

from treadle.jit.code import Code
from treadle.jit.emit.alias import Aliases
from treadle.jit.emit.block import emit_block
from treadle.jit.emit.chains import ordered
from treadle.jit.emit.emitter import Emitter
from treadle.jit.emit.nest import Ending
from treadle.jit.emit.place import Place, Places, places
from treadle.jit.emit.poll import PERIOD, end, give_gil
from treadle.jit.emit.slots import Slots
from treadle.jit.emit.tensors import Buffer, Tensors, dense_strides
from treadle.jit.emit.types import I64, POINTER
from treadle.jit.emit.writer import Writer
from treadle.jit.kernel_ir import Branch, Escape, Extent, Kernel, Loop, Node, Part, extents


def emit_kernel(kernel: Kernel, exact: Collection[Extent], name: str = "kernel") -> Code:
    """The kernel in LLVM; `exact` are the extents known before it runs."""
    module = llvm.Module(name="treadle")
    function = llvm.Function(module, llvm.FunctionType(I64, [POINTER]), name)
    function.args[0].add_attribute("noalias")
    w = Writer(module, function)
    slots = Slots(w, function.args[0])
    placed = places(kernel)
    t = Tensors(w, placed, slots, Aliases(module), chains=ordered(kernel, placed.readers))
    status = w.variable(I64, llvm.Constant(I64, 0))
    e = Emitter(
        kernel, w, t, _bound(kernel, t), frozenset(exact), status,
        function.append_basic_block("leave"), w.variable(I64, llvm.Constant(I64, PERIOD)),
        w.variable(POINTER), slots.poll(),
    )  # fmt: skip
    give_gil(e)
    emit_block(e, kernel.main, Ending())
    grown = tuple(_give(e))
    w.builder.branch(e.leave)
    w.builder.position_at_end(e.leave)
    end(e)
    w.close_entry()
    t.aliases.close()
    counts = tuple(sorted(e.counts.items()))
    return Code(str(module), tuple(slots.slots), slots.bytes, grown, _packs(placed), counts)


def _packs(placed: Places) -> bool:
    """Whether anything computed in registers has more elements than one."""
    return any(
        place is Place.REGISTERS and node.size > 1 and node.home.is_loop
        for node, place in placed.place.items()
    )


def _bound(kernel: Kernel, t: Tensors) -> dict[Node, int]:
    """Results that are computed right where they are given."""
    bound: dict[Node, int] = {}
    for number, node in enumerate(kernel.results):
        is_made = t.place(node) in (Place.NEST, Place.BUFFER) and _is_own(node)
        if is_made and node not in bound:
            bound[node] = number
    return bound


def _is_own(node: Node) -> bool:
    if isinstance(node.op, Part):
        return isinstance(node.operands[0].op, Loop | Branch | Escape)
    return bool(node.operands)


def _give(e: Emitter) -> list[Node]:
    """Copy the results that are not where they belong; those that grew stay where they are."""
    grown = []
    for number, node in enumerate(e.kernel.results):
        if e.bound.get(node) == number and (node.is_static or _is_exact(e, node)):
            continue
        if not node.is_static:
            grown.append(node)
            continue
        pointer = e.t.slots.result(number)
        strides = dense_strides(extents(node))
        e.copy(node, Buffer(pointer, node.dtype, strides, e.t.aliases.fresh()))
    return grown


def _is_exact(e: Emitter, node: Node) -> bool:
    loop = node.operands[0].op
    return isinstance(loop, Loop) and loop.extent in e.exact
