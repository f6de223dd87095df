"""Now and then a kernel asks whether it must stop.

Every loop counts down by what an iteration of it costs, in about nanoseconds; below zero the kernel
takes the GIL back, calls the poll, a Python function, and goes on. The poll raising, or a signal's
handler inside it (Ctrl-C), ends the kernel with the exception set.
"""

from __future__ import annotations

from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.emit.emitter import INTERRUPTED, Emitter
from treadle.jit.emit.types import I64, POINTER, VOID
from treadle.jit.kernel_ir import Block, Contract, Escape, Loop, Map, Reduce, Shape, Top

PERIOD = 5_000_000
_DEAR = frozenset(("exp", "log", "tanh", "sigmoid", "sin", "cos", "pow", "erf", "erfc", "softplus"))


_GUESS = 100


def _guess(shape: Shape) -> int:
    """The number of elements, of an extent that only the run tells some number."""
    return prod(extent if isinstance(extent, int) else _GUESS for extent in shape)


def cost(block: Block) -> int:
    """About how many nanoseconds one run of the block takes, inner loops left out."""
    total = 2.0
    for node in block.nodes:
        if isinstance(node.op, Loop):
            continue
        match node.op:
            case Map(function):
                total += _guess(node.shape) * (4 if function in _DEAR else 0.5)
            case Contract():
                total += _guess((*node.shape, node.operands[0].shape[-1])) * 0.1
            case Escape():
                total += 5_000
            case Top():
                total += _guess(node.operands[0].shape) * 2
            case Reduce():
                total += _guess(node.operands[0].shape) * 0.5
            case _:
                total += 0.2
    return int(total)


def tick(e: Emitter, block: Block, taken: int | None = None) -> None:
    """Count down by one iteration of the block, or what it takes, and poll where it is time."""
    b, w = e.w.builder, e.w
    own = taken if taken is not None else cost(block) // (e.window.parts if e.window else 1)
    left = b.sub(b.load(e.ticks, typ=I64), llvm.Constant(I64, min(own, PERIOD)))
    b.store(left, e.ticks)
    with w.rarely(b.icmp_signed("<", left, llvm.Constant(I64, 0))):
        b.store(llvm.Constant(I64, PERIOD), e.ticks)
        take_gil(e)
        answer = b.call(w.external("PyObject_CallNoArgs", POINTER, POINTER), [e.poll])
        null = llvm.Constant(POINTER, None)
        with w.rarely(b.icmp_unsigned("==", answer, null)):
            b.store(llvm.Constant(I64, INTERRUPTED), e.status)
            b.branch(e.leave)
        b.call(w.external("Py_DecRef", VOID, POINTER), [answer])
        give_gil(e)


def take_gil(e: Emitter) -> None:
    """Python may be called from here on."""
    b = e.w.builder
    thread = b.load(e.thread, typ=POINTER)
    b.call(e.w.external("PyEval_RestoreThread", VOID, POINTER), [thread])
    b.store(llvm.Constant(POINTER, None), e.thread)


def give_gil(e: Emitter) -> None:
    """Other threads of Python may run from here on."""
    b = e.w.builder
    b.store(b.call(e.w.external("PyEval_SaveThread", POINTER), []), e.thread)


def end(e: Emitter) -> Any:
    """Take the GIL back unless it is here, and give the status."""
    b, w = e.w.builder, e.w
    thread = b.load(e.thread, typ=POINTER)
    back = w.function.append_basic_block("back")
    out = w.function.append_basic_block("out")
    b.cbranch(b.icmp_unsigned("!=", thread, llvm.Constant(POINTER, None)), back, out)
    b.position_at_end(back)
    b.call(w.external("PyEval_RestoreThread", VOID, POINTER), [thread])
    b.branch(out)
    b.position_at_end(out)
    return b.ret(b.load(e.status, typ=I64))
