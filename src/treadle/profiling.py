"""A session's profile: a trace file that Chrome, Perfetto and onnxruntime's own tools open.

`ts` and `dur` are microseconds, from when the session began to be made. Events of the category
"Session" are the making of the session and its runs; those of "Node" are what ran as a whole: a
step of interp, or all the steps that another engine took together. `args` say which: `op_name` is
the operator, or those of a stretch, `engine` who ran it, `provider` for whom onnxruntime's tools
sum up, `iterations` those of the loops around it.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from treadle.ir import operator_of, step_path
from treadle.plan import BlockPlan, Plan
from treadle.tracing import Event, Iterations, StageDone, ValueMade

__all__ = ["Location", "Profile", "Timed", "locations_of"]

_MOST_NAMED = 8
_STAGES = {"read": "model_loading"}


@dataclass(frozen=True, slots=True)
class Location:
    """A timed unit: its path, its engine, its operators, and the paths of its steps."""

    path: str
    engine: str
    operators: str
    steps: tuple[str, ...] = ()

    def holds(self, path: str) -> bool:
        """Whether a path is that of one of its steps, or inside a body of one."""
        return any(path == step or path.startswith(f"{step}.") for step in self.steps)


@dataclass(slots=True)
class Profile:
    """The events of one session, by any of its threads, and the file they are written to."""

    path: str
    start_ns: int = field(default_factory=time.time_ns)
    events: list[dict[str, Any]] = field(default_factory=list)
    is_ended: bool = False
    _zero: int = field(default_factory=time.perf_counter_ns)

    @classmethod
    def of(cls, prefix: str) -> Profile:
        """The profile of a session that begins to be made now."""
        now = time.time_ns()
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(now / 1e9))
        return cls(f"{prefix}_{stamp}_{now // 10**6 % 1000:03}.json", now)

    def add(
        self, category: str, name: str, start: int, end: int, args: Mapping[str, str] | None = None
    ) -> None:
        """Something took place between two times of `time.perf_counter_ns`."""
        if self.is_ended:
            return
        self.events.append(
            {
                "cat": category,
                "pid": os.getpid(),
                "tid": threading.get_native_id(),
                "dur": (end - start) // 1000,
                "ts": (start - self._zero) // 1000,
                "ph": "X",
                "name": name,
                "args": dict(args or {}),
            }
        )

    def stage(self, event: StageDone) -> None:
        """An arrow of the making of the session was walked."""
        end = time.perf_counter_ns()
        name = _STAGES.get(event.stage, f"session_{event.stage}")
        self.add("Session", name, end - int(event.seconds * 1e9), end)

    def end(self) -> str:
        """Write the file, once; its path."""
        if self.is_ended:
            return self.path
        self.is_ended = True
        lines = ",\n".join(json.dumps(event) for event in self.events)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(f"[\n{lines}\n]\n")
        return self.path


@dataclass(slots=True)
class Timed:
    """Hears one run: each value it hears of ends what made it, which began where the last ended."""

    profile: Profile
    places: Mapping[str, Location]
    started: int = field(default_factory=time.perf_counter_ns)
    _last: int = 0
    _heard: tuple[str, Iterations] | None = None

    def __call__(self, event: Event) -> None:
        """Record the finished step, if the event ends one."""
        now = time.perf_counter_ns()
        if isinstance(event, ValueMade) and event.step:
            location = self.places.get(event.step) or Location(event.step, "interp", event.step)
            key = (location.path, event.iterations)
            if key != self._heard:  # the further results of the same come at once
                self._note(location, event.iterations, now)
            self._heard = key
        self._last = now

    def _note(self, location: Location, iterations: Iterations, now: int) -> None:
        args = {
            "op_name": location.operators,
            "engine": location.engine,
            "provider": "CPUExecutionProvider",
            "iterations": ",".join(map(str, iterations)),
        }
        start = self._last or self.started
        self.profile.add("Node", f"{location.path}_kernel_time", start, now, args)

    def done(self) -> None:
        """The run has ended."""
        self.profile.add("Session", "model_run", self.started, time.perf_counter_ns())


def locations_of(plan: Plan) -> dict[str, Location]:
    """Where each step of the plan runs, by its path."""
    return dict(_places(plan.main))


def _places(block: BlockPlan) -> Iterator[tuple[str, Location]]:
    paths = {step: step_path(block.path, step, k) for k, step in enumerate(block.block.steps)}
    for region in block.regions:
        names = [operator_of(step) for step in region.steps]
        more = ["..."] if len(names) > _MOST_NAMED else []
        own = tuple(paths.get(step, step.info.path) for step in region.steps)
        whole = Location(region.path, region.engine, ", ".join(names[:_MOST_NAMED] + more), own)
        for path, name in zip(own, names, strict=True):
            is_alone = region.runnable is None
            yield path, Location(path, region.engine, name) if is_alone else whole
        for body in region.bodies.values():
            yield from _places(body)
