"""The kernels of one region by signature: finds the kernel for given arrays, or compiles it.

A failed guard changes the policy: the next kernel of the signature makes no assumptions, or has
only the dynamic axes the region needs, or there is none. For deterministic runs the policy is
fixed: no axis becomes dynamic, and no kernel is made for values or assumes anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.ir import Leaf
from treadle.jit.host.boxed_values import HANDLE
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import SymbolicDim
from treadle.jit.runtime.dynamic_dims import DynamicDimTracker
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.runtime.kernel_records import KernelRecords
from treadle.jit.runtime.region_compiler import (
    RegionCompiler,
    compile_kernel,
    lowered,
    read_record,
    write_record,
)
from treadle.jit.runtime.repeated_call import RepeatedCall
from treadle.jit.runtime.specialize import DynamicDims, Signature, conditions, signature
from treadle.jit.runtime.value_specialization import ValueSpecialization
from treadle.jit.toolchain.uninterruptible import run_aside
from treadle.locks import ForkSafeLock
from treadle.plan import Pending, RunContext

if TYPE_CHECKING:  # few sessions compile in the background
    from treadle.jit.runtime.deferral import Deferral

_MAX_SHAPES = 256
"""The number of input shape sets whose kernel a region remembers."""
_MAX_KERNELS = 32
"""Kernels that a region keeps."""
_POLL_SECONDS = 0.005
"""The interval at which a run waiting for another's compilation polls."""
_MAX_MISFITS, _MAX_UNFIT = 2, 64
"""The failures in a row of a guard of extents, or of values, after which a signature has no kernel.

The next run may well have other values.
"""
_MISFIT = "a guard of the code failed {} times in a row, so another engine runs the region"
_UNFINISHED = "its native code is still being made, and a later run will find it"

