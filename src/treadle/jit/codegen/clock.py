"""Clocks of a profiled kernel: count processor ticks of loops, nests and calls.

A clock is a row of words to which a kernel's calls add. Reading the processor's counter takes some
10 nanoseconds, so only code with an estimated microsecond or more has a clock. For a loop with
shorter iterations, the first and the last one are measured separately if an iteration takes some 20
nanoseconds or more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.codegen.safepoint import ASSUMED_EXTENT, cost, node_cost
from treadle.jit.kernel.artifact import CLOCK_WORDS, Clock
from treadle.jit.kernel.ir import BOXED_DOMAIN, Block, Branch, HostCall, Loop, Node
from treadle.jit.kernel.traversal import word_of, words_of
from treadle.jit.lowering import lowering
from treadle.jit.schedule.cost_model import per_element

_LONG, _SHORT = 3000, 50
"""The nanoseconds from which code is timed, by an estimate of up to three times the true time."""
_READ = "llvm.readcyclecounter"


def has_clocks(context: CodegenContext) -> bool:
    """Whether the kernel is profiled, on a processor whose counter can be read."""
    return context.kernel.is_profiled and context.builder.target.triple.startswith("x86_64")


def now(context: CodegenContext) -> Any:
    """The processor's counter."""
    return context.builder.builder.call(context.builder.external(_READ, I64), [])


@contextmanager
def timed(context: CodegenContext, clock: Clock) -> Iterator[int]:
    """Time the enclosed code, and count how often it runs; gives the clock's number."""
    number = len(context.clocks)
    context.clocks.append(clock)
    started = now(context)
    yield number
    _add(context, "ticks", number, context.builder.builder.sub(now(context), started))
    _add(context, "entries", number, llvm.Constant(I64, 1))


@contextmanager
def timed_kernel(context: CodegenContext) -> Iterator[None]:
    """Time the kernel as a whole, which gives the length of a tick."""
    if not has_clocks(context):
        yield
        return
    with timed(context, Clock("kernel", "", "")):
        yield


@contextmanager
def timed_node(context: CodegenContext, node: Node) -> Iterator[None]:
    """Time a node that is a nest or a call of its own, if it takes long enough."""
    is_timed = not isinstance(node.op, Loop | Branch) and node_cost(node) >= _LONG
    if not (has_clocks(context) and is_timed):
        yield
        return
    loop, words = _loop_of(context, node.home), words_of([node])
    clock = Clock("nest", loop, words)
    if isinstance(node.op, HostCall):
        clock = Clock("call", loop, f"{word_of(node)}: {_why_called(node.op)}")
    with timed(context, clock):
        yield


def _why_called(op: HostCall) -> str:
    leaf = op.leaf
    if leaf.domain == BOXED_DOMAIN or op.has_objects:
        return "its values have no native form"
    if lowering(leaf.domain, leaf.op, leaf.version) is None:
        return "the operator has no native code"
    return "native code does not take these types, shapes or attributes"


@contextmanager
def timed_nest(context: CodegenContext, nest: Sequence[Node]) -> Iterator[None]:
    """Time a nest that computes several nodes."""
    access = context.access
    extents = [e if isinstance(e, int) else ASSUMED_EXTENT for e in nest[0].shape]
    each = per_element(access.places, access.buffers, nest)
    if not has_clocks(context) or each * prod(extents) < _LONG:
        yield
        return
    with timed(context, Clock("nest", _loop_of(context, nest[0].home), words_of(nest))):
        yield


def _loop_of(context: CodegenContext, block: Block) -> str:
    """The path of the loop around a block; "" outside all loops."""
    return context.loop_paths.get(block, "")


@dataclass(frozen=True, eq=False, slots=True)
class IterationClock:
    """The clock of a loop during code generation.

    `began` is the start of the last timed iteration, `second` that of the second one; both are
    initialised when the loop is entered.
    """

    number: int
    started: Any
    began: Any
    second: Any
    is_long: bool
    limit: Any


@contextmanager
def timed_loop(context: CodegenContext, node: Node) -> Iterator[None]:
    """Time a loop of the program, if it takes long enough."""
    op = node.op
    assert isinstance(op, Loop)
    context.loop_paths[op.body] = op.path or _loop_of(context, node.home)
    is_outermost = node.home is context.kernel.main
    if not has_clocks(context) or not op.path or not (is_outermost or _duration(node) >= _LONG):
        yield
        return
    with timed(context, Clock("loop", op.path, "")) as number:
        context.loop_clocks[node] = number
        yield


def begin_iterations(context: CodegenContext, node: Node, limit: Any) -> IterationClock | None:
    """The clock of a loop's iterations; None if they are too short, or run in tiles."""
    number, op = context.loop_clocks.get(node), node.op
    assert isinstance(op, Loop)
    each = _iteration(op.body)
    if number is None or context.tile is not None or each < _SHORT:
        return None
    w, started = context.builder, now(context)
    told = limit if not op.has_condition and op.next_condition is None else None
    is_long = each >= _LONG
    return IterationClock(
        number, started, w.variable(I64, started), w.variable(I64, started), is_long, told
    )


def begin_iteration(context: CodegenContext, clock: IterationClock | None, index: Any) -> None:
    """Record the start of the second, the last, or a long iteration."""
    if clock is None:
        return
    b, w = context.builder.builder, context.builder
    is_second = b.icmp_signed("==", index, llvm.Constant(I64, 1))
    if clock.is_long:
        moment = now(context)
        b.store(moment, clock.began)
        with w.rarely(is_second):
            b.store(moment, clock.second)
        return
    is_last = is_second
    if clock.limit is not None:
        last = b.sub(clock.limit, llvm.Constant(I64, 1))
        is_last = b.or_(is_second, b.icmp_signed("==", index, last))
    with w.rarely(is_last):
        moment = now(context)
        b.store(moment, clock.began)
        with w.rarely(is_second):
            b.store(moment, clock.second)


def end_iterations(
    context: CodegenContext, node: Node, clock: IterationClock | None, count: Any
) -> None:
    """Add up the loop's iterations, and the first and last one if there are two."""
    number = context.loop_clocks.get(node)
    if number is None or context.tile is not None:
        return
    b, w = context.builder.builder, context.builder
    _add(context, "iterations", number, count)
    if clock is None:
        return
    ended = now(context)
    several = b.icmp_signed(">", count, llvm.Constant(I64, 1))
    with w.rarely(several):
        first = b.sub(b.load(clock.second, typ=I64), clock.started)
        _add(context, "first", number, first)
        if clock.is_long or clock.limit is not None:
            _add(context, "last", number, b.sub(ended, b.load(clock.began, typ=I64)))


def _add(context: CodegenContext, kind: str, number: int, amount: Any) -> None:
    b, word = context.builder.builder, number * len(CLOCK_WORDS) + CLOCK_WORDS.index(kind)
    base = context.access.slots.clocks()
    address = b.gep(base, [llvm.Constant(I64, word)], source_etype=I64, inbounds=True)
    b.store(b.add(b.load(address, typ=I64), amount), address)


def _iteration(body: Block) -> int:
    """The estimated nanoseconds of an iteration, inner loops included."""
    inner = (node for node in body.nodes if isinstance(node.op, Loop))
    return cost(body) + sum(map(_duration, inner))


def _duration(loop: Node) -> int:
    op = loop.op
    assert isinstance(op, Loop)
    times = op.extent if isinstance(op.extent, int) else op.length
    return (times if isinstance(times, int) else ASSUMED_EXTENT) * _iteration(op.body)
