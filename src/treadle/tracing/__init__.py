"""Events of loading and running, and their listeners; independent of the engines."""

from typing import TYPE_CHECKING

from treadle.lazy_names import lazy_names

if TYPE_CHECKING:
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
    from treadle.tracing.npz import read_npy, read_npz, write_npz
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
    "read_npy",
    "read_npz",
    "selectables",
    "show_value",
    "size_of",
    "test_of",
    "write_npz",
]

__getattr__ = lazy_names(
    __name__,
    {
        "columns": ("Column", "QualifiedName"),
        "events": (
            "BranchTaken",
            "Event",
            "Iterations",
            "IterationStarted",
            "Listener",
            "LoopEnded",
            "LoopStarted",
            "StageDone",
            "ValueMade",
        ),
        "npz": ("read_npy", "read_npz", "write_npz"),
        "progress": ("Progress",),
        "recorder": ("Recorder",),
        "selectable": ("Kind", "Selectable", "has_calls", "selectables"),
        "selector": ("EXTRAS", "ROLES", "Selector"),
        "statistics": ("Statistics",),
        "values": ("show_value", "size_of"),
        "verbose": ("Verbose",),
        "window": ("test_of",),
    },
)
