"""Calls a kernel again with arrays of dtypes and shapes that it has had, with little Python.

A call of a kernel takes 10 to 20 us by way of a plan, of which small models notice each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from treadle.errors import RunError
from treadle.jit.host.array_memory import data_offset
from treadle.jit.kernel.declined import Declined
from treadle.jit.kernel.ir import SymbolicDim
from treadle.jit.runtime.invoke import CompiledKernel, run_code, why_full, workspace_of
from treadle.jit.runtime.result_arrays import OutputSlot, array_maker, result_arrays
from treadle.machine import LARGE

_ROOM = 2**62
_MAX_SIZES = 64


@dataclass(frozen=True, eq=False, slots=True)
class _Sized:
    """A call for known trip counts: its slots, and what makes its results.

    `template` holds the slots that are the same in each call, `new` is None if extents of results
    depend on data.
    """

    lengths: Mapping[SymbolicDim, int]
    template: bytes
    new: tuple[Callable[[], np.ndarray], ...] | None

    @classmethod
    def of(cls, compiled: CompiledKernel, lengths: Mapping[SymbolicDim, int]) -> _Sized:
        layout = compiled.layout
        slots = layout.type.from_buffer_copy(layout.template)
        if layout.poll is not None:
            slots[layout.poll] = id(_go_on)
        for number, extent in layout.extents:
            slots[number] = lengths.get(extent, 0)
        new = [_maker(slot, lengths) for slot in compiled.results]
        made = tuple(each for each in new if each is not None)
        return cls(lengths, bytes(slots), made if len(made) == len(new) else None)


@dataclass(frozen=True, eq=False, slots=True)
class RepeatedCall:
    """A kernel that needs nothing of a run but arrays, whose dtypes and shapes are known.

    `conditions` are the inputs that have to be true. `sizes` has what was made for the latest trip
    counts; a kernel without trip counts has one entry.
    """

    compiled: CompiledKernel
    lengths: Mapping[SymbolicDim, int]
    conditions: tuple[int, ...]
    trips: tuple[tuple[SymbolicDim, int], ...]
    sizes: dict[tuple[int, ...], _Sized] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        compiled: CompiledKernel,
        lengths: Mapping[SymbolicDim, int],
        conditions: tuple[int, ...],
    ) -> RepeatedCall | None:
        """The call for these extents; None for a kernel that calls Python or has limits."""
        layout = compiled.layout
        is_plain = not (layout.calls or layout.bounds or compiled.clocks)
        if data_offset() is None or not is_plain or compiled.kernel.boxed_results:
            return None
        return cls(compiled, lengths, conditions, tuple(compiled.trips.items()))

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[Any] | None:
        """The results; None if the kernel fails: an ordinary run says why."""
        for position in self.conditions:
            array = arrays[position]
            if not (array.item() if array.size == 1 else array.all()):
                return None
        compiled, layout, offset = self.compiled, self.compiled.layout, data_offset()
        assert offset is not None
        counts = tuple([arrays[k].item() for _, k in self.trips])
        sized = self.sizes.get(counts) or self._sized(counts)
        slots = layout.type.from_buffer_copy(sized.template)
        try:
            results = [new() for new in sized.new] if sized.new else self._open_results(sized)
            if layout.workspace is not None:
                _memory, slots[layout.workspace] = workspace_of(compiled)
            for number, which in layout.given:
                slots[number] = id(arrays[which]) + offset
            for number, which in layout.results:
                slots[number] = id(results[which]) + offset
            if not run_code(compiled, results, slots):
                return results
        except (Declined, RunError, MemoryError):
            return None
        why_full()  # raises an interrupt that came while memory was asked for
        return None

    def _sized(self, counts: tuple[int, ...]) -> _Sized:
        trips = zip(self.trips, counts, strict=True)
        lengths = {**self.lengths, **{extent: max(int(n), 0) for (extent, _), n in trips}}
        made = _Sized.of(self.compiled, lengths)
        if len(self.sizes) >= _MAX_SIZES:
            self.sizes.clear()
        self.sizes[counts] = made
        return made

    def _open_results(self, sized: _Sized) -> list[Any]:
        """New arrays for the results, some of which the kernel allocates."""
        compiled = self.compiled
        return result_arrays(compiled.results, compiled.kernel.results, sized.lengths, _ROOM)


def _maker(slot: OutputSlot, lengths: Mapping[SymbolicDim, int]) -> Callable[[], np.ndarray] | None:
    """A function that makes the array of a result; None if its extents depend on data."""
    shape = tuple(lengths.get(e, -1) if isinstance(e, SymbolicDim) else e for e in slot.shape)
    if slot.is_weighed or -1 in shape or prod(shape) * slot.dtype.itemsize > LARGE:
        return None
    return array_maker(slot, shape)


def _go_on() -> None:
    """What a kernel calls now and then, so that Python handles signals."""
