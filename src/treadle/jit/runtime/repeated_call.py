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
_MAX_TEMPLATES = 64


@dataclass(frozen=True, eq=False, slots=True)
class _CallTemplate:
    """The parts of a call that are the same whenever its trip counts are.

    `slots` are those with numbers, `makers` make the arrays of the results; None if extents of
    results depend on data.
    """

    lengths: Mapping[SymbolicDim, int]
    slots: bytes
    makers: tuple[Callable[[], np.ndarray], ...] | None

    @classmethod
    def of(cls, compiled: CompiledKernel, lengths: Mapping[SymbolicDim, int]) -> _CallTemplate:
        layout = compiled.layout
        slots = layout.type.from_buffer_copy(layout.template)
        if layout.poll is not None:
            slots[layout.poll] = id(_go_on)
        for number, extent in layout.extents:
            slots[number] = lengths.get(extent, 0)
        found = [_maker(slot, lengths) for slot in compiled.results]
        makers = tuple(each for each in found if each is not None)
        return cls(lengths, bytes(slots), makers if len(makers) == len(found) else None)


@dataclass(frozen=True, eq=False, slots=True)
class RepeatedCall:
    """A kernel that needs nothing of a run but arrays, whose dtypes and shapes are known.

    `conditions` are the inputs that have to be true. `templates` are by trip counts; a kernel
    without trip counts has one.
    """

    compiled: CompiledKernel
    lengths: Mapping[SymbolicDim, int]
    conditions: tuple[int, ...]
    trips: tuple[tuple[SymbolicDim, int], ...]
    templates: dict[tuple[int, ...], _CallTemplate] = field(default_factory=dict)

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
        template = self.templates.get(counts) or self._template(counts)
        slots = layout.type.from_buffer_copy(template.slots)
        try:
            makers = template.makers
            results = [make() for make in makers] if makers else self._open_results(template)
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

    def _template(self, counts: tuple[int, ...]) -> _CallTemplate:
        trips = zip(self.trips, counts, strict=True)
        lengths = {**self.lengths, **{extent: max(int(n), 0) for (extent, _), n in trips}}
        made = _CallTemplate.of(self.compiled, lengths)
        if len(self.templates) >= _MAX_TEMPLATES:
            self.templates.clear()
        self.templates[counts] = made
        return made

    def _open_results(self, template: _CallTemplate) -> list[Any]:
        """New arrays for the results, some of which the kernel allocates."""
        compiled = self.compiled
        return result_arrays(compiled.results, compiled.kernel.results, template.lengths, _ROOM)


def _maker(slot: OutputSlot, lengths: Mapping[SymbolicDim, int]) -> Callable[[], np.ndarray] | None:
    """A function that makes the array of a result; None if its extents depend on data."""
    shape = tuple(lengths.get(e, -1) if isinstance(e, SymbolicDim) else e for e in slot.shape)
    if slot.is_weighed or -1 in shape or prod(shape) * slot.dtype.itemsize > LARGE:
        return None
    return array_maker(slot, shape)


def _go_on() -> None:
    """What a kernel calls now and then, so that Python handles signals."""
