"""Work that a run has left behind keeps nothing once it has ended."""

import gc
import threading
import time
import weakref
from functools import partial

import pytest

import treadle
from treadle.plan import Limits, RunContext
from treadle.plan.abandoned import Abandoned


class Feed:
    """What the work reads; a numpy array cannot be referred to weakly."""


def test_work_that_fails_after_it_was_left_is_freed_without_the_cycle_collector():
    is_left = threading.Event()

    def fail(feed):
        assert feed
        assert is_left.wait(20)
        raise ValueError("stopped")

    def leave() -> weakref.ref[Feed]:
        feed, left = Feed(), Abandoned()
        context = RunContext(limits=Limits(seconds=0.01))
        with pytest.raises(treadle.LimitExceeded):
            left.run(partial(fail, feed), context, "main")
        assert left.thread is not None
        is_left.set()
        left.thread.join(20)
        return weakref.ref(feed)

    gc.collect()
    gc.disable()
    try:
        held, end = leave(), time.monotonic() + 20
        while held() is not None and time.monotonic() < end:
            time.sleep(0.01)
        assert held() is None
    finally:
        gc.enable()
