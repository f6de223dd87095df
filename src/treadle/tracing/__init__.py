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
from treadle.tracing.recorders import Recorder, Verbose
from treadle.tracing.values import show_value, size_of

__all__ = [
    "BranchTaken",
    "Event",
    "IterationStarted",
    "Iterations",
    "Listener",
    "LoopEnded",
    "LoopStarted",
    "Recorder",
    "StageDone",
    "ValueMade",
    "Verbose",
    "show_value",
    "size_of",
]
