"""Events of loading and running, and those who listen to them. Knows no engine."""

from treadle.tracing.events import (
    BranchTaken,
    Event,
    Iterations,
    IterationStarted,
    Listener,
    LoopEnded,
    LoopStarted,
    StageDone,
    ValueMade,
)

__all__ = [
    "BranchTaken",
    "Event",
    "IterationStarted",
    "Iterations",
    "Listener",
    "LoopEnded",
    "LoopStarted",
    "StageDone",
    "ValueMade",
]
