"""A region run by native code: finds or compiles a kernel for the arrays, and runs it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treadle.errors import RunError
from treadle.ir import dtype_of
from treadle.jit.host.array_memory import ROW_MAJOR, row_major
from treadle.jit.host.boxed_values import enter_boxes
from treadle.jit.host.calls import ShapeChanged
from treadle.jit.host.sequence_marshal import stack_elements, unstack_elements
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import Kernel, SymbolicDim
from treadle.jit.kernel.node_builder import NATIVE
from treadle.jit.runtime.invoke import GuardFailed, UnfitValue, invoke
from treadle.jit.runtime.kernel_cache import KernelCache
from treadle.jit.runtime.region_compiler import RegionCompiler, configured, exact_dims, lowered
from treadle.jit.runtime.specialize import DynamicDims, Signature
from treadle.plan import (
    CompilationReport,
    FallbackRequired,
    NamedCall,
    Pending,
    Region,
    RunContext,
    RunnableTraits,
)


@dataclass(eq=False, slots=True, weakref_slot=True)
class NativeRegion:
    """The Runnable of a region.

    `list_outputs` are the numbers of the outputs that are sequences. `conditions` are those of the
    inputs that are a loop's condition: kernels are compiled for true ones. `may_repeat`: a call
    with arrays like those of an earlier run skips the general path. A call by name has tried this
    before, so it is off then.
    """

    region: Region
    compiler: RegionCompiler
    cache: KernelCache
    list_outputs: tuple[int, ...] = ()
    conditions: tuple[int, ...] = ()
    names: tuple[str, ...] = field(init=False)
    may_repeat: bool = field(init=False)

    def __post_init__(self) -> None:
        """Collect the names of the outputs."""
        self.names = tuple(value.name for value in self.region.outputs)
        self.may_repeat = not self.list_outputs
        if self.compiler.is_background:
            from treadle.jit.runtime.deferral import deferring

            self.cache.deferral = deferring(self.cache, self.region, self)

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object] | Pending:
        """Run the region.

        Returns the code if other engines answer until it is compiled. Raises FallbackRequired if
        there is no kernel for this data, or it failed.
        """
        if self.may_repeat and context.is_plain:
            again = self._again(inputs)
            if again is not None:
                return again
        boxes: list[object] = []
        cache = self.cache
        try:
            arrays = [self._array(number, value, boxes) for number, value in enumerate(inputs)]
            found = cache.find(arrays, context)
            if isinstance(found, Pending):
                return found
            kernel, extents, _ = found
            self._check_conditions(arrays)
            path = self.region.path
            results = invoke(kernel, arrays, extents, context, path, boxes, self.names)
        except UnfitValue as refusal:
            refusal.answered = cache.unfit(kernel)
            raise
        except GuardFailed as failure:
            failure.answered = cache.missed(arrays, kernel)
            if not kernel.kernel.assumes or kernel in cache.compiled.values():
                raise
            return self(inputs, context)  # by a kernel that assumes nothing
        except Declined as why:
            raise self._refused(why) from why
        if cache.misfits:
            cache.fitted(kernel)
        return self._outputs(results, kernel.kernel.boxed_results, context)

    def by_name(self, names: Sequence[str]) -> NamedCall | None:
        """A call for feeds like those of an earlier run; it returns None for others."""
        if self.list_outputs:
            return None
        count, again, self.may_repeat = len(names), self._again, False

        def call(feed: dict[str, object]) -> list[Any] | None:
            if len(feed) != count:
                return None
            try:
                arrays: list[Any] = [feed[name] for name in names]
            except KeyError:
                return None
            return again(arrays)

        return call

    def _again(self, arrays: Sequence[Any]) -> list[Any] | None:
        """The results for arrays like those of an earlier run; None for others, or on failure."""
        tensor = np.ndarray
        for array in arrays:
            if type(array) is not tensor or array.flags.num & ROW_MAJOR != ROW_MAJOR:
                return None
        repeated = self.cache.repeated(tuple([(array.dtype, array.shape) for array in arrays]))
        return None if repeated is None else repeated(arrays)

    def _refused(self, why: Declined) -> FallbackRequired:
        is_slower = str(why).startswith(f"{self.region.next_best_engine} is expected to be faster")
        reason = "native code was tried" if is_slower else "the native engine has no code for it"
        error = RunError(f"{reason}: {why}", self.region.path)
        refused = FallbackRequired(error, is_lasting=self.cache.is_hopeless())
        if isinstance(why, ShapeChanged):
            self.cache.forget_shapes_of(why.leaf)
        return refused

    def _array(self, number: int, value: object, boxes: list[object]) -> np.ndarray:
        """An input as an array; a value without a native form is boxed and passed as its handle."""
        if isinstance(value, np.ndarray) and dtype_of(value.dtype) in NATIVE:
            return row_major(value)
        if isinstance(value, list):
            array = stack_elements(value, self.region.inputs[number].type)
            return enter_boxes(value, boxes) if array is None else array
        return enter_boxes(value, boxes)

    def _check_conditions(self, arrays: Sequence[np.ndarray]) -> None:
        for position in self.conditions:
            array = arrays[position]
            if not (array.item() if array.size == 1 else array.all()):
                raise Declined("the condition of a loop is false before its first iteration")

    def _outputs(
        self, results: list[Any], boxed: Collection[int], context: RunContext
    ) -> Sequence[object]:
        for number in self.list_outputs:
            if number not in boxed:
                results[number] = unstack_elements(results[number])
        if boxed:
            context.outputs_may_alias = True
        return results

    @property
    def traits(self) -> RunnableTraits:
        """The memory of a result belongs to the caller only, unless the result was boxed."""
        return RunnableTraits(
            returns_fresh_arrays=True,
            by_name=self.by_name,
            by_name_checks_feeds=True,
            reports=self.reports,
            predicted_report=self.predicted_report,
            compile_declared=self.compile_declared,
        )

    def compile_declared(self) -> str:
        """Compile the kernel for the declared types; returns "", or why there is none."""
        from treadle.jit.runtime.ahead_of_time import expected

        try:
            key, dims = expected(self.region, self.compiler.base)
            self.cache.compile_declared(key, dims)
        except Declined as why:
            return str(why)
        return ""

    def reports(self) -> list[CompilationReport]:
        """A report for each signature so far, and those being compiled in the background."""
        from treadle.jit.runtime.report import pending_report, report_of

        compiled = dict(self.cache.compiled)
        made = [report_of(self.region.inputs, key, found) for key, found in compiled.items()]
        pending = () if self.cache.deferral is None else self.cache.deferral.pending()
        return [*made, *(pending_report(self.region.inputs, key) for key in pending)]

    def predicted_report(self) -> CompilationReport:
        """A report from the types alone, before the first run; nothing is compiled."""
        from treadle.jit.runtime.ahead_of_time import predicted_report

        return predicted_report(self.region, self.compiler.base, self._predicted)

    def _predicted(
        self, key: Signature, dims: DynamicDims
    ) -> tuple[Kernel, Collection[SymbolicDim]]:
        kernel = lowered(self.compiler, key, dims, may_assume=True)
        kernel = configured(self.compiler, kernel)
        return kernel, exact_dims(kernel, dims)
