"""Compiles a region for a signature: the state common to all kernels of a region.

signature -> `lowered` -> Kernel -> `configured` -> Kernel -> `compile_kernel` -> CompiledKernel
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from treadle.jit.host.kernels import HostKernels
from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.declined import Declined, Unprofitable
from treadle.jit.kernel.ir import Kernel, SymbolicDim
from treadle.jit.kernel.traversal import all_nodes, makes_objects
from treadle.jit.policy.profitability import why_unprofitable
from treadle.jit.runtime.compilation import compiled, loaded, machine_code_of
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.runtime.kernel_records import KernelRecord, KernelRecords
from treadle.jit.runtime.specialize import (
    DynamicDims,
    Known,
    Signature,
    specialize,
    trip_count_inputs,
)
from treadle.jit.threads.thread_pool import minimum_work_ns
from treadle.jit.toolchain.disk_cache import DiskCache
from treadle.jit.toolchain.host_cpu import has_byte_products
from treadle.jit.toolchain.llvm import LoadedKernel
from treadle.limits import without_collection
from treadle.plan import Region

_log = logging.getLogger("treadle")


@dataclass(frozen=True, eq=False, slots=True)
class RegionCompiler:
    """A region and the settings for compiling its kernels.

    `base` are the axes that are dynamic in every kernel, `known` the inputs whose value never
    changes. `store` keeps machine code for other processes. `threads` may share the work of a run.
    The kernels count iterations and bytes where a run limits them. `host_kernels` run the operators
    without native code. `is_deterministic`, `is_profiled`, `is_recorded` and `is_background`: see
    `engine.Jit`.
    """

    region: Region
    base: DynamicDims
    known: Known = field(default_factory=dict)
    store: DiskCache | None = None
    threads: int = 1
    limits_iterations: bool = False
    limits_memory: bool = False
    host_kernels: HostKernels = field(default_factory=HostKernels)
    is_deterministic: bool = False
    is_profiled: bool = False
    is_recorded: bool = False
    is_background: bool = False


@without_collection()
def lowered(
    compiler: RegionCompiler, key: Signature, dims: DynamicDims, *, may_assume: bool
) -> Kernel:
    """The kernel IR of the region for a signature; raises Declined if it has no native code."""
    from treadle.jit.schedule.canonical import canonical

    assumes = may_assume and not compiler.is_deterministic
    kernel = specialize(
        compiler.region, key, dims, compiler.known, compiler.host_kernels,
        parts=not compiler.limits_memory, may_assume=assumes,
        has_byte_products=has_byte_products(),
    )  # fmt: skip
    if compiler.limits_memory:
        return kernel
    kernel = replace(
        kernel, limits_iterations=compiler.limits_iterations, is_recorded=compiler.is_recorded
    )
    return canonical(kernel, may_assume=assumes)


def configured(compiler: RegionCompiler, kernel: Kernel) -> Kernel:
    """The kernel with the limits it observes; raises Declined if compiling does not pay."""
    region = compiler.region
    if region.next_best_engine:
        why = why_unprofitable(region.steps, kernel, compiler.threads, compiler.host_kernels)
        if why:
            raise Unprofitable(region.next_best_engine, why)
    if compiler.limits_memory and any(map(makes_objects, all_nodes(kernel.main))):
        raise Declined(
            "values without a native form, whose bytes native code does not count: max_bytes needs"
            " tensors of fixed-size elements"
        )
    return replace(
        kernel,
        limits_iterations=compiler.limits_iterations,
        limits_memory=compiler.limits_memory,
        is_profiled=compiler.is_profiled,
        is_recorded=compiler.is_recorded,
        parallel_threshold_ns=minimum_work_ns(compiler.threads),
    )


def exact_dims(kernel: Kernel, dims: DynamicDims) -> Collection[SymbolicDim]:
    """The symbolic dims whose extents are known before the kernel runs."""
    return {*dims.open.values(), *trip_count_inputs(kernel)}


@decline_on_internal_error
def compile_kernel(compiler: RegionCompiler, kernel: Kernel, dims: DynamicDims) -> CompiledKernel:
    """The kernel as machine code."""
    kernel = configured(compiler, kernel)
    trips = trip_count_inputs(kernel)
    exact = {*dims.open.values(), *trips}
    code, machine = compiled(kernel, exact, compiler.store)
    return _ready(compiler, kernel, trips, exact, code, machine)


def _ready(
    compiler: RegionCompiler,
    kernel: Kernel,
    trips: Mapping[SymbolicDim, int],
    exact: Collection[SymbolicDim],
    code: KernelArtifact,
    machine: LoadedKernel,
) -> CompiledKernel:
    path, milliseconds = compiler.region.path, machine.seconds * 1e3
    if machine.was_kept:
        _log.debug("%s: code found in %.1f ms", path, milliseconds)
    else:
        verb = "compiled in the background" if machine.in_background else "compiled"
        _log.info("%s: %s in %.1f ms, %d bytes", path, verb, milliseconds, machine.size)
    threads = compiler.threads if kernel.parallel_threshold_ns else 1
    return CompiledKernel.of(kernel, code, machine, trips, exact, threads, compiler.host_kernels)


def read_record(
    compiler: RegionCompiler, records: KernelRecords, key: Signature, dims: DynamicDims
) -> CompiledKernel | None:
    """Read the kernel that another process compiled for a signature of the same region."""
    record = records.read(key, dims, compiler.known)
    machine = None if record is None else loaded(record, compiler.store)
    if record is None or machine is None:
        return None
    trips = trip_count_inputs(record.kernel)
    return _ready(compiler, record.kernel, trips, record.exact, record.artifact, machine)


def write_record(
    compiler: RegionCompiler,
    records: KernelRecords,
    key: Signature,
    made: CompiledKernel,
    dims: DynamicDims,
) -> None:
    """Store a kernel for other processes."""
    machine_code = machine_code_of(made.kernel, made.exact, compiler.store)
    if machine_code is not None:
        record = KernelRecord(made.kernel, made.code, made.exact, machine_code)
        records.write(key, record, dims, compiler.known)
