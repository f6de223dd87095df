"""Safepoints: a kernel regularly asks whether it must stop.

Every loop counts down by the estimated nanoseconds of an iteration; below zero the kernel acquires
the GIL, calls the poll, a Python function, and continues. If the poll or a signal handler in it
(Ctrl-C) raises, the kernel ends with the exception set.

A poll is rare, and in the middle of a loop. A usual call there keeps no vector register: what the
loop carries in them would be in memory in every iteration, though no iteration calls anything. On
x86-64 Linux kernels with loops over single numbers poll by a function, compiled once for all of
them, that keeps every register of its caller: a cascade of biquads takes 98 us with it, and up to
150 without. Kernels with arrays in loops call as usual: LLVM would hold the constants of all nests
in registers around the loops, and a state-space scan takes 1.2 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.callback import POLL, call_back
from treadle.jit.codegen.context import INTERRUPTED, CodegenContext
from treadle.jit.codegen.failure import leave
from treadle.jit.codegen.function_builder import FunctionBuilder, Index
from treadle.jit.codegen.llvm_types import I32, I64, POINTER, VOID
from treadle.jit.kernel.ir import Kernel, Loop, Node, op_of
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.loops.iteration_time import SAFEPOINT_PERIOD
from treadle.jit.schedule.loops.strategies import strip_of
from treadle.jit.toolchain.symbols import POLL_FUNCTION

KEEPING_REGISTERS = "preserve_allcc"
POLL_MODULE = f"""
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyObject_CallNoArgs(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()

define {KEEPING_REGISTERS} ptr @{POLL_FUNCTION}(ptr %poll, ptr %thread) noinline {{
  call void @PyEval_RestoreThread(ptr %thread)
  %answer = call ptr @PyObject_CallNoArgs(ptr %poll)
  %has_raised = icmp eq ptr %answer, null
  br i1 %has_raised, label %raised, label %answered
raised:
  ret ptr null
answered:
  call void @Py_DecRef(ptr %answer)
  %saved = call ptr @PyEval_SaveThread()
  ret ptr %saved
}}
"""
"""The function acquires the GIL, calls the poll, releases the GIL and returns the thread state.

If the poll raises, the function returns null: the exception is set, and the GIL is held.
"""


def safepoint(context: CodegenContext, node: Node) -> None:
    """Count down by one iteration of a loop, and poll when due."""
    time, b = context.schedule.iterations[node], context.builder
    taken: Index = time.nanoseconds
    for shape, eighths in time.by_inputs:
        whole = b.multiply(b.product([context.access.extent(each) for each in shape]), eighths)
        taken = b.add(taken, b.builder.ashr(b.index(whole), llvm.Constant(I64, 3)))
    if _polls_inside(context, op_of(node, Loop)):
        if not context.safepoint.is_elsewhere:
            count_down(context, taken)
        return
    poll_after(context, taken)


def _polls_inside(context: CodegenContext, op: Loop) -> bool:
    """Whether every iteration starts a loop in strips, which polls even if it has no iterations."""
    return any(
        isinstance(each.op, Loop)
        and not each.op.has_condition
        and strip_of(context.schedule.loops[each].strategy)
        and context.schedule.iterations[each].whole is None
        for each in op.body.nodes
    )


@contextmanager
def counted_at_once(context: CodegenContext, loop: Node) -> Iterator[None]:
    """Count all iterations of a short inner loop before it, which has no safepoints inside."""
    outer, whole = context.safepoint, context.schedule.iterations[loop].whole
    if outer.is_elsewhere or whole is None:
        yield
        return
    count_down(context, whole)
    context.safepoint = replace(outer, is_elsewhere=True)
    yield
    context.safepoint = outer


def poll_after(
    context: CodegenContext, taken: Index, stop: Callable[[], None] | None = None
) -> None:
    """Count down by the given nanoseconds, and poll when due.

    `stop` emits what happens where the poll says so: the kernel ends, unless it is given.
    """
    if context.safepoint.is_elsewhere:
        return
    _poll_below_zero(context, count_down(context, taken), stop)


def count_down(context: CodegenContext, taken: Index) -> Any:
    """Count the given nanoseconds; returns those that are left until the next poll."""
    b = context.builder.builder
    if isinstance(taken, int):
        own = llvm.Constant(I64, min(taken, SAFEPOINT_PERIOD))
    else:
        period = llvm.Constant(I64, SAFEPOINT_PERIOD)
        own = b.select(b.icmp_signed("<", taken, period), taken, period)
    left = b.sub(b.load(context.safepoint.ticks, typ=I64), own)
    b.store(left, context.safepoint.ticks)
    return left


def poll_when_due(context: CodegenContext) -> None:
    """Poll if the time counted so far says so."""
    if not context.safepoint.is_elsewhere:
        _poll_below_zero(context, context.builder.builder.load(context.safepoint.ticks, typ=I64))


def _poll_below_zero(
    context: CodegenContext, left: Any, stop: Callable[[], None] | None = None
) -> None:
    b, w = context.builder.builder, context.builder
    stop = stop or partial(leave, context, INTERRUPTED)
    with w.rarely(b.icmp_signed("<", left, llvm.Constant(I64, 0))):
        b.store(llvm.Constant(I64, SAFEPOINT_PERIOD), context.safepoint.ticks)
        if context.surroundings.is_free:
            _poll_caller(context, stop)
        else:
            _poll_python(context, stop)


def _poll_python(context: CodegenContext, stop: Callable[[], None]) -> None:
    b, w = context.builder.builder, context.builder
    if not context.safepoint.keeps_registers:
        acquire_gil(context)
        answer = b.call(
            w.external("PyObject_CallNoArgs", POINTER, POINTER), [context.safepoint.poll]
        )
        with w.rarely(b.icmp_unsigned("==", answer, llvm.Constant(POINTER, None))):
            stop()
        b.call(w.external("Py_DecRef", VOID, POINTER), [answer])
        release_gil(context)
        return
    thread = b.load(context.safepoint.thread, typ=POINTER)
    thread = b.call(_poll_function(w), [context.safepoint.poll, thread], cconv=KEEPING_REGISTERS)
    b.store(thread, context.safepoint.thread)
    with w.rarely(b.icmp_unsigned("==", thread, llvm.Constant(POINTER, None))):
        stop()


def has_poll_function(target: Target) -> bool:
    """Whether kernels for the target may poll by the function that keeps registers."""
    return target.triple.startswith("x86_64") and "linux" in target.triple


def polls_keep_registers(kernel: Kernel, target: Target) -> bool:
    """Whether a kernel polls by that function: its loops have single numbers only."""
    return has_poll_function(target) and all(
        node.is_single for node in all_nodes(kernel.main) if node.home is not kernel.main
    )


def poll_target(target: Target) -> Target:
    """The target that the function is compiled for, on a machine of this target.

    With vzeroupper LLVM would zero the upper halves of the registers after it has restored them.
    """
    return replace(target, features=f"{target.features},-vzeroupper")


def _poll_function(builder: FunctionBuilder) -> Any:
    """The function, declared in a kernel's module."""
    function = builder.external(POLL_FUNCTION, POINTER, POINTER, POINTER)
    function.calling_convention = KEEPING_REGISTERS
    return function


def _poll_caller(context: CodegenContext, stop: Callable[[], None]) -> None:
    b, w = context.builder.builder, context.builder
    with w.rarely(b.icmp_unsigned("!=", context.safepoint.poll, llvm.Constant(POINTER, None))):
        answer = call_back(w, POLL, context.safepoint.poll, ())
        with w.rarely(b.icmp_unsigned("!=", answer, llvm.Constant(I32, 0))):
            stop()


def acquire_gil(context: CodegenContext) -> None:
    """Acquire the GIL to call Python; a free kernel does nothing."""
    if context.surroundings.is_free:
        return
    b = context.builder.builder
    thread = b.load(context.safepoint.thread, typ=POINTER)
    b.call(context.builder.external("PyEval_RestoreThread", VOID, POINTER), [thread])
    b.store(llvm.Constant(POINTER, None), context.safepoint.thread)


def release_gil(context: CodegenContext) -> None:
    """Release the GIL."""
    if context.surroundings.is_free:
        return
    b = context.builder.builder
    b.store(
        b.call(context.builder.external("PyEval_SaveThread", POINTER), []), context.safepoint.thread
    )


def end(context: CodegenContext) -> Any:
    """Acquire the GIL unless it is held, and return the status."""
    b, w = context.builder.builder, context.builder
    if context.surroundings.is_free:
        return b.ret(b.load(context.exit.status, typ=I64))
    thread = b.load(context.safepoint.thread, typ=POINTER)
    back, out = w.blocks("back", "out")
    b.cbranch(b.icmp_unsigned("!=", thread, llvm.Constant(POINTER, None)), back, out)
    b.position_at_end(back)
    b.call(w.external("PyEval_RestoreThread", VOID, POINTER), [thread])
    w.enter(out)
    return b.ret(b.load(context.exit.status, typ=I64))
