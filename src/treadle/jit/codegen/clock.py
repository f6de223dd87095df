"""Clocks of a profiled kernel: count processor ticks of loops, nests and calls.

A clock is a row of words to which a kernel's calls add. `schedule/steps/timings.py` says which
code has one. All code has a line in the line table (`debug_locations.py`), for samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.context import CodegenContext, LoopClock
from treadle.jit.codegen.debug_locations import located
from treadle.jit.codegen.llvm_types import I64
from treadle.jit.kernel.artifact import CLOCK_WORDS, Clock, CodePlace
from treadle.jit.kernel.ir import BOXED_DOMAIN, Block, HostCall, Loop, Node, op_of
from treadle.jit.kernel.traversal import word_of, words_of
from treadle.jit.lowering import lowering
from treadle.jit.schedule.fusion import Nest
from treadle.jit.schedule.steps.timings import Iterations

_READ = "llvm.readcyclecounter"
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
"""2^64 over the golden ratio: multiples of it are spread evenly over all words of 64 bits."""
_TIMED = 2**61
"""One word in eight is below it."""
THE_LOOP = "the loop itself"


def has_clocks(context: CodegenContext) -> bool:
    """Whether the kernel is profiled, on a processor whose counter can be read."""
    return context.schedule.timings is not None


def now(context: CodegenContext) -> Any:
    """The processor's counter."""
    return context.builder.builder.call(context.builder.external(_READ, I64), [])


@contextmanager
def timed(context: CodegenContext, clock: Clock, *, is_long: bool = True) -> Iterator[LoopClock]:
    """Time the enclosed code, or one of eight runs of it, and count how often it runs.

    Which runs are timed does not depend on the trip counts around them: the multiples of a number
    without small factors are spread evenly over every arithmetic progression.
    """
    b, w, number = context.builder.builder, context.builder, len(context.clocks)
    context.clocks.append(clock)
    due = None if is_long else _is_due(context, number)
    started = w.variable(I64, llvm.Constant(I64, 0))
    with _when(context, due):
        b.store(now(context), started)
    yield LoopClock(number, due)
    with _when(context, due):
        _add(context, "ticks", number, b.sub(now(context), b.load(started, typ=I64)))
        if due is not None:
            _add(context, "timed", number, llvm.Constant(I64, 1))
    _add(context, "entries", number, llvm.Constant(I64, 1))


def _is_due(context: CodegenContext, number: int) -> Any:
    b = context.builder.builder
    entries = b.load(_word(context, "entries", number), typ=I64)
    mixed = b.mul(entries, llvm.Constant(I64, _GOLDEN))
    return b.icmp_unsigned("<", mixed, llvm.Constant(I64, _TIMED))


def _when(context: CodegenContext, due: Any) -> AbstractContextManager[None]:
    return nullcontext() if due is None else context.builder.rarely(due)


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
    if not has_clocks(context) or isinstance(node.op, Loop):
        yield
        return
    loop, words = _loop_of(context, node.home), words_of([node])
    clock = Clock("nest", loop, words)
    if isinstance(node.op, HostCall):
        clock = Clock("call", loop, f"{word_of(node)}: {_why_called(node.op)}")
    with _timed_step(context, node, words, clock):
        yield


def _why_called(op: HostCall) -> str:
    leaf = op.leaf
    if leaf.domain == BOXED_DOMAIN or op.has_objects:
        return "its values have no native form"
    if lowering(leaf.domain, leaf.op, leaf.version) is None:
        return "the operator has no native code"
    return "native code does not take these types, shapes or attributes"


@contextmanager
def timed_nest(context: CodegenContext, nest: Nest) -> Iterator[None]:
    """Time a nest that computes several nodes, if it takes long enough."""
    if not has_clocks(context):
        yield
        return
    loop, words = _loop_of(context, nest.nodes[0].home), words_of(nest.nodes)
    with _timed_step(context, nest, words, Clock("nest", loop, words)):
        yield


@contextmanager
def _timed_step(
    context: CodegenContext, step: Node | Nest, words: str, clock: Clock
) -> Iterator[None]:
    found = context.schedule.timing_of(step)
    with located(context, CodePlace(clock.path, words, found is not None)):
        if found is None:
            yield
            return
        with timed(context, clock, is_long=found.always):
            yield


def _loop_of(context: CodegenContext, block: Block) -> str:
    """The path of the loop around a block; "" outside all loops."""
    return context.loop_paths.get(block, "")


