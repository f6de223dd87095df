"""Which steps of a kernel become functions of their own: those of a kernel with much code.

LLVM's compile time grows with the square of a function's size. Nests on one thread that read and
write memory only are written once where several are equal; codegen/steps finds out which are equal,
and moves out the code of other steps where it has a single exit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from treadle.jit.kernel.ir import Block, Concat, Gather, MatMul, Reduce
from treadle.jit.schedule.fusion import Nest, Step
from treadle.jit.schedule.nest_size import MIN_LONG, emission_weight
from treadle.jit.schedule.parallelism import Parallelism

_STEP_WEIGHT = 8
"""The weight of a step that is no nest."""


@dataclass(frozen=True, eq=False, slots=True)
class StepFunctions:
    """Whether steps become functions, and the nests that may be written once for equal ones."""

    are_made: bool = False
    once: Collection[Nest] = ()


def step_functions(
    blocks: Mapping[Block, tuple[Step, ...]],
    parallelism: Mapping[Step, Parallelism],
    tiled: Collection[Block],
    *,
    is_profiled: bool,
) -> StepFunctions:
    """The functions of a kernel's steps; of `tiled` blocks, and where nests are timed, no nests."""
    if sum(_weight(step) for steps in blocks.values() for step in steps) < MIN_LONG:
        return StepFunctions()
    found = (step for block, steps in blocks.items() if block not in tiled for step in steps)
    nests = (step for step in found if isinstance(step, Nest) and not is_profiled)
    return StepFunctions(True, {nest for nest in nests if _is_alone(nest, parallelism[nest])})


def _weight(step: Step) -> int:
    if isinstance(step, Nest):
        return sum(map(emission_weight, step.nodes))
    return _STEP_WEIGHT if isinstance(step.op, MatMul | Reduce | Concat | Gather) else 1


def _is_alone(nest: Nest, found: Parallelism) -> bool:
    """Whether a nest runs on one thread without safepoints."""
    first = nest.nodes[0]
    if nest.pieces is not None or found.is_shared or not first.is_static:
        return False
    return first.size > 1 and found.chunk is None
