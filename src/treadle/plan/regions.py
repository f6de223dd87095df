"""Plan, BlockPlan and Region: which engine runs what; a Plan mirrors the blocks of a Model.

    Plan      = (model, main: BlockPlan, functions are inlined before planning)
    BlockPlan = (block, path, regions in order)
    Region    = (engine, reason, steps, inputs, constants, outputs, runnable?,
                 bodies: {attribute: BlockPlan})

The `runnable` of a region runs its steps as a whole; where it raises `FallbackRequired`, the
region's fallback runs the same steps. A region of interp has no runnable and is evaluated step by
step; a control-flow step of interp is alone in its region and has a BlockPlan for each body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from treadle.ir import Block, Constant, Model, Step, Value
from treadle.plan.run import Runnable


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """Steps of one block that one engine runs, and the reason for this engine.

    `inputs` are the values a run feeds, in the order the steps first read them. `constants` are
    known before the run and never fed: constants of the block, and constants of outer blocks that
    reach it through an Invariant parameter (the Constant then carries the parameter). `outputs` are
    the values that later regions or the block's results read. `runnable` is the region prepared by
    its engine, `otherwise()` the fallback plan for data on which it raises FallbackRequired,
    `meanwhile()` the plan of the next engines until its code is there; all three are None for
    interp. `absorbed` are the small steps that region growing added. `next_best_engine` would run
    the loops and branches whole if this engine did not. `refusals` are, for steps of interp, the
    reasons of the engines that declined them.
    """

    path: str
    engine: str
    reason: str
    steps: tuple[Step, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    bodies: Mapping[str, BlockPlan] = field(default_factory=dict)
    constants: tuple[Constant, ...] = ()
    runnable: Runnable | None = None
    otherwise: Callable[[], BlockPlan] | None = None
    meanwhile: Callable[[], BlockPlan] | None = None
    absorbed: tuple[Step, ...] = ()
    next_best_engine: str = ""
    refusals: Mapping[Step, str] = field(default_factory=dict)

    def block(self) -> Block:
        """The region as a closed block over the same values, from its inputs to its outputs."""
        return Block(self.inputs, self.constants, self.steps, self.outputs, name=self.path)


@dataclass(frozen=True, eq=False, slots=True)
class BlockPlan:
    """The regions of one block, in a valid order."""

    block: Block
    path: str
    regions: tuple[Region, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """A model and the regions of its main block."""

    model: Model
    main: BlockPlan
