"""A region made ready: a kernel for every signature seen."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from treadle.errors import RunError
from treadle.ir import Leaf, dtype_of
from treadle.jit.host.array_memory import row_major
from treadle.jit.host.boxed_values import HANDLE, enter_boxes
from treadle.jit.host.calls import ShapeChanged
from treadle.jit.host.kernels import HostKernels
from treadle.jit.host.sequence_marshal import stack_elements, unstack_elements
from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.ir import Kernel, SymbolicDim
from treadle.jit.kernel.node_builder import NATIVE, Declined
from treadle.jit.kernel.traversal import all_nodes, makes_objects
from treadle.jit.policy.profitability import why_unprofitable
from treadle.jit.runtime.ahead_of_time import predicted_report
from treadle.jit.runtime.compilation import compiled, loaded, machine_code_of
from treadle.jit.runtime.dynamic_dims import DynamicDimTracker
from treadle.jit.runtime.invoke import CompiledKernel, GuardFailed, invoke
from treadle.jit.runtime.kernel_records import KernelRecord, KernelRecords
from treadle.jit.runtime.report import report_of
from treadle.jit.runtime.specialize import (
    DynamicDims,
    Known,
    Signature,
    signature,
    specialize,
    trip_count_inputs,
)
from treadle.jit.runtime.value_specialization import ValueSpecialization
from treadle.jit.threads.thread_pool import minimum_work_ns
from treadle.jit.toolchain.disk_cache import DiskCache
from treadle.jit.toolchain.llvm import LoadedKernel
from treadle.jit.toolchain.uninterruptible import run_aside
from treadle.plan import CompilationReport, FallbackRequired, Region, RunContext, RunnableTraits

_log = logging.getLogger("treadle")
_MAX_SHAPES = 256
"""Sets of input shapes whose kernel a region remembers."""
_MAX_KERNELS = 32
"""Kernels that a region keeps."""
_POLL_SECONDS = 0.005
"""How often a run that waits for another's compilation looks whether it must stop."""
_MAX_MISFITS = 2
"""Runs in a row that a kernel may refuse before its signature has no kernel."""
_MISFIT = "shapes that change as it runs did not fit its code, twice in a row"
_UNFINISHED = "its native code is still being made, and a later run will find it"
Shapes = tuple[tuple[np.dtype[Any], tuple[int, ...]] | bytes, ...]
Found = tuple[CompiledKernel, Mapping[SymbolicDim, int]] | str


