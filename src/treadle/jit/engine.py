"""The native engine, `jit`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from treadle import ops
from treadle.ir import Branch, Call, Leaf, Loop, Model, Step, bodies, operator_of
from treadle.jit.host.kernels import HostKernels
from treadle.jit.host.sequence_marshal import is_list
from treadle.jit.internal_errors import decline_on_internal_error
from treadle.jit.kernel.declined import Declined
from treadle.jit.lowering import lowering
from treadle.jit.policy.companions import may_join, may_link
from treadle.jit.policy.producers import may_produce
from treadle.jit.policy.profitability import why_host_calls_dominate
from treadle.jit.runtime.compilation import identity
from treadle.jit.runtime.kernel_cache import KernelCache
from treadle.jit.runtime.kernel_records import KernelRecords
from treadle.jit.runtime.native_region import NativeRegion
from treadle.jit.runtime.region_compiler import RegionCompiler
from treadle.jit.runtime.specialize import DynamicDims, conditions, known_inputs
from treadle.jit.toolchain.disk_cache import DiskCache, default_folder
from treadle.machine import processor_count
from treadle.plan import Engine, EngineTraits, RecordStore, Region, Runnable, Verdict

_APART = ("others", "is_background")
"""Fields that do not decide what is planned, or what the code is."""


def cache_folder(options: object) -> Path | None:
    """The folder in which a session with these options keeps machine code; None to keep none."""
    named = getattr(options, "cache_dir", None)
    if named is None:
        return default_folder()
    return Path(named) if named else None


@dataclass(frozen=True, slots=True)
class Jit:
    """Compiles loops to machine code; an implementation of `plan.Engine`.

    `store` keeps the code for other processes; `threads` is the number of threads of a run;
    `counts`: the code counts iterations, since the run limits them; `weighs`: it counts the bytes
    that loops hold. `others` are the engines it may call for single operators. `is_deterministic`:
    the bits of a result do not depend on earlier runs.
    `is_profiled`: the code measures the time of its parts. `is_recorded`: it tells how many rows of
    stacked results it has written, also where it stops early. `is_background`: code is compiled
    while calls run on another engine.
    """

    store: DiskCache | None = None
    threads: int = 1
    counts: bool = False
    weighs: bool = False
    others: tuple[Engine, ...] = ()
    is_deterministic: bool = False
    is_profiled: bool = False
    is_recorded: bool = False
    is_background: bool = False

    @classmethod
    def of(cls, options: object) -> Jit:
        """The engine with the settings of a session's options."""
        folder = cache_folder(options)
        threads = getattr(options, "intra_op_num_threads", 0) or processor_count()
        is_deterministic = bool(getattr(options, "use_deterministic_compute", False))
        store = None if folder is None else DiskCache(folder)
        is_recorded = bool(getattr(options, "is_recorded", False))
        return cls(
            store,
            threads,
            is_deterministic=is_deterministic,
            is_recorded=is_recorded,
            is_background=getattr(options, "compile", "") == "background",
        )

    @property
    def name(self) -> str:
        """The engine's public name."""
        return "jit"

    @property
    def traits(self) -> EngineTraits:
        """It enforces limits of a run, calls other engines' kernels, and keeps its code on disk."""
        return EngineTraits(
            self.with_limits, self.with_providers, persistence=self, profiled=self.profiled
        )

    def with_limits(self, counts: bool, weighs: bool) -> Jit:
        """The engine for runs that limit iterations, or the bytes loops hold."""
        return replace(self, counts=counts, weighs=weighs)

    def profiled(self, folder: str) -> Jit:
        """The engine whose code tells how long its parts take; it writes nothing."""
        return replace(self, is_profiled=True, store=None)

    def with_providers(self, others: Sequence[Engine]) -> Jit:
        """The engine that may call kernels of other engines."""
        providers = (
            other if other.traits.as_provider is None else other.traits.as_provider()
            for other in others
        )
        return replace(self, others=tuple(providers))

    def judge(self, step: Step, model: Model, *, inside: bool) -> Verdict:
        """Whether it is a loop all of whose steps can be compiled."""
        try:
            return self._judged(step, model, inside)
        except Declined as why:
            return Verdict(False, str(why))

    @decline_on_internal_error
    def _judged(self, step: Step, model: Model, inside: bool) -> Verdict:
        if not isinstance(step, Loop):
            why = f"jit compiles loops, not {operator_of(step)} alone"
            if inside:
                return Verdict(False, why)
            beside = [partial(test, step) for test in (may_link, may_produce)]
            return Verdict(False, why, partial(may_join, step, model), *beside)
        if inside and not (self.counts or self.weighs):
            return Verdict(
                False, "a listener or a limit needs every iteration, and native code shows none"
            )
        kernels = HostKernels(self.others, model)
        why = _refusal(step, kernels) or self._outdone(step, model, kernels, inside)
        return (
            Verdict(False, f"jit: {why}")
            if why
            else Verdict(True, "native code can run all its steps")
        )

    def _outdone(self, loop: Loop, model: Model, kernels: HostKernels, inside: bool) -> str:
        """Reason to leave the loop to another engine because host calls would dominate.

        "" if none.
        """
        if not why_host_calls_dominate(loop, kernels):
            return ""
        whole = (e.name for e in self.others if e.judge(loop, model, inside=inside).takes)
        lost = (
            "is expected to be faster: the host calls it would need cost more than compiling saves"
        )
        return next((f"{name} {lost}" for name in whole), "")

    def prepare(self, region: Region, model: Model) -> Runnable:
        """Prepare the region; code is compiled for each signature when its data first come."""
        compiler = RegionCompiler(
            region, DynamicDims.of(region), known_inputs(region, model), self.store, self.threads,
            self.counts, self.weighs, HostKernels(self.others, model), self.is_deterministic,
            self.is_profiled, self.is_recorded, self.is_background and not self.is_profiled,
        )  # fmt: skip
        lists = tuple(k for k, value in enumerate(region.outputs) if is_list(value))
        return NativeRegion(region, compiler, KernelCache(compiler), lists, conditions(region))

    @property
    def identity(self) -> str | None:
        """Settings, the code of this package, LLVM and the machine."""
        made = identity()
        kept = [other.traits.persistence for other in self.others]
        others = [None if each is None else each.identity for each in kept]
        if self.store is None or made is None or None in others:
            return None
        own = [getattr(self, name) for name in self.__slots__ if name not in _APART]
        return f"{own} {others} {made}"

    def snapshot(self, runnable: Runnable) -> None:
        """Nothing: a region is prepared again, and its kernels are found by name at run time."""

    def restore(self, region: Region, model: Model, snapshot: object) -> Runnable:
        """The region, without its kernels."""
        return self.prepare(region, model)

    def adopt(self, runnable: Runnable, name: str, beside: RecordStore) -> None:
        """Store the kernels of the region under this name, and look for them there."""
        if isinstance(runnable, NativeRegion) and self.store is not None:
            runnable.cache.records = KernelRecords(self.store, name, beside)


def _refusal(step: Step, kernels: HostKernels) -> str:
    """Why it is not compiled; "" if it is."""
    match step:
        case Call():
            return f"no native code for {operator_of(step)}"
        case Leaf():
            endless = ops.why_endless(step)
            if endless:
                return endless
            is_known = lowering(step.domain, step.op, step.version) or kernels.has(step)
            return "" if is_known else f"no native code for {step.op}-{step.version}"
        case Loop() | Branch():
            inner = (_refusal(s, kernels) for _, body in bodies(step) for s in body.steps)
            return next(filter(None, inner), "")
