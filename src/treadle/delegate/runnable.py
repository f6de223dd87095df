"""A prepared region: one onnxruntime session, and the way it is called."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from treadle import machine, ops
from treadle.delegate.cancellation import CancellableRun, cancellable
from treadle.delegate.exported import Exported
from treadle.delegate.ort_errors import failures, reason, translating_errors
from treadle.delegate.work import Work
from treadle.delegate.workarounds.growth import Growth
from treadle.errors import RunError
from treadle.plan import (
    Abandoned,
    FallbackRequired,
    NamedCall,
    RunContext,
    RunnableTraits,
    copied,
    is_long,
)
from treadle.tracing import size_of

_NO_ROOM = "a result would not fit into memory"
_SLOW = 0.1
_SMALL = 1 << 12
"""Elements of an input up to which no product is long; the prediction itself takes 2 us."""
_LARGE = 1 << 24
"""Input bytes from which a run may take long; the copies of the inputs cost little beside it."""


Run = Callable[[Sequence[str], dict[str, object], Any], list[Any]]
"""The `run` of a session: names of outputs, feeds by name, options."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Session:
    """The Runnable of a region. `run` is the session's own, `inputs` and `outputs` its names.

    `exported` is the model it was made of.

    `is_brief`: the run is short, so Ctrl-C may wait for it, as in onnxruntime. Watching a run costs
    4 microseconds. `work` predicts the multiplications of a product in it, `growth` results that
    are much larger than the inputs. `keeps`: it has loops, which keep values.
    """

    path: str
    run: Run
    options: Callable[[], Any]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    is_brief: bool = False
    abandoned: Abandoned = field(default_factory=Abandoned)
    exported: Exported | None = None
    work: Work | None = None
    growth: Growth | None = None
    keeps: bool = False

    def __call__(self, inputs: Sequence[object], context: RunContext) -> Sequence[object]:
        """Run the session; raises FallbackRequired if onnxruntime fails.

        The interpreter then succeeds, or locates the fault. If a Ctrl-C handler does not raise, the
        interrupted run is repeated: it has no side effects.
        """
        feed = dict(zip(self.inputs, inputs, strict=True))
        if self.growth is not None:
            self._expect_room(self.growth, feed, context.limits.bytes)
        is_apart = self._is_apart(feed, context)
        if self.is_brief and not context.may_stop and not is_apart:
            return self._at_once(feed)
        if is_apart:
            feed = {name: copied(value) for name, value in feed.items()}
        while True:
            watch = CancellableRun(self.options(), context, self.keeps)
            run = partial(self.run, self.outputs, feed, watch.options)
            if is_apart:
                waiting = context.abandoned or self.abandoned
                run = partial(waiting.run, run, context, self.path)
            started = time.monotonic()
            try:
                return translating_errors(partial(cancellable, run, watch), self._refused)
            except FallbackRequired:
                context.poll(self.path)
                if watch.is_full:
                    raise self._refused(_NO_ROOM) from None
                if not watch.stopped_by_signal:
                    raise
            finally:
                if time.monotonic() - started > _SLOW:
                    self.abandoned.is_slow = True

    def _expect_room(self, growth: Growth, feed: Mapping[str, object], bound: float | None) -> None:
        """Refuse to make a result that memory does not hold; interp tells which one it is.

        A bound on bytes is one for results larger than an input.
        """
        most = machine.memory_of_machine()
        if bound is not None:
            most = min(most, max([bound, *map(size_of, feed.values())]))
        if growth.exceeds(feed, most) or (
            growth.is_large and growth.exceeds(feed, min(most, machine.free_memory()))
        ):
            raise self._refused(_NO_ROOM)

    def _is_apart(self, feed: Mapping[str, object], context: RunContext) -> bool:
        """Whether a separate thread executes the run, so that the caller can return before it ends.

        With a time limit always; for `terminate` and Ctrl-C if RunOptions are given and the inputs
        are large or an earlier run was slow; else for Ctrl-C if the inputs are small and an earlier
        run was slow, or beside a long product.
        """
        if context.limits.seconds is not None:
            return True
        if context.options is not None:
            return self.abandoned.is_slow or sum(map(size_of, feed.values())) > _LARGE
        if self.work is not None and self._is_long(feed, context):
            return True
        return self.abandoned.is_slow and self._is_short_to_copy(feed)

    def _is_long(self, feed: Mapping[str, object], context: RunContext) -> bool:
        assert self.work is not None
        work = self.work(feed)
        if work <= ops.FEW:
            return False
        return is_long(work, sum(getattr(each, "size", 0) for each in feed.values()), context)

    def _is_short_to_copy(self, feed: Mapping[str, object]) -> bool:
        is_main = threading.current_thread() is threading.main_thread()
        return is_main and sum(map(size_of, feed.values())) <= _LARGE

    def by_name(self, names: Sequence[str]) -> NamedCall | None:
        """A call by name, if runs are brief and the session's inputs have these names."""
        if not self.is_brief or tuple(names) != self.inputs:
            return None
        return self._at_once if self.work is None and self.growth is None else self._by_name

    def unwatched(self, names: Sequence[str], like: Mapping[str, object]) -> NamedCall | None:
        """A call by name for feeds with these extents; None if a result may be large."""
        if tuple(names) != self.inputs:
            return None
        small = min(machine.LARGE, machine.memory_of_machine())
        is_large = self.growth is not None and self.growth.exceeds(like, small)
        return None if is_large else self._at_once

    def _by_name(self, feed: dict[str, object]) -> list[Any]:
        if self.growth is not None:
            self._expect_room(self.growth, feed, None)
            if self.work is None:
                return self._at_once(feed)
        for each in feed.values():
            if getattr(each, "size", 0) > _SMALL:
                break
        else:
            return self._at_once(feed)
        assert self.work is not None
        if self.work(feed) <= ops.FEW:
            return self._at_once(feed)
        return list(self(tuple(feed[name] for name in self.inputs), RunContext()))

    def _at_once(self, feed: dict[str, object]) -> list[Any]:
        try:
            return self.run(self.outputs, feed, None)
        except failures() as failure:
            raise self._refused(reason(failure)) from failure

    @property
    def traits(self) -> RunnableTraits:
        """All results are new arrays; inputs may come by name."""
        return RunnableTraits(
            returns_fresh_arrays=True, by_name=self.by_name, unwatched=self.unwatched
        )

    def _refused(self, why: str) -> FallbackRequired:
        return FallbackRequired(RunError(why, self.path))
