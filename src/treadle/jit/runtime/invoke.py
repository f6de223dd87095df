"""One call of a kernel: fills its slots, allocates results or adopts their memory."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle import ops
from treadle.errors import KernelError, RunError
from treadle.jit.host.array_memory import (
    AdoptedBuffer,
    address,
    data_pointer_slot,
    in_panels,
    keep_freed_memory,
    words_type,
)
from treadle.jit.host.calls import Bind, Call, host_call
from treadle.jit.host.kernels import HostKernels
from treadle.jit.kernel import memory_limit
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Kernel, SymbolicDim
from treadle.jit.runtime.result_arrays import OutputSlot, result_arrays
from treadle.jit.threads.thread_pool import acquired
from treadle.jit.toolchain.llvm import LoadedKernel
from treadle.jit.toolchain.symbols import ROOM
from treadle.machine import LARGE, refusal
from treadle.plan import FallbackRequired, RunContext

if TYPE_CHECKING:  # few kernels are profiled
    from treadle.jit.runtime.clocks import Clocks

_WORKSPACE_ALIGNMENT = 64
"""Alignment in bytes."""
_CAPACITY = 2
"""How large the memory of a value that grows may be beside the value."""
_ADOPTED_BYTES = 2**20
"""The size in bytes from which results keep the memory the kernel allocated.

Smaller ones are copied.
"""
_UNBOUNDED = inf, 2**62
_FULL, _UNMATCHED, _UNFIT, _OVER_LIMIT, _OVER_BYTES = 2, 5, 6, 7, 8
_FAILURES = {
    1: "an index is out of range",
    _FULL: "there is not enough memory for a value",
    3: "the trip count is larger than the number of items of a scan input",
    _UNMATCHED: "a guard failed: extents of this run differ from those that the code assumes",
    _UNFIT: "a guard failed: a value of this run is outside the range that the code supports",
}
_BOUNDS, _OUTS = ("left", "room"), ("grown", "count", "over")
_NOTHING = nullcontext()


class GuardFailed(FallbackRequired):
    """A guard that compares extents failed."""


class UnfitValue(FallbackRequired):
    """A guard of values failed."""


_REFUSALS = {_UNMATCHED: GuardFailed, _UNFIT: UnfitValue}


@dataclass(frozen=True, slots=True)
class CallLayout:
    """The slots of a kernel by kind, each with its number.

    `template` holds the constant slots; `given` and `results` lead to the words of arrays, `outs`
    are written by the kernel, `bounds` hold the limits; `laid` (packed constants) are kept alive.
    `escapes` are host calls, with the call for runs without bounds; `keepers` are host calls with
    boxed values, bound for each run.
    """

    type: Any
    template: bytes
    given: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]
    extents: tuple[tuple[int, SymbolicDim], ...]
    poll: int | None
    workspace: int | None
    bounds: Mapping[str, int]
    thread_pool: int | None
    outs: Mapping[tuple[str, Any], int]
    rows: tuple[tuple[int, int], ...]
    escapes: tuple[tuple[int, Bind, Call], ...]
    laid: tuple[np.ndarray, ...]
    keepers: tuple[tuple[int, Bind], ...]

    @property
    def calls(self) -> bool:
        """Whether there are host calls."""
        return bool(self.escapes or self.keepers)

    @classmethod
    def of(
        cls, code: KernelArtifact, kernels: HostKernels, clocks: Clocks | None = None
    ) -> CallLayout:
        """The slots of this code, sorted; what it calls is found in `kernels`."""
        fixed = np.zeros(len(code.slots), np.int64)
        kinds: dict[str, list[tuple[int, Any]]] = {}
        for number, slot in enumerate(code.slots):
            kinds.setdefault(slot.kind, []).append((number, slot.which))
        packed = [(number, in_panels(*which)) for number, which in kinds.get("panels", ())]
        for number, array in kinds.get("array", ()):
            fixed[number] = address(array)
        for number, array in packed:
            fixed[number] = address(array)
        for number, _ in kinds.get("clocks", ()):
            assert clocks is not None
            fixed[number] = address(clocks.words)
        escapes, keepers = [], []
        for number, node in kinds.get("escape", ()):
            bind = host_call(node, kernels)
            if node.op.has_objects:
                keepers.append((number, bind))
            else:
                escapes.append((number, bind, bind([])))
                fixed[number] = id(escapes[-1][-1])
        single = {
            kind: kinds[kind][0][0]
            for kind in ("poll", "workspace", "team", *_BOUNDS)
            if kind in kinds
        }
        return cls(
            words_type(len(code.slots)), fixed.tobytes(), tuple(kinds.get("given", ())),
            tuple(kinds.get("result", ())), tuple(kinds.get("extent", ())), single.get("poll"),
            single.get("workspace"), {kind: single[kind] for kind in _BOUNDS if kind in single},
            single.get("team"),
            {(k, which): n for k in _OUTS for n, which in kinds.get(k, ())},
            tuple((which, n) for n, which in kinds.get("rows", ())),
            tuple(escapes), tuple(array for _, array in packed), tuple(keepers),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class CompiledKernel:
    """A kernel as machine code.

    `trips` are the inputs that open extents are found in, `exact` the extents known before it runs,
    `reshaped` the results whose extents it tells, `threads` how many may share its work. `clocks`
    are those of a profiled kernel.
    """

    kernel: Kernel
    code: KernelArtifact
    machine: LoadedKernel
    trips: Mapping[SymbolicDim, int]
    exact: frozenset[SymbolicDim]
    layout: CallLayout
    results: tuple[OutputSlot, ...]
    reshaped: tuple[int, ...]
    threads: int = 1
    clocks: Clocks | None = None

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        code: KernelArtifact,
        machine: LoadedKernel,
        trips: Mapping[SymbolicDim, int],
        exact: Collection[SymbolicDim] = (),
        threads: int = 1,
        kernels: HostKernels | None = None,
    ) -> CompiledKernel:
        """A kernel with its slots sorted; `kernels` are numpy's by default."""
        keep_freed_memory()
        results = tuple(
            OutputSlot.of(node, exact, is_grown=k in code.grown, weighs=kernel.limits_memory)
            for k, node in enumerate(kernel.results)
        )
        clocks = None
        if code.clocks:
            from treadle.jit.runtime.clocks import Clocks, clocked

            clocks = Clocks(code, machine.lines)
            machine = clocked(machine, clocks)
        layout = CallLayout.of(code, kernels or HostKernels(), clocks)
        reshaped = tuple(k for k, result in enumerate(results) if result.is_reshaped)
        known = frozenset(exact)
        return cls(kernel, code, machine, trips, known, layout, results, reshaped, threads, clocks)