@dataclass(eq=False, slots=True)
class NativeRegion:
    """The Runnable of a region.

    `lists` are the outputs that are sequences. `holding` are the inputs that are a loop's
    condition: kernels are made for true ones. `seen` are the shapes of late, with their kernel and
    the extents of the axes it leaves open, or why there is none. `kernels` are those of operators
    without native code. `misfits` counts by signature how often in a row its kernel did not fit the
    data; `careful` are the signatures whose kernels assume nothing of it. `records` are the kernels
    that other processes have made of the same region.

    `is_deterministic`: what answers a run is chosen by its own data alone, never by what came
    before. So no axis is opened after some shapes, no kernel is made for values or assumes what
    another run may find untrue, and what one run finds out about the data changes nothing for later
    ones.
    """

    region: Region
    lengths: DynamicDims
    holding: tuple[int, ...] = ()
    known: Known = field(default_factory=dict)
    store: DiskCache | None = None
    threads: int = 1
    lists: tuple[int, ...] = ()
    counts: bool = False
    weighs: bool = False
    kernels: HostKernels = field(default_factory=HostKernels)
    is_deterministic: bool = False
    made: dict[Signature, CompiledKernel | str] = field(default_factory=dict)
    seen: dict[Shapes, Found] = field(default_factory=dict)
    openings: DynamicDimTracker = field(init=False)
    shaping: ValueSpecialization = field(default_factory=ValueSpecialization)
    records: KernelRecords | None = None
    misfits: dict[Signature, int] = field(default_factory=dict)
    careful: set[Signature] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """No shapes have come yet."""
        self.openings = DynamicDimTracker(self.lengths)
        if self.is_deterministic:
            self.openings.close()
            self.shaping = ValueSpecialization(most_values=0)

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Run it; Refused where there is no kernel for this data, or the kernel failed."""
        held: list[object] = []
        try:
            arrays = [self._array(number, value, held) for number, value in enumerate(inputs)]
            kernel, lengths = self._found(arrays, context)
            self._check_holding(arrays)
            results = self._run(kernel, arrays, lengths, context, held)
        except Declined as why:
            message = f"the native engine has no code for it: {why}"
            error = RunError(message, self.region.path)
            refused = FallbackRequired(error, is_lasting=self._is_hopeless())
            if isinstance(why, ShapeChanged) and not self.is_deterministic:
                self._vary(why.leaf)
            raise refused from why
        objects = kernel.kernel.boxed_results
        for number in self.lists:
            if number not in objects:
                results[number] = unstack_elements(results[number])
        if objects:
            context.outputs_may_alias = True
        return results

    def _run(
        self,
        kernel: CompiledKernel,
        arrays: Sequence[np.ndarray],
        lengths: Mapping[SymbolicDim, int],
        context: RunContext,
        held: list[object],
    ) -> list[Any]:
        try:
            results = invoke(kernel, arrays, lengths, context, self.region.path, held)
        except GuardFailed as unmatched:
            unmatched.answered = self._missed(arrays, kernel)
            raise
        if self.misfits:
            self._fitted(kernel)
        return results

    @property
    def traits(self) -> RunnableTraits:
        """Nobody else has the memory of the results, but for boxed values."""
        return RunnableTraits(
            returns_fresh_arrays=True,
            reports=self.reports,
            predicted_report=self.predicted_report,
        )

    def _array(self, number: int, value: object, held: list[object]) -> np.ndarray:
        """The input as an array: what has no native form is held, and known by its number."""
        if isinstance(value, np.ndarray) and dtype_of(value.dtype) in NATIVE:
            return row_major(value)
        if isinstance(value, list):
            array = stack_elements(value, self.region.inputs[number].type)
            return enter_boxes(value, held) if array is None else array
        return enter_boxes(value, held)

    def reports(self) -> list[CompilationReport]:
        """What was made for every signature that came; what is still being made is none of it."""
        made = dict(self.made)
        return [report_of(self.region.inputs, key, found) for key, found in made.items()]

    def predicted_report(self) -> CompilationReport:
        """What is to be said before any data came; nothing is compiled, or kept of it."""
        return predicted_report(self.region, self.lengths, self._thought_of)

    def _thought_of(
        self, key: Signature, lengths: DynamicDims
    ) -> tuple[Kernel, Collection[SymbolicDim]]:
        kernel = compile_settled(self, self._specialised(key, lengths))
        return kernel, exact_signature(kernel, lengths)

    def _vary(self, leaf: Leaf) -> None:
        """Forget the kernels: others are made that expect no extents of its results."""
        if not self.kernels.vary(leaf):
            return
        with self._lock:
            self.made = {}
            self.seen.clear()

    def _is_hopeless(self) -> bool:
        """Whether there was no kernel for any data that came."""
        if self.is_deterministic:
            return False
        with self._lock:
            made = self.made.values()  # none where another thread has begun anew
            return bool(made) and all(isinstance(each, str) for each in made)

    def _check_holding(self, arrays: Sequence[np.ndarray]) -> None:
        for position in self.holding:
            array = arrays[position]
            if not (array.item() if array.size == 1 else array.all()):
                raise Declined("a loop whose condition is false from the start")

    def _missed(
        self, arrays: Sequence[np.ndarray], kernel: CompiledKernel
    ) -> Callable[[], None] | None:
        """A guard failed: the next kernel assumes nothing, or leaves nothing open.

        For a kernel that does neither, what to do where the data is not at fault.
        """
        if self.is_deterministic:
            return None
        with self._lock:
            lengths = self.openings.lengths(arrays)
            if kernel.kernel.assumes:
                self._assume_nothing(kernel)
            elif lengths is self.lengths:
                return partial(self._misfit, kernel)
            elif self._can_be(arrays):
                self.openings.miss(lengths)
                if self.openings.is_closed:
                    self.seen.clear()
        return None

    def _keys(self, kernel: CompiledKernel) -> list[Signature]:
        return [key for key, made in self.made.items() if made is kernel]

    def _assume_nothing(self, kernel: CompiledKernel) -> None:
        """Make another kernel in the place of this one."""
        for key in self._keys(kernel):
            self.careful.add(key)
            del self.made[key]
        self.seen.clear()

    def _misfit(self, kernel: CompiledKernel) -> None:
        """Have no kernel for its signature any more where it did not fit twice in a row."""
        with self._lock:
            for key in self._keys(kernel):
                self.misfits[key] = self.misfits.get(key, 0) + 1
                if self.misfits[key] >= _MAX_MISFITS:
                    self.made[key] = _MISFIT
                    self.seen.clear()

    def _fitted(self, kernel: CompiledKernel) -> None:
        """Forget how often the kernel did not fit before."""
        with self._lock:
            for key in self._keys(kernel):
                self.misfits.pop(key, None)

    def _can_be(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether a closed kernel could run this, so that an open one should have."""
        try:
            self._specialised(signature(arrays, self.lengths), self.lengths)
        except Declined:
            return False
        return True

    def _found(
        self, arrays: Sequence[np.ndarray], context: RunContext
    ) -> tuple[CompiledKernel, Mapping[SymbolicDim, int]]:
        shapes: Shapes = tuple([(array.dtype, array.shape) for array in arrays])
        shaping = self.shaping.all
        if shaping:
            shapes = (*shapes, *(arrays[k].tobytes() for k in shaping))
        found = self.seen.get(shapes)
        if found is None:
            made = self.made
            found = self._awaited(arrays, context)
            if len(self.seen) >= _MAX_SHAPES:
                self.seen.clear()
            if shaping == self.shaping.all and made is self.made:
                self.seen[shapes] = found
        if isinstance(found, str):
            raise Declined(found)
        return found

    def _awaited(self, arrays: Sequence[np.ndarray], context: RunContext) -> Found:
        """What is sought, as long as the run may go on; what it waits for is done all the same."""
        seek = partial(self._sought, arrays)
        if not context.may_stop:
            return seek()
        poll = partial(context.poll, self.region.path, (), _UNFINISHED)
        while self._lock.locked():  # here: a thread for each run that waits would outlive it
            poll()
            time.sleep(_POLL_SECONDS)
        return run_aside(seek, poll)

    def _sought(self, arrays: Sequence[np.ndarray]) -> Found:
        with self._lock:
            lengths = self.openings.lengths(arrays)
            found = self._made(arrays, lengths)
            if isinstance(found, str) and lengths is not self.lengths:
                found = self._made(arrays, self.lengths)
                if not isinstance(found, str):
                    self.openings.close()
        return found

    def _made(self, arrays: Sequence[np.ndarray], lengths: DynamicDims) -> Found:
        key = self.shaping.valued(signature(arrays, lengths), arrays)
        if key not in self.made:
            self._evict()
            key = self._make(key, arrays, lengths)
        made = self.made[key] = self.made.pop(key)  # the least recently used one is first
        try:
            return made if isinstance(made, str) else (made, _extents(arrays, lengths))
        except Declined as why:
            return str(why)

    def _evict(self) -> None:
        """Make room for another kernel: the least recently used one goes.

        `seen` is cleared, so that each signature used from here on comes by `_made` once, which
        puts it last: a run that finds its shapes in `seen` pays nothing for that.
        """
        while len(self.made) >= _MAX_KERNELS:
            key = next(iter(self.made))
            del self.made[key]
            self.misfits.pop(key, None)
            self.careful.discard(key)
            self.shaping.forget(key)
            self.seen.clear()

    def _specialised(self, key: Signature, lengths: DynamicDims) -> Kernel:
        return specialize(
            self.region, key, lengths, self.known, self.kernels, parts=not self.weighs,
            may_assume=not self.is_deterministic and key not in self.careful,
        )  # fmt: skip

    def _make(
        self, key: Signature, arrays: Sequence[np.ndarray], lengths: DynamicDims
    ) -> Signature:
        """Note the kernel of a signature; of the values too where its extents hang on them."""
        try:
            kept = self._kept(key, lengths)
            if kept is not None:
                self.made[key] = kept
                return key
            kernel = self._specialised(key, lengths)
            if self.shaping.found(key, kernel):
                self.seen.clear()
                open_key, key = key, self.shaping.valued(key, arrays)
                if key != open_key:
                    kernel = self._specialised(key, lengths)
            self.made[key] = made = compile_region(self, kernel, lengths)
            self._keep(key, made, lengths)
        except Declined as why:
            self.made[key] = str(why)
        return key

    def _kept(self, key: Signature, lengths: DynamicDims) -> CompiledKernel | None:
        """The kernel that an earlier process made for the signature."""
        if self.records is None or key in self.careful:
            return None
        record = self.records.read(key, lengths, self.known)
        made = None if record is None else loaded(record, self.store)
        return (
            None
            if made is None or record is None
            else _ready(self, record.kernel, record.exact, record.artifact, made)
        )

    def _keep(self, key: Signature, made: CompiledKernel, lengths: DynamicDims) -> None:
        if self.records is None or key in self.careful or key in self.shaping.inputs:
            return
        machine_code = machine_code_of(made.kernel, made.exact, self.store)
        if machine_code is not None:
            record = KernelRecord(made.kernel, made.code, made.exact, machine_code)
            self.records.write(key, record, lengths, self.known)


