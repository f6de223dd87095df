"""A call out of native code: the GIL is taken, a Python object called with one address.

There it finds the addresses of the operands, whole and in row-major order, then of the results.
"""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.emitter import INTERRUPTED, Emitter
from treadle.jit.emit.poll import give_gil, take_gil
from treadle.jit.emit.tensors import Buffer, dense_strides
from treadle.jit.emit.types import I64, POINTER, VOID
from treadle.jit.kernel_ir import Escape, Node, extents


def emit_escape(e: Emitter, node: Node) -> None:
    """The call; its parts are left in `e.parts`."""
    op, b = node.op, e.w.builder
    assert isinstance(op, Escape)
    buffers = [_whole(e, operand) for operand in node.operands]
    results = [_result(e, node, number) for number in range(len(op.results))]
    places = e.w.variable(POINTER, count=max(len(buffers) + len(results), 1))
    for number, buffer in enumerate([*buffers, *results]):
        slot = b.gep(places, [llvm.Constant(I64, number)], source_etype=POINTER, inbounds=True)
        b.store(buffer.pointer, slot)
    _call(e, e.t.slots.escape(node), places)
    e.parts.update({(node, number): buffer for number, buffer in enumerate(results)})


def _whole(e: Emitter, operand: Node) -> Buffer:
    """Memory in which all elements of the operand are, in order."""
    if e.t.is_in_memory(operand):
        buffer = e.t.buffer(operand)
        if buffer.is_dense and buffer.strides == dense_strides(extents(operand)):
            return buffer
    buffer = e.t.allocate(operand)
    e.copy(operand, buffer)
    return buffer


def _result(e: Emitter, node: Node, number: int) -> Buffer:
    op, part = node.op, e.part(node, number)
    assert isinstance(op, Escape)
    if part is not None:
        return e.allocate(part)
    kind = op.results[number]
    dtype, shape = kind if kind is not None else (node.dtype, ())
    pointer = e.t.slots.workspace(prod(shape) * dtype.numpy.itemsize)
    return Buffer(pointer, dtype, dense_strides(shape), e.t.aliases.fresh())


def _call(e: Emitter, callee: Any, places: Any) -> None:
    """PyObject_CallOneArg; where it raises, the exception stays set and the kernel ends."""
    b, w = e.w.builder, e.w
    null = llvm.Constant(POINTER, None)
    take_gil(e)
    number = b.call(w.external("PyLong_FromVoidPtr", POINTER, POINTER), [places])
    with w.rarely(b.icmp_unsigned("==", number, null)):
        b.store(llvm.Constant(I64, INTERRUPTED), e.status)
        b.branch(e.leave)
    answer = b.call(w.external("PyObject_CallOneArg", POINTER, POINTER, POINTER), [callee, number])
    b.call(w.external("Py_DecRef", VOID, POINTER), [number])
    with w.rarely(b.icmp_unsigned("==", answer, null)):
        b.store(llvm.Constant(I64, INTERRUPTED), e.status)
        b.branch(e.leave)
    b.call(w.external("Py_DecRef", VOID, POINTER), [answer])
    give_gil(e)