def invoke(
    compiled: CompiledKernel,
    arrays: Sequence[np.ndarray],
    lengths: Mapping[SymbolicDim, int],
    context: RunContext,
    path: str,
    objects: list[Any] | None = None,
    names: Sequence[str] = (),
) -> list[Any]:
    """Run the kernel on these row-major arrays; `lengths` are the extents of dynamic axes.

    Results are written into the memory that the run gives for `names`, if it does so.
    `objects` maps handles to boxed inputs; results may be among them. Raises FallbackRequired if
    the kernel fails, Declined if it cannot produce these results.
    """
    if compiled.trips:
        counts = {e: max(int(arrays[k].item()), 0) for e, k in compiled.trips.items()}
        lengths = {**lengths, **counts}
    layout, word = compiled.layout, data_pointer_slot()
    memory, nodes = context.memory, compiled.kernel.results
    bound, room = _UNBOUNDED if context.limits.bytes is None else _bounds(context, arrays)
    results = result_arrays(compiled.results, nodes, lengths, room, bound, memory, names)
    keep: list[Any] = []
    slots = layout.type.from_buffer_copy(layout.template)
    for number, which in layout.given:
        slots[number] = word(arrays[which], keep)
    for number, which in layout.results:
        slots[number] = word(results[which], keep)
    for number, extent in layout.extents:
        slots[number] = lengths[extent]
    objects = [] if objects is None else objects
    _bind(layout, slots, keep, objects, context)
    if layout.workspace is not None:
        _memory, slots[layout.workspace] = workspace_of(compiled, bound)
    if layout.poll is not None:

        def poll() -> None:
            context.poll(path)

        slots[layout.poll] = id(poll)
    call = partial(_call_bounded, bound=bound) if layout.bounds else _call
    if memory is None:
        call(compiled, results, slots, context, path)
        return _with_objects(compiled, results, objects)
    try:
        call(compiled, results, slots, context, path)
    except BaseException:
        memory.wrote({names[which]: slots[n] for which, n in layout.rows})
        raise
    memory.wrote(dict.fromkeys(names))
    return _with_objects(compiled, results, objects)


def _with_objects(compiled: CompiledKernel, results: list[Any], objects: list[Any]) -> list[Any]:
    """The results, with boxed objects instead of handles."""
    for number in compiled.kernel.boxed_results:
        results[number] = objects[int(results[number])]
    return results


def _bind(
    layout: CallLayout, slots: Any, keep: list[Any], objects: list[Any], context: RunContext
) -> None:
    """Fill the slots of host calls for this run."""
    for number, bind in layout.keepers:
        keep.append(bind(objects, context))
        slots[number] = id(keep[-1])
    if layout.escapes and context.may_stop:
        for number, bind, _ in layout.escapes:
            keep.append(bind([], context))
            slots[number] = id(keep[-1])


def _bounds(context: RunContext, arrays: Sequence[np.ndarray]) -> tuple[float, int]:
    """The bytes of a value from which interp decides on `max_bytes`, and those left to loops."""
    most = context.limits.bytes or 0
    return max(most, *(array.nbytes for array in arrays), 0), context.bytes_left


