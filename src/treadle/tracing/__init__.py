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
from treadle.tracing.progress import Progress
from treadle.tracing.recorders import Recorder, Verbose
from treadle.tracing.selectable import Kind, Selectable, has_calls, selectables
from treadle.tracing.selector import EXTRAS, ROLES, Selector
from treadle.tracing.values import show_value, size_of

__all__ = [
    "EXTRAS",
    "ROLES",
    "BranchTaken",
    "Event",
    "IterationStarted",
    "Iterations",
    "Kind",
    "Listener",
    "LoopEnded",
    "LoopStarted",
    "Progress",
    "Recorder",
    "Selectable",
    "Selector",
    "StageDone",
    "ValueMade",
    "Verbose",
    "has_calls",
    "selectables",
    "show_value",
    "size_of",
]
