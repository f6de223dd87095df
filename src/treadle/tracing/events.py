"""The events of loading and running a model, sent to listeners.

A listener is a callable that takes one event. Engines do not print or log; an engine that cannot
report values (native code or onnxruntime) is not used for values that a listener wants.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Iterations = tuple[int, ...]
"""The iteration number of every loop around a step, outermost first."""


@dataclass(frozen=True, slots=True)
class ValueMade:
    """A value was computed: `name` in the block at `path`, by the step at `step`.

    Parameters of bodies and constants have step "". `value` is an array, a list for a sequence,
    None for an empty optional; treat it as read-only.
    """

    path: str
    iterations: Iterations
    name: str
    value: object
    step: str = ""


@dataclass(frozen=True, slots=True)
class LoopStarted:
    """The loop at `path` is about to run; `trip` is None when nothing bounds it."""

    path: str
    iterations: Iterations
    trip: int | None


@dataclass(frozen=True, slots=True)
class IterationStarted:
    """Iteration `iterations[-1]` of the loop at `path` begins."""

    path: str
    iterations: Iterations


@dataclass(frozen=True, slots=True)
class LoopEnded:
    """The loop at `path` ran `trips` iterations and stopped by its trip count or its condition."""

    path: str
    iterations: Iterations
    trips: int
    by: Literal["trip", "condition"]


@dataclass(frozen=True, slots=True)
class BranchTaken:
    """The Branch at `path` ran its block `taken`."""

    path: str
    iterations: Iterations
    taken: Literal["then_branch", "else_branch"]


@dataclass(frozen=True, slots=True)
class StageDone:
    """A stage of loading has ended: read, check, prepare, infer, plan, bind."""

    stage: str
    seconds: float


Event = ValueMade | LoopStarted | IterationStarted | LoopEnded | BranchTaken | StageDone
Listener = Callable[[Event], None]
