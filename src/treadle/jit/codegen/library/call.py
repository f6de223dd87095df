"""One call of a free kernel: fills its slots, describes and hands over its results.

int32_t run_0(in, out, run):
    slots = addresses of tensors, extents, the workspace, the caller's functions
    status = kernel(slots)                  kernel_bounded if the run has limits
    dynamic shapes of results
    results of unknown size: to memory of `grow`, or in place
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir as llvm

from treadle.jit.codegen.function_builder import FunctionBuilder
from treadle.jit.codegen.heap_buffer import byte_size, release
from treadle.jit.codegen.library.interface import (
    ARGUMENT,
    BYTES,
    DATA,
    GROW,
    ITERATIONS,
    OUT_OF_MEMORY,
    POLL,
    SHARE,
    USER,
    WORKSPACE,
    Tensors,
    begin,
    run_type,
    size_type,
)
from treadle.jit.codegen.library.signature_match import describe, extent_value, known_extents
from treadle.jit.codegen.llvm_types import I8, I32, I64, POINTER
from treadle.jit.kernel.artifact import KernelArtifact, Slot
from treadle.jit.kernel.free_kernel import FreeCode, FreeKernel
from treadle.jit.kernel.ir import Node, SymbolicDim
from treadle.jit.kernel.target import Target

ALIGNED = 64
_NO_BOUND, _ALL_MEMORY = 2**62, 2**47


@dataclass(frozen=True, slots=True)
class _Call:
    """The state shared by the functions that emit a call."""

    builder: FunctionBuilder
    free: FreeKernel
    given: Tensors
    made: Tensors
    run: Any
    known: Mapping[SymbolicDim, Any]

    def of_run(self, part: int, type_: Any) -> Any:
        """A field of the run structure; 0 if the caller passes none."""
        b, kind = self.builder.builder, run_type(self.builder.target)
        address = b.gep(
            self.run, [llvm.Constant(I32, 0), llvm.Constant(I32, part)], source_etype=kind
        )
        return b.load(address, typ=type_)


def emit_call(
    module: llvm.Module, code: FreeCode, suffix: str, names: tuple[str, str], target: Target
) -> Any:
    """Emit the function that runs a kernel; `names` are those of its two functions."""
    w = begin(module, f".run_{suffix}", I32, [POINTER] * 3, target)
    given, made, run = w.function.args
    tensors = Tensors(w, given)
    call = _Call(w, code.free, tensors, Tensors(w, made), run, known_extents(tensors, code.free))
    needed = max(code.plain.workspace, code.bounded.workspace)
    if needed:
        with w.rarely(_is_null(w, call.of_run(WORKSPACE, POINTER))):
            w.builder.ret(llvm.Constant(I32, ARGUMENT))
    bounds = (call.of_run(ITERATIONS, I64), call.of_run(BYTES, I64))
    none = llvm.Constant(I64, 0)
    is_bounded = w.builder.icmp_signed(">", w.builder.or_(*bounds), none)
    with w.rarely(is_bounded):
        _finish(call, code.bounded, names[1], code.free.as_written.results)
    _finish(call, code.plain, names[0], code.free.kernel.results)
    w.close_entry()
    return w.function


def _is_null(builder: FunctionBuilder, pointer: Any) -> Any:
    return builder.builder.icmp_unsigned("==", pointer, llvm.Constant(POINTER, None))


def _finish(call: _Call, code: KernelArtifact, name: str, results: Sequence[Node]) -> None:
    """Run a kernel, whose results these are, and return its status."""
    w = call.builder
    slots = w.variable(I64, count=max(len(code.slots), 2))
    for number, slot in enumerate(code.slots):
        value = _SLOTS[slot.kind](call, code, slot)
        if value is not None:
            w.builder.store(_word(w, value), _slot(w, slots, number))
    status = w.builder.call(w.external(name, I64, POINTER), [slots])
    with w.rarely(w.builder.icmp_signed("!=", status, llvm.Constant(I64, 0))):
        w.builder.ret(w.builder.trunc(status, I32))
    _tell_shapes(call, code, slots, results)
    _hand_over(call, code, slots, results)
    w.builder.ret(llvm.Constant(I32, 0))


def _word(builder: FunctionBuilder, value: Any) -> Any:
    """The content of a slot: a number, or an address as one."""
    return value if value.type == I64 else builder.builder.ptrtoint(value, I64)


def _slot(builder: FunctionBuilder, slots: Any, number: int) -> Any:
    return builder.builder.gep(slots, [llvm.Constant(I64, number)], source_etype=I64)


def _given(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
    return call.given.part_pointer(slot.which, DATA)


def _result(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
    return call.made.part_pointer(slot.which, DATA)


def _extent(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
    return call.known[slot.which]


def _workspace(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
    """The first position in the workspace aligned to a cache line."""
    b, room = call.builder.builder, call.of_run(WORKSPACE, POINTER)
    address = b.add(b.ptrtoint(room, I64), llvm.Constant(I64, ALIGNED - 1))
    return b.and_(address, llvm.Constant(I64, -ALIGNED))


def _function(part: int) -> Callable[[_Call, KernelArtifact, Slot], Any]:
    """The pair of a caller's function and its context; null if it is not set."""

    def pair(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
        w, b = call.builder, call.builder.builder
        words = w.variable(POINTER, count=2)
        function = call.of_run(part, POINTER)
        b.store(function, words)
        second = b.gep(words, [llvm.Constant(I64, 1)], source_etype=POINTER)
        b.store(call.of_run(USER, POINTER), second)
        return b.select(_is_null(w, function), llvm.Constant(POINTER, None), words)

    return pair


def _bound(part: int, most: int) -> Callable[[_Call, KernelArtifact, Slot], Any]:
    """A limit of the run, by default the greatest number."""

    def bound(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
        b, given = call.builder.builder, call.of_run(part, I64)
        is_bound = b.icmp_signed(">", given, llvm.Constant(I64, 0))
        return b.select(is_bound, given, llvm.Constant(I64, most))

    return bound


def _nothing(call: _Call, code: KernelArtifact, slot: Slot) -> Any:
    """0, for a slot that the kernel writes."""


_SLOTS: Mapping[str, Callable[[_Call, KernelArtifact, Slot], Any]] = {
    "given": _given,
    "result": _result,
    "extent": _extent,
    "workspace": _workspace,
    "poll": _function(POLL),
    "team": _function(SHARE),
    "left": _bound(ITERATIONS, _NO_BOUND),
    "room": _bound(BYTES, _ALL_MEMORY),
    "grown": lambda call, code, slot: llvm.Constant(I64, 0),
    "count": _nothing,
    "over": _nothing,
}


def _told(call: _Call, code: KernelArtifact, slots: Any) -> Mapping[SymbolicDim, Any]:
    """The extents known after the run."""
    w = call.builder
    late = {
        slot.which: w.builder.load(_slot(w, slots, number), typ=I64)
        for number, slot in enumerate(code.slots)
        if slot.kind == "count"
    }
    return {**late, **call.known}


def _tell_shapes(call: _Call, code: KernelArtifact, slots: Any, results: Sequence[Node]) -> None:
    """Write rank, element type and shape of every result."""
    told = _told(call, code, slots)
    for position, node in enumerate(results):
        describe(call.made, position, node)
        for axis, extent in enumerate(node.shape):
            value = extent_value(extent, told)
            call.builder.builder.store(value, call.made.extent_pointer(position, axis))


def _hand_over(call: _Call, code: KernelArtifact, slots: Any, results: Sequence[Node]) -> None:
    """Hand over results of unknown size: copied to memory of `grow`, or in place."""
    if not code.grown:
        return
    w, b = call.builder, call.builder.builder
    numbers = {slot.which: k for k, slot in enumerate(code.slots) if slot.kind == "grown"}
    places = {k: b.load(_slot(w, slots, numbers[k]), typ=POINTER) for k in code.grown}
    grow = call.of_run(GROW, POINTER)
    with b.if_else(_is_null(w, grow)) as (as_they_are, copied):
        with as_they_are:
            for number, address in places.items():
                call.made.store(number, DATA, address)
        with copied:
            _copy_all(call, _told(call, code, slots), places, results)


def _copy_all(
    call: _Call,
    told: Mapping[SymbolicDim, Any],
    places: Mapping[int, Any],
    results: Sequence[Node],
) -> None:
    w = call.builder
    done: list[Any] = []
    for number, address in places.items():
        node = results[number]
        shape = [e if isinstance(e, int) else told[e] for e in node.shape]
        size = byte_size(w, shape, node.dtype.numpy.itemsize)
        memory = _grown(
            call,
            llvm.Constant(POINTER, None),
            w.intrinsic("llvm.umax", I64, size, llvm.Constant(I64, 1)),
        )
        with w.rarely(_is_null(w, memory)):
            _give_back(call, done, list(places.values())[len(done) :])
        _copy(w, address, memory, size)
        release(w, address)
        call.made.store(number, DATA, memory)
        done.append(memory)


def _give_back(call: _Call, done: Sequence[Any], left: Sequence[Any]) -> None:
    """Without enough memory: free the memory obtained from `grow` so far."""
    for memory in done:
        _grown(call, memory, llvm.Constant(I64, 0))
    for address in left:
        release(call.builder, address)
    call.builder.builder.ret(llvm.Constant(I32, OUT_OF_MEMORY))


def _grown(call: _Call, memory: Any, size: Any) -> Any:
    """Call the caller's `grow` with a memory, null at first, and a size."""
    b, word = call.builder.builder, size_type(call.builder.target)
    kind = llvm.FunctionType(POINTER, [POINTER, POINTER, word])
    function = call.of_run(GROW, kind.as_pointer())
    bytes_ = size if word == I64 else b.trunc(size, word)
    return b.call(function, [call.of_run(USER, POINTER), memory, bytes_])


def _copy(builder: FunctionBuilder, source: Any, target: Any, size: Any) -> None:
    b = builder.builder
    with builder.range(size) as number:
        byte = b.load(b.gep(source, [builder.index(number)], source_etype=I8), typ=I8)
        b.store(byte, b.gep(target, [builder.index(number)], source_etype=I8))


def workspace_bytes(code: FreeCode) -> int:
    """The number of workspace bytes a caller must provide, including room for alignment."""
    needed = max(code.plain.workspace, code.bounded.workspace)
    return needed + ALIGNED if needed else 0
