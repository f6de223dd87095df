"""A free kernel: one that needs no Python, and its code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from treadle.ir import DType
from treadle.jit.kernel.artifact import KernelArtifact
from treadle.jit.kernel.ir import Kernel, SymbolicDim

Axis = tuple[int, int]
"""An axis: the number of an input, and one of its axes."""


@dataclass(frozen=True, eq=False, slots=True)
class FreeKernel:
    """A kernel that needs no Python, for one signature.

    `kernel` is in the one form that strategies look for; `as_written` carries values as the program
    does, which runs with bounds do.

    `signature` has the dtype and the shape of every input; a dynamic extent is negative.
    `open_axes` are the dynamic axes, of which `looped` may have any extent and others at least two.
    `trips` are extents given by an input, as a trip count, `true_inputs` those that must be true.
    """

    kernel: Kernel
    as_written: Kernel
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
    """A kernel in LLVM, without and with checks of a run's limits."""

    free: FreeKernel
    plain: KernelArtifact
    bounded: KernelArtifact
