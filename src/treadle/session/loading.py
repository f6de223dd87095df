"""From a source to a checked model, in stages that are timed and reported."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from treadle import checks, formats
from treadle.errors import InvalidModel, LoadError, Terminated
from treadle.ir import Model
from treadle.limits import poll
from treadle.ort_session import supplied
from treadle.profiling import Profile
from treadle.tracing import Listener, StageDone

__all__ = ["Stages", "read_and_check"]


@dataclass(eq=False, slots=True)
class Stages:
    """The stages of loading a model: each is timed for the profile and reported to the listener.

    `options` are the session's, whose flag may cancel the load.
    """

    options: Any
    listener: Listener | None = None
    profile: Profile | None = None
    _untold: deque[StageDone] = field(default_factory=deque)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run one stage; raises Terminated before it if the load was cancelled."""
        if getattr(self.options, "is_cancelled", False):
            raise Terminated("cancelled by SessionOptions.set_load_cancellation_flag")
        poll()
        started = time.perf_counter()
        yield
        done = StageDone(name, time.perf_counter() - started)
        if self.profile is not None:
            self.profile.stage(done)
        if self.listener is not None:
            self._untold.append(done)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Report the stages inside to the listener once they have ended and released their locks.

        A listener may use the session, and so may a thread that it waits for.
        """
        try:
            yield
        finally:
            while self.listener is not None and (done := self._next_untold()) is not None:
                self.listener(done)

    def _next_untold(self) -> StageDone | None:
        try:
            return self._untold.popleft()
        except IndexError:  # no stage is left, or another thread has reported it
            return None


def read_and_check(source: object, stages: Stages) -> Model:
    """Read and check a source; returns the model with types on all values.

    Raises LoadError for a source that is not a model and InvalidModel for a model that breaks a
    rule which stops a session; both list every finding.
    """
    instead = supplied(stages.options)
    if instead is not None and isinstance(source, Model):
        source = formats.onnx.write_model(source)
    with stages.told(), stages.stage("read"):
        read = (source, []) if isinstance(source, Model) else formats.read(source, supplied=instead)
    model, findings = read
    if model is None:
        raise LoadError("the model cannot be loaded:", findings)
    with stages.told(), stages.stage("check"):
        model, found = checks.infer_with_findings(model)
    findings = [*findings, *found]
    blocking = [found for found in findings if found.blocks]
    if blocking:
        raise InvalidModel("the model cannot be run:", blocking)
    return model
