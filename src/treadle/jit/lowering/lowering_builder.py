"""The builder used by the lowerings of blocks, loops, branches and host calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from treadle.ir import Block, Leaf
from treadle.jit.host.kernels import HostKernels
from treadle.jit.kernel.builder import KernelBuilder
from treadle.jit.kernel.ir import Node


@dataclass(eq=False, slots=True)
class LoweringBuilder(KernelBuilder):
    """A kernel builder with the kernels that host calls run.

    `evaluated` are the results of leaves whose operands are constants, by leaf and operands; None
    for a leaf that is computed when the kernel runs.
    """

    kernels: HostKernels = field(default_factory=HostKernels)
    evaluated: dict[tuple[Leaf | Node | None, ...], list[Node | None] | None] = field(
        default_factory=dict
    )


LowerBlock = Callable[[LoweringBuilder, Block, Sequence[Node | None]], list[Node | None]]
"""Lowers a block of the program: takes the nodes of its parameters, returns those of its results.
"""