Shapes = tuple[tuple[np.dtype[Any], tuple[int, ...]] | bytes, ...]
Found = tuple[CompiledKernel, Mapping[SymbolicDim, int], RepeatedCall | None] | str
"""A kernel, the extents of its dynamic dims, and its call without a run, if there is one; or the
reason why there is no kernel."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class KernelCache:
    """The kernels of a region, safe for several threads.

    `compiled` has a kernel, or the reason why there is none, for each signature; the least recently
    used one is first. `by_shapes` finds them by the shapes of the arrays alone. `misfits` counts
    for a signature how often in a row its kernel refused the data; `unassuming` are the signatures
    whose kernels assume nothing of it. `records` are the kernels that other processes have made of
    the same region. `deferral`: code is compiled in the background, and says which calls wait.
    """

    compiler: RegionCompiler
    compiled: dict[Signature, CompiledKernel | str] = field(default_factory=dict)
    by_shapes: dict[Shapes, Found] = field(default_factory=dict)
    dynamic_dims: DynamicDimTracker = field(init=False)
    values: ValueSpecialization = field(default_factory=ValueSpecialization)
    misfits: dict[Signature, int] = field(default_factory=dict)
    unassuming: set[Signature] = field(default_factory=set)
    records: KernelRecords | None = None
    deferral: Deferral | None = None
    lock: ForkSafeLock = field(default_factory=ForkSafeLock)

    def __post_init__(self) -> None:
        """Start without seen shapes."""
        self.dynamic_dims = DynamicDimTracker(self.compiler.base)
        if self.compiler.is_deterministic:
            self.dynamic_dims.close()
            self.values = ValueSpecialization(most_values=0)

    def find(
        self, arrays: Sequence[np.ndarray], context: RunContext
    ) -> tuple[CompiledKernel, Mapping[SymbolicDim, int], RepeatedCall | None] | Pending:
        """The kernel for these arrays, with extents and its quick call; raises Declined.

        A Pending if other engines answer until it is compiled.
        """
        shapes: Shapes = tuple([(array.dtype, array.shape) for array in arrays])
        watched = self.values.all
        if watched:
            shapes = (*shapes, *(arrays[k].tobytes() for k in watched))
        found = self.by_shapes.get(shapes)
        if found is None:
            if self.deferral is not None:
                pending = self.deferral.code_for(self, shapes, arrays, context)
                if pending is not None:
                    return pending
            found = self._awaited(shapes, arrays, context)
        if isinstance(found, str):
            raise Declined(found)
        return found

    def repeated(self, shapes: Shapes) -> RepeatedCall | None:
        """The call of a kernel for shapes of an earlier run, if nothing else decides on it."""
        found = self.by_shapes.get(shapes)
        if found is None or self.misfits or self.values.all or isinstance(found, str):
            return None
        return found[2]

    def remember(self, shapes: Shapes, arrays: Sequence[np.ndarray]) -> Found:
        """Find or compile the kernel for these arrays, for later runs with the same shapes."""
        watched, compiled = self.values.all, self.compiled
        found = self._sought(arrays)
        if len(self.by_shapes) >= _MAX_SHAPES:
            self.by_shapes.clear()
        if watched == self.values.all and compiled is self.compiled:
            self.by_shapes[shapes] = found
        return found

    def is_ready(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether these arrays need no compiling: their kernel is known, or on disk."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            dims = self.dynamic_dims.lengths(arrays)
            key = self.values.valued(signature(arrays, dims), arrays)
            if key not in self.compiled:
                kept = self._read_record(key, dims)
                if kept is None:
                    return False
                self._evict()
                self.compiled[key] = kept
            return dims is self.compiler.base or not isinstance(self.compiled[key], str)
        finally:
            self.lock.release()

    def _awaited(self, shapes: Shapes, arrays: Sequence[np.ndarray], context: RunContext) -> Found:
        """The kernel, compiled in a thread that continues if the run is stopped meanwhile."""
        seek = partial(self.remember, shapes, arrays)
        if not context.may_stop:
            return seek()
        poll = partial(context.poll, self.compiler.region.path, (), _UNFINISHED)
        while self.lock.locked():  # wait here: a thread for each waiting run would outlive it
            poll()
            time.sleep(_POLL_SECONDS)
        return run_aside(seek, poll)

    def _sought(self, arrays: Sequence[np.ndarray]) -> Found:
        with self.lock:
            dims = self.dynamic_dims.lengths(arrays)
            found = self._cached(arrays, dims)
            if isinstance(found, str) and dims is not self.compiler.base:
                found = self._cached(arrays, self.compiler.base)
                if not isinstance(found, str):
                    self.dynamic_dims.close()
        return found

    def _cached(self, arrays: Sequence[np.ndarray], dims: DynamicDims) -> Found:
        key = self.values.valued(signature(arrays, dims), arrays)
        if key not in self.compiled:
            self._evict()
            key = self._make(key, arrays, dims)
        made = self.compiled[key] = self.compiled.pop(key)
        try:
            if isinstance(made, str):
                return made
            extents = _extents(arrays, dims)
            true = conditions(self.compiler.region)
            return made, extents, RepeatedCall.of(made, extents, true)
        except Declined as why:
            return str(why)

    def _make(self, key: Signature, arrays: Sequence[np.ndarray], dims: DynamicDims) -> Signature:
        """Compile the kernel of a signature, also of its values if its extents depend on them."""
        try:
            kept = self._read_record(key, dims)
            if kept is not None:
                self.compiled[key] = kept
                return key
            kernel = lowered(self.compiler, key, dims, may_assume=key not in self.unassuming)
            if self.values.found(key, kernel):
                self.by_shapes.clear()
                open_key, key = key, self.values.valued(key, arrays)
                if key != open_key:
                    may_assume = key not in self.unassuming
                    kernel = lowered(self.compiler, key, dims, may_assume=may_assume)
            self.compiled[key] = made = compile_kernel(self.compiler, kernel, dims)
            self._write_record(key, made, dims)
        except Declined as why:
            self.compiled[key] = str(why)
        return key

    def compile_declared(self, key: Signature, dims: DynamicDims) -> None:
        """Compile the kernel of a signature before any data; raises Declined.

        Data whose shapes the kernel is for will find it. A kernel that its data's values decide is
        left to the first run, and so is one with more dynamic axes in a deterministic session.
        """
        is_open = dims.open != self.compiler.base.open
        if is_open and self.compiler.is_deterministic:
            raise Declined("each set of shapes is compiled by itself in a deterministic session")
        dims = dims if is_open else self.compiler.base
        with self.lock:
            made = self._read_record(key, dims)
            if made is None:
                kernel = lowered(self.compiler, key, dims, may_assume=True)
                if self.values.found(key, kernel):
                    raise Declined("shapes depend on the values of inputs")
                made = compile_kernel(self.compiler, kernel, dims)
                self._write_record(key, made, dims)
            self.compiled[key] = made
            if is_open:
                self.dynamic_dims.declared = dims

    def _read_record(self, key: Signature, dims: DynamicDims) -> CompiledKernel | None:
        if self.records is None or key in self.unassuming:
            return None
        return read_record(self.compiler, self.records, key, dims)

    def _write_record(self, key: Signature, made: CompiledKernel, dims: DynamicDims) -> None:
        if self.records is None or key in self.unassuming or key in self.values.inputs:
            return
        write_record(self.compiler, self.records, key, made, dims)

    def _evict(self) -> None:
        """Make room for another kernel: remove the least recently used one.

        `by_shapes` is cleared, so that each signature used from now on passes `_cached` once, which
        marks it as recent: runs found in `by_shapes` need no bookkeeping.
        """
        while len(self.compiled) >= _MAX_KERNELS:
            key = next(iter(self.compiled))
            del self.compiled[key]
            self.misfits.pop(key, None)
            self.unassuming.discard(key)
            self.values.forget(key)
            self.by_shapes.clear()

    def missed(
        self, arrays: Sequence[np.ndarray], kernel: CompiledKernel
    ) -> Callable[[], None] | None:
        """Adapt to a failed guard of extents.

        Returns a function to call once another engine has succeeded, so that the data is valid: it
        records the failure of a kernel that makes no assumptions.
        """
        if self.compiler.is_deterministic or self._is_compiling():
            return None
        with self.lock:
            dims = self.dynamic_dims.lengths(arrays)
            if kernel.kernel.assumes:
                self._assume_nothing(kernel)
            elif dims is self.compiler.base:
                return partial(self._misfit, kernel, _MAX_MISFITS)
            else:
                return partial(self._misfit_dims, arrays, dims)
        return None

    def unfit(self, kernel: CompiledKernel) -> Callable[[], None] | None:
        """Adapt to a failed guard of values; returns the function to call, as `missed` does."""
        if self.compiler.is_deterministic or self._is_compiling():
            return None
        return partial(self._misfit, kernel, _MAX_UNFIT)

    def _is_compiling(self) -> bool:
        """Whether the lock is held for long; what a run has learnt is then left to a later one."""
        return self.deferral is not None and self.deferral.is_busy

    def _keys(self, kernel: CompiledKernel) -> list[Signature]:
        return [key for key, made in self.compiled.items() if made is kernel]

    def _assume_nothing(self, kernel: CompiledKernel) -> None:
        """Replace this kernel by one that makes no assumptions."""
        for key in self._keys(kernel):
            self.unassuming.add(key)
            del self.compiled[key]
        self.by_shapes.clear()

    def _misfit(self, kernel: CompiledKernel, most: int) -> None:
        """Remove the kernel of a signature that failed so often in a row."""
        with self.lock:
            for key in self._keys(kernel):
                self.misfits[key] = self.misfits.get(key, 0) + 1
                if self.misfits[key] >= most:
                    self.compiled[key] = _MISFIT.format(most)
                    self.by_shapes.clear()

    def _misfit_dims(self, arrays: Sequence[np.ndarray], dims: DynamicDims) -> None:
        """Record that more dynamic axes did not fit arrays that a kernel without them can run."""
        with self.lock:
            if self._has_static_kernel(arrays):
                self.dynamic_dims.miss(dims)
                if self.dynamic_dims.is_closed:
                    self.by_shapes.clear()

    def fitted(self, kernel: CompiledKernel) -> None:
        """Reset the count of the kernel's failures."""
        if self._is_compiling():
            return
        with self.lock:
            for key in self._keys(kernel):
                self.misfits.pop(key, None)

    def _has_static_kernel(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether a kernel without additional dynamic axes could run this."""
        base = self.compiler.base
        key = signature(arrays, base)
        try:
            lowered(self.compiler, key, base, may_assume=key not in self.unassuming)
        except Declined:
            return False
        return True

    def forget_shapes_of(self, leaf: Leaf) -> None:
        """Drop all kernels: the next ones take this host call's extents from each call."""
        if self.compiler.is_deterministic or not self.compiler.host_kernels.vary(leaf):
            return
        if self._is_compiling():
            return
        with self.lock:
            self.compiled = {}
            self.by_shapes.clear()

    def is_hopeless(self) -> bool:
        """Whether there was no kernel for any data so far."""
        if self.compiler.is_deterministic or self._is_compiling():
            return False
        with self.lock:
            made = self.compiled.values()  # none if another thread has started again
            return bool(made) and all(isinstance(each, str) for each in made)


def _extents(arrays: Sequence[np.ndarray], dims: DynamicDims) -> Mapping[SymbolicDim, int]:
    found: dict[SymbolicDim, int] = {}
    native = {key: dim for key, dim in dims.open.items() if arrays[key[0]].dtype != HANDLE}
    for (position, axis), dim in native.items():
        length = arrays[position].shape[axis]
        if found.setdefault(dim, length) != length:
            raise Declined(
                f"scan inputs of {found[dim]} and {length} items: the trip counts must be equal"
            )
    return found
