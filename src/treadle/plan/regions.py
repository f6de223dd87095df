"""What runs where: a Plan mirrors the blocks of a Model.

    Plan      = (model, main: BlockPlan, functions are inlined before planning)
    BlockPlan = (block, path, regions in order)
    Region    = (engine, reason, steps, inputs, constants, outputs, runnable?,
                 bodies: {attribute: BlockPlan})

A region of an engine other than interp is a stretch of steps run as a whole by its `runnable`; when
that raises `Refused`, interp runs the same steps instead. A region of interp is evaluated step by
step; a control-flow step of it is alone in its region and has a BlockPlan for each body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from treadle.ir import Block, Constant, Model, Step, Value
from treadle.plan.run import Runnable


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """Steps of one block that one engine runs, and why that engine.

    `inputs` are the values a run feeds, in the order the steps first read them; `constants` those
    that are known beforehand and are never fed: constants of the block, and constants of outer
    blocks that reach it through an Invariant parameter (the Constant then carries the parameter).
    `outputs` are what later regions, or the results of the block, read. `runnable` is the region
    made ready by its engine, `otherwise()` the plan that runs in its place where that raises
    Refused; both are None for interp. `beside` are the steps that joined those the engine took for
    themselves; `rival` is the engine that would run the loops and branches whole if this one did
    not. `refusals` say of steps of interp why no engine that was asked takes them.
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
    absorbed: tuple[Step, ...] = ()
    next_best_engine: str = ""
    refusals: Mapping[Step, str] = field(default_factory=dict)

    def block(self) -> Block:
        """The region as a closed block over the same values: inputs in, outputs out."""
        return Block(self.inputs, self.constants, self.steps, self.outputs, name=self.path)


@dataclass(frozen=True, eq=False, slots=True)
class BlockPlan:
    """The regions of one block, in an order in which they can run."""

    block: Block
    path: str
    regions: tuple[Region, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """A model and the regions of its main block."""

    model: Model
    main: BlockPlan