def _extents(arrays: Sequence[np.ndarray], lengths: DynamicDims) -> Mapping[SymbolicDim, int]:
    found: dict[SymbolicDim, int] = {}
    native = {key: e for key, e in lengths.open.items() if arrays[key[0]].dtype != HANDLE}
    for (position, axis), extent in native.items():
        length = arrays[position].shape[axis]
        if found.setdefault(extent, length) != length:
            raise Declined("sliced values of several lengths")
    return found


@decline_on_internal_error
def compile_region(native: NativeRegion, kernel: Kernel, lengths: DynamicDims) -> CompiledKernel:
    """The kernel of a region as machine code."""
    kernel = compile_settled(native, kernel)
    found = exact_signature(kernel, lengths)
    code, machine = compiled(kernel, found, native.store)
    return _ready(native, kernel, found, code, machine)


def _ready(
    native: NativeRegion,
    kernel: Kernel,
    exact: Collection[SymbolicDim],
    code: KernelArtifact,
    machine: LoadedKernel,
) -> CompiledKernel:
    threads = native.threads if kernel.parallel_threshold_ns else 1
    if machine.was_kept:
        _log.debug("%s: code found in %.1f ms", native.region.path, machine.seconds * 1e3)
    else:
        told = native.region.path, machine.seconds * 1e3, machine.size
        _log.info("%s: compiled in %.1f ms, %d bytes", *told)
    return CompiledKernel.of(
        kernel, code, machine, trip_count_inputs(kernel), exact, threads, native.kernels
    )


def exact_signature(kernel: Kernel, lengths: DynamicDims) -> Collection[SymbolicDim]:
    """The extents known before the kernel runs."""
    return {*lengths.open.values(), *trip_count_inputs(kernel)}


def compile_settled(native: NativeRegion, kernel: Kernel) -> Kernel:
    """The kernel with what is asked of its code; Declined where that is not worth it."""
    region = native.region
    why = (
        why_unprofitable(region.steps, kernel, native.threads, native.kernels)
        if region.next_best_engine
        else ""
    )
    if why:
        raise Declined(f"{region.next_best_engine} is expected to be faster: {why}")
    if native.weighs and any(map(makes_objects, all_nodes(kernel.main))):
        raise Declined("values held outside, whose bytes nobody counts")
    return replace(
        kernel,
        limits_iterations=native.counts,
        limits_memory=native.weighs,
        parallel_threshold_ns=minimum_work_ns(native.threads),
    )
