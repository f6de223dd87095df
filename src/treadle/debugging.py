"""A run that is stepped through: `session.debug(feeds)`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Self

from treadle.arguments import expect, expect_callable
from treadle.boundary import Callback, public
from treadle.errors import InputError, did_you_mean
from treadle.ir import Model
from treadle.passes import chosen
from treadle.tracing import (
    BranchTaken,
    Event,
    Iterations,
    IterationStarted,
    Listener,
    LoopEnded,
    LoopStarted,
    Selector,
    ValueMade,
    show_value,
    size_of,
    test_of,
)

__all__ = ["Debugger"]

_MOST_KEPT = 100_000
_MOST_BYTES = 1 << 30

Stop = Callable[[Event], bool]
_TOLD = {
    LoopStarted: "the beginning of",
    LoopEnded: "the end of",
    BranchTaken: "the decision of",
}


class _Closed(Exception):
    """The debugger was closed: its run ends."""


class _SteppedRun:
    """A run in a thread of its own, which waits at every event; `history` has those before.

    The thread knows this object and not the Debugger, so a Debugger that nobody closes is freed.
    """

    def __init__(self, run: Callable[[Listener], list[Any]], max_bytes: int) -> None:
        self.outputs: list[Any] | None = None
        self.failure: BaseException | None = None
        self.history: list[Event] = []
        self.dropped = 0
        self.is_over = self.is_closed = False
        self._held, self._max_bytes = 0, max_bytes
        self._go, self._came = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._whole, args=(run,), daemon=True)
        self._thread.start()

    def go_on(self) -> bool:
        """Run to the next event; False at the end of the run."""
        self._go.release()
        self._came.acquire()
        return not self.is_over

    def close(self) -> None:
        """End the run where it is."""
        self.is_closed = True
        self._go.release()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _whole(self, run: Callable[[Listener], list[Any]]) -> None:
        self._go.acquire()
        try:
            if not self.is_closed:
                self.outputs = run(self._hear)
        except _Closed:
            pass
        except BaseException as failure:  # noqa: BLE001  raised again where the run is stepped
            self.failure = failure
        self.is_over = True
        self._came.release()

    def _hear(self, event: Event) -> None:
        self.history.append(event)
        self._held += _bytes(event)
        if len(self.history) > _MOST_KEPT or self._held > self._max_bytes:
            self._forget()
        self._came.release()
        self._go.acquire()
        if self.is_closed:
            raise _Closed

    def _forget(self) -> None:
        """Drop the oldest events, a tenth more than needed; never the last one."""
        count = 0
        while count < len(self.history) - 1 and (
            len(self.history) - count > _MOST_KEPT * 9 // 10
            or self._held > self._max_bytes * 9 // 10
        ):
            self._held -= _bytes(self.history[count])
            self.dropped += isinstance(self.history[count], ValueMade)
            count += 1
        del self.history[:count]


def _bytes(event: Event) -> int:
    return size_of(event.value) if isinstance(event, ValueMade) else 0


class Debugger:
    """A run on interp that stops where it is told to.

        with session.debug(feeds) as debugger:
            debugger.run_to("h", when="isnan")
            print(debugger)                 # where it is
            debugger["x"]                   # what a value is there
            debugger.back()

    Each method that goes on returns whether the run has stopped at an event; False: it is over, and
    `outputs` has its results. `event` is where it is. `back` goes to earlier events, of which the
    last 100,000 are kept, and values of `max_bytes` in sum; `dropped` counts the older values.
    Stepping then first goes over these again. What the run raises, the method that goes on raises.
    """

    def __init__(
        self,
        run: Callable[[Listener], list[Any]],
        model: Model,
        max_bytes: int = _MOST_BYTES,
    ) -> None:
        expect(max_bytes, int, "max_bytes", "a whole number of bytes")
        self._model = model
        self._run = _SteppedRun(run, max_bytes)
        self._at = -1
        self._end = weakref.finalize(self, self._run.close)

    @property
    def outputs(self) -> list[Any] | None:
        """The results of the run; None before its end."""
        return self._run.outputs

    @property
    def dropped(self) -> int:
        """The number of values that `back` cannot go to any more."""
        return self._run.dropped

    @property
    def _history(self) -> list[Event]:
        return self._run.history

    @property
    def event(self) -> Event | None:
        """The event at which the run stands; None before the first one."""
        return self._history[self._at] if self._at >= 0 else None

    @public
    def step(self) -> bool:
        """Go to the next value that a node makes."""
        return self._until(lambda event: isinstance(event, ValueMade) and bool(event.step))

    @public
    def step_iteration(self) -> bool:
        """Go to the beginning of the next iteration of the loop around, or to the loop's end."""
        loop, _ = self._place()
        return self._until(
            lambda event: isinstance(event, IterationStarted | LoopEnded) and event.path == loop
        )

    @public
    def step_out(self) -> bool:
        """Go to the end of the loop around."""
        loop, _ = self._place()
        return self._until(lambda event: isinstance(event, LoopEnded) and event.path == loop)

    @public
    def run_to(
        self,
        values: str | Iterable[str] = "*",
        *,
        when: str | Callable[[Any], bool] | None = None,
    ) -> bool:
        """Go to the next of the values that a selector picks, and for which a condition holds.

        `when` is "isnan", "isinf", a comparison as "> 1e6", which an element must pass, or a
        function of the value.
        """
        selector = Selector.of(values)
        selector.expect_match(self._model)
        picked = set(chosen(self._model, selector))
        if when is not None and not isinstance(when, str):
            expect_callable(when, "when", "a condition")
        holds = test_of(when) if isinstance(when, str) else when and Callback(when)
        return self._until(
            lambda event: (
                isinstance(event, ValueMade)
                and (event.path, event.name) in picked
                and (holds is None or bool(holds(event.value)))
            )
        )

    @public
    def back(self, steps: int = 1) -> bool:
        """Go back over this number of computed values; False if no more are kept."""
        expect(steps, int, "steps", "a whole number")
        for at in range(self._at - 1, -1, -1):
            event = self._history[at]
            if isinstance(event, ValueMade) and event.step:
                self._at, steps = at, steps - 1
                if not steps:
                    return True
        return False

    @public
    def __getitem__(self, name: str) -> Any:
        """What a value was last, by its name, or its path and name, as of where the run stands."""
        known: dict[str, None] = {}
        for event in reversed(self._history[: self._at + 1]):
            if isinstance(event, ValueMade):
                if name in (event.name, f"{event.path}/{event.name}"):
                    return event.value
                known[event.name] = None
        raise InputError(f'nothing was made of "{name}" so far; {did_you_mean(name, known)}')

    @public
    def close(self) -> None:
        """End the run where it is."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        event = self.event
        if event is None:
            return "<Debugger before the first step>"
        loop, iterations = self._place()
        inside = f", iteration {', '.join(map(str, iterations))} of {loop}" if iterations else ""
        if isinstance(event, ValueMade):
            return f"<Debugger at {event.path}/{event.name}{inside}: {show_value(event.value)}>"
        if isinstance(event, IterationStarted):
            return f"<Debugger at the beginning of{inside.removeprefix(',')}>"
        told = _TOLD.get(type(event), type(event).__name__)
        return f"<Debugger at {told} {getattr(event, 'path', '')}{inside}>"

    def _place(self) -> tuple[str, Iterations]:
        """The loop around, and the numbers of its iterations and of those around it."""
        event = self.event
        iterations: Iterations = getattr(event, "iterations", ())
        for each in reversed(self._history[: self._at + 1]):
            if isinstance(each, IterationStarted) and each.iterations == iterations:
                return each.path, iterations
        return "", iterations

    def _until(self, stops: Stop) -> bool:
        while self._next():
            event = self.event
            if event is not None and stops(event):
                return True
        return False

    def _next(self) -> bool:
        """One event further: one that was gone back over, or the run's next."""
        if self._at + 1 < len(self._history):
            self._at += 1
            return True
        run = self._run
        if run.is_over or run.is_closed:
            return False
        goes_on = run.go_on()
        if run.failure is not None:
            failure, run.failure = run.failure, None
            try:
                raise failure
            finally:
                del failure  # it refers to this frame
        if not goes_on:
            return False
        self._at = len(self._history) - 1
        return True
