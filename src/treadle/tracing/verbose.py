"""A listener that prints a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from treadle.tracing.events import (
    BranchTaken,
    Event,
    IterationStarted,
    LoopEnded,
    LoopStarted,
    StageDone,
    ValueMade,
)
from treadle.tracing.values import show_value


class Verbose:
    """Prints a run, one line per event, indented by bodies and iterations.

        main/loop_0: at most 3 iterations
          iteration 0
            so: float32[2] [1, 1.5]   add_1

    Lines go to `log` if it is given, else to `stream`, by default standard output. One object
    follows one run at a time.
    """

    def __init__(
        self, stream: TextIO | None = None, *, log: Callable[[str], object] | None = None
    ) -> None:
        target = stream if stream is not None else sys.stdout
        self._log = log if log is not None else lambda line: print(line, file=target)
        self._depths: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Print the event."""
        match event:
            case StageDone(stage, seconds):
                self._write(0, f"{stage}: {seconds * 1e3:.1f} ms")
            case ValueMade(path, _, name, value, step):
                maker = f"   {step.rsplit('/', 1)[-1]}" if step else ""
                self._write(self._inside(path, 1), f"{name}: {show_value(value)}{maker}")
            case LoopStarted(path, _, trip):
                most = "no bound" if trip is None else f"at most {_times(trip)}"
                self._write(self._depth, f"{path}: {most}")
            case IterationStarted(path, iterations):
                depth = self._inside(f"{path}.body", 2)
                self._write(depth - 1, f"iteration {iterations[-1]}")
            case LoopEnded(path, _, trips, by):
                self._leave(f"{path}.body")
                self._write(self._depth, f"{path}: {_times(trips)}, ended by its {_WORDS[by]}")
            case BranchTaken(path, _, taken):
                self._write(self._depth, f"{path}: {taken}")
                self._inside(f"{path}.{taken}", 1)

    def _write(self, depth: int, words: str) -> None:
        self._log("  " * depth + words)

    @property
    def _depth(self) -> int:
        return next(reversed(self._depths.values()), 0)

    def _inside(self, path: str, deeper: int) -> int:
        """The depth of the block at the path, which becomes the innermost one."""
        if path in self._depths:
            while next(reversed(self._depths)) != path:
                self._depths.popitem()
        else:
            self._depths[path] = self._depth + deeper if self._depths else 0
        return self._depths[path]

    def _leave(self, path: str) -> None:
        if path in self._depths:
            self._inside(path, 0)
            del self._depths[path]


_WORDS = {"trip": "trip count", "condition": "condition"}


def _times(count: int) -> str:
    return f"{count} iteration{'' if count == 1 else 's'}"
