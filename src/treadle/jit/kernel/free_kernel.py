"""A kernel that runs in any program, and its code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.ir import Kernel, SymbolicDim

Axis = tuple[int, int]
"""An input by its number, and one of its axes."""


@dataclass(frozen=True, eq=False, slots=True)
class FreeKernel:
    """A kernel that needs nothing of Python, for one signature.

    `signature` has the dtype and the shape of every input; an open extent is a number below zero.
    `open_axes` are the axes left open, of which `looped` may have any extent and others two or
    more. `trips` are the extents that an input is, as a trip count, `true_inputs` those that must
    hold.
    """

    kernel: Kernel
    signature: tuple[tuple[DType, tuple[int, ...]], ...]
    open_axes: Mapping[Axis, SymbolicDim]
    looped: frozenset[Axis]
    trips: Mapping[SymbolicDim, int]
    true_inputs: tuple[int, ...]

    @property
    def exact(self) -> frozenset[SymbolicDim]:
        """The extents known before it runs."""
        return frozenset({*self.open_axes.values(), *self.trips})


@dataclass(frozen=True, eq=False, slots=True)
class FreeCode:
    """A kernel in LLVM: as it is, and with the limits of a run looked at."""

    free: FreeKernel
    plain: KernelArtifact
    bounded: KernelArtifact
