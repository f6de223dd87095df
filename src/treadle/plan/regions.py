"""What runs where: a Plan mirrors the blocks of a Model.

    Plan      = (model, main: BlockPlan, functions are inlined before planning)
    BlockPlan = (block, path, regions in order)
    Region    = (engine, reason, steps, inputs, outputs, bodies: {attribute: BlockPlan})

A region of an engine other than interp is a stretch of steps run as a whole by that engine's
Runnable. A region of interp is evaluated step by step; a control-flow step of it is alone in its
region and has a BlockPlan for each body.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treadle.ir import Block, Model, Step, Value


@dataclass(frozen=True, eq=False, slots=True)
class Region:
    """Steps of one block that one engine runs, and why that engine."""

    path: str
    engine: str
    reason: str
    steps: tuple[Step, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    bodies: Mapping[str, BlockPlan] = field(default_factory=dict)


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