def workspace_of(compiled: CompiledKernel, bound: float = inf) -> tuple[np.ndarray, int]:
    """The memory that a kernel computes in, and its address; raises Declined without memory."""
    size = compiled.code.workspace + _WORKSPACE_ALIGNMENT
    if size > LARGE and (why := refusal(size, bound)):
        raise Declined(f"values that do not fit into memory: {why}")
    try:
        memory = np.empty(size, np.uint8)
    except (MemoryError, ValueError) as error:
        raise Declined(f"values that do not fit into memory: {error}") from error
    return memory, -(-address(memory) // _WORKSPACE_ALIGNMENT) * _WORKSPACE_ALIGNMENT


def _call_bounded(
    compiled: CompiledKernel,
    results: list[Any],
    slots: Any,
    context: RunContext,
    path: str,
    bound: float,
) -> None:
    """Call a kernel that counts iterations or bytes; `bound` is that of one allocation."""
    left, room = (compiled.layout.bounds.get(kind) for kind in _BOUNDS)
    if room is not None:
        slots[room] = context.bytes_left
    before = 0 if left is None else context.iterations_left
    if left is not None:
        slots[left] = before
    ROOM.bound = _CAPACITY * bound
    try:
        _call(compiled, results, slots, context, path)
    finally:
        ROOM.bound = inf
    if left is not None:
        context.iterations_done += before - slots[left]


def _call(
    compiled: CompiledKernel, results: list[Any], slots: Any, context: RunContext, path: str
) -> None:
    try:
        with ops.ignore_fp_warnings() if compiled.layout.calls else _NOTHING:
            status = run_code(compiled, results, slots)
        if status == _OVER_LIMIT:
            raise context.over(*_where(compiled, _told(compiled, slots)))
        if status == _OVER_BYTES:
            _tell_weight(compiled, slots, context)
        if status:
            error = RunError(_FAILURES[status] + (why_full() if status == _FULL else ""), path)
            raise _REFUSALS.get(status, FallbackRequired)(error)
    except KernelError as error:
        raise FallbackRequired(RunError(str(error), path)) from error


def run_code(compiled: CompiledKernel, results: list[Any], slots: Any) -> int:
    """Run the kernel, with the thread pool if its work may be shared; 0 if it has succeeded.

    Then `results` are complete: those whose extents only the kernel knows are put there.
    """
    pool_slot, address = compiled.layout.thread_pool, ctypes.addressof(slots)
    if pool_slot is None and not (compiled.code.grown or compiled.reshaped):
        return compiled.machine.call(address)
    outs = compiled.layout.outs
    grown = [AdoptedBuffer(slots, outs["grown", k]) for k in compiled.code.grown]
    if pool_slot is None:
        status = compiled.machine.call(address)
    else:
        with acquired(compiled.threads) as slots[pool_slot]:
            status = compiled.machine.call(address)
    if grown and not status:
        _take_grown(compiled, results, slots, grown)
    if compiled.reshaped and not status:
        _take_shapes(compiled, results, slots)
    return status


def why_full() -> str:
    """The bytes of the allocation that Python refused; "" if the system did."""
    why, interrupt, ROOM.refusal, ROOM.interrupt = ROOM.refusal, ROOM.interrupt, "", None
    if interrupt is not None:
        raise interrupt
    return f": {why}" if why else ""


def _tell_weight(compiled: CompiledKernel, slots: Any, context: RunContext) -> None:
    """Raise the error for the loop that would exceed the limit of bytes."""
    told = _told(compiled, slots)
    context.hold(context.held + told[memory_limit.SIZE], *_where(compiled, told))


def _told(compiled: CompiledKernel, slots: Any) -> dict[int, int]:
    """The kernel's report of the loop that exceeded a limit."""
    outs = compiled.layout.outs
    return {which: slots[number] for (kind, which), number in outs.items() if kind == "over"}


def _where(compiled: CompiledKernel, told: Mapping[int, int]) -> tuple[str, tuple[int, ...]]:
    """The path of that loop, and the iterations as far as they are known."""
    loop = memory_limit.loops(compiled.kernel.main)[told[memory_limit.LOOP]]
    return loop.path, tuple(told[memory_limit.FIRST + k] for k in range(told[memory_limit.DEPTH]))


def _take_grown(
    compiled: CompiledKernel, results: list[Any], slots: Any, grown: Sequence[AdoptedBuffer]
) -> None:
    """Take over results of unknown size: large ones in the kernel's memory, small ones copied."""
    for number, lent in zip(compiled.code.grown, grown, strict=True):
        result, shape = compiled.results[number], _told_shape(compiled, number, slots)
        if prod(shape) * result.dtype.itemsize >= _ADOPTED_BYTES:
            results[number] = lent.array(shape, result.dtype)
            continue
        try:
            made = np.empty(shape, result.dtype)
        except (MemoryError, ValueError) as error:
            raise Declined("a result that does not fit into memory") from error
        if made.nbytes:
            ctypes.memmove(address(made), lent.address, made.nbytes)
        results[number] = made


def _take_shapes(compiled: CompiledKernel, results: list[Any], slots: Any) -> None:
    """Give results that are views of what the kernel wrote the shapes that it tells."""
    for number in compiled.reshaped:
        results[number] = results[number].reshape(_told_shape(compiled, number, slots))


def _told_shape(compiled: CompiledKernel, number: int, slots: Any) -> list[int]:
    outs, node = compiled.layout.outs, compiled.kernel.results[number]
    return [slots[outs["count", e]] if isinstance(e, SymbolicDim) else e for e in node.shape]
