"""Events of loading and running, and their listeners; independent of the engines."""

from treadle.tracing.columns import Column, QualifiedName
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
from treadle.tracing.npz import write_npz
from treadle.tracing.progress import Progress
from treadle.tracing.recorder import Recorder
from treadle.tracing.selectable import Kind, Selectable, has_calls, selectables
from treadle.tracing.selector import EXTRAS, ROLES, Selector
from treadle.tracing.statistics import Statistics
from treadle.tracing.values import show_value, size_of
from treadle.tracing.verbose import Verbose
from treadle.tracing.window import test_of

__all__ = [
    "EXTRAS",
    "ROLES",
    "BranchTaken",
    "Column",
    "Event",
    "IterationStarted",
    "Iterations",
    "Kind",
    "Listener",
    "LoopEnded",
    "LoopStarted",
    "Progress",
    "QualifiedName",
    "Recorder",
    "Selectable",
    "Selector",
    "StageDone",
    "Statistics",
    "ValueMade",
    "Verbose",
    "has_calls",
    "selectables",
    "show_value",
    "size_of",
    "test_of",
    "write_npz",
]
