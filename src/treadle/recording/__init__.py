"""Recording at full speed: runs the exposed model, whole or with long loops in windows."""

from treadle.recording.exposures import Exposures, RecordedOptions
from treadle.recording.loop_lengths import LONG, draws, long_loops, long_steps
from treadle.recording.outputs import columns
from treadle.recording.staged import Prepare, Run, StagedModel
from treadle.recording.staged_run import StagedRun
from treadle.recording.watched import FailedInWindows, WatchedModel
from treadle.recording.window_size import FIRST_SIZE, LARGEST_SIZE, next_size

__all__ = [
    "FIRST_SIZE",
    "LARGEST_SIZE",
    "LONG",
    "Exposures",
    "FailedInWindows",
    "Prepare",
    "RecordedOptions",
    "Run",
    "StagedModel",
    "StagedRun",
    "WatchedModel",
    "columns",
    "draws",
    "long_loops",
    "long_steps",
    "next_size",
]