@dataclass(frozen=True, eq=False, slots=True)
class IterationClock:
    """The clock of a loop during code generation.

    `began` is the start of the last timed iteration, `second` that of the second one; both are
    initialised when the loop is entered. `due`: see LoopClock.
    """

    number: int
    due: Any
    started: Any
    began: Any
    second: Any
    is_long: bool
    limit: Any


@contextmanager
def timed_loop(context: CodegenContext, node: Node) -> Iterator[None]:
    """Time a loop of the program, if it takes long enough."""
    op = op_of(node, Loop)
    context.loop_paths[op.body] = op.path or _loop_of(context, node.home)
    if not has_clocks(context):
        yield
        return
    found = context.schedule.timing_of(node)
    with located(context, CodePlace(context.loop_paths[op.body], THE_LOOP, False)):
        if found is None:
            yield
            return
        with timed(context, Clock("loop", op.path, ""), is_long=found.always) as made:
            context.loop_clocks[node] = made
            yield


def begin_iterations(context: CodegenContext, node: Node, limit: Any) -> IterationClock | None:
    """The clock of a loop's iterations; None if none is timed by itself."""
    own, kind = _iterations_of(context, node)
    if own is None or kind not in (Iterations.ENDS, Iterations.EACH):
        return None
    w = context.builder
    started = w.variable(I64, llvm.Constant(I64, 0))
    began, second = w.variable(I64), w.variable(I64)
    with _when(context, own.due):
        moment = now(context)
        for variable in (started, began, second):
            w.builder.store(moment, variable)
    told = limit if op_of(node, Loop).is_counted else None
    is_long = kind is Iterations.EACH
    return IterationClock(own.number, own.due, started, began, second, is_long, told)


def _iterations_of(
    context: CodegenContext, loop: Node
) -> tuple[LoopClock | None, Iterations | None]:
    """The clock of a loop, and what it tells of the iterations; None if it has no clock."""
    found = context.schedule.timing_of(loop)
    return context.loop_clocks.get(loop), None if found is None else found.iterations


def begin_iteration(context: CodegenContext, clock: IterationClock | None, index: Any) -> None:
    """Record the start of the second, the last, or a long iteration."""
    if clock is None:
        return
    b, w = context.builder.builder, context.builder
    is_second = b.icmp_signed("==", index, llvm.Constant(I64, 1))
    if clock.is_long:
        with _when(context, clock.due):
            moment = now(context)
            b.store(moment, clock.began)
            with w.rarely(is_second):
                b.store(moment, clock.second)
        return
    is_asked = is_second
    if clock.limit is not None:
        last = b.sub(clock.limit, llvm.Constant(I64, 1))
        is_asked = b.or_(is_second, b.icmp_signed("==", index, last))
    if clock.due is not None:
        is_asked = b.and_(is_asked, clock.due)
    with w.rarely(is_asked):
        moment = now(context)
        b.store(moment, clock.began)
        with w.rarely(is_second):
            b.store(moment, clock.second)


def end_iterations(
    context: CodegenContext, node: Node, clock: IterationClock | None, count: Any
) -> None:
    """Add up the loop's iterations, and the first and last one if there are two."""
    own = context.loop_clocks.get(node)
    if own is None:
        return
    b, w, number = context.builder.builder, context.builder, own.number
    _add(context, "iterations", number, count)
    if clock is None:
        return
    several = b.icmp_signed(">", count, llvm.Constant(I64, 1))
    with _when(context, clock.due):
        ended = now(context)
        with w.rarely(several):
            started = b.load(clock.started, typ=I64)
            _add(context, "first", number, b.sub(b.load(clock.second, typ=I64), started))
            if clock.is_long or clock.limit is not None:
                _add(context, "last", number, b.sub(ended, b.load(clock.began, typ=I64)))


def _add(context: CodegenContext, kind: str, number: int, amount: Any) -> None:
    b, address = context.builder.builder, _word(context, kind, number)
    b.store(b.add(b.load(address, typ=I64), amount), address)


def _word(context: CodegenContext, kind: str, number: int) -> Any:
    word = number * len(CLOCK_WORDS) + CLOCK_WORDS.index(kind)
    base, b = context.access.slots.clocks(), context.builder.builder
    return b.gep(base, [llvm.Constant(I64, word)], source_etype=I64, inbounds=True)
