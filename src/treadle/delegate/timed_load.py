"""Loads sessions of onnxruntime within `LoadLimits.seconds`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treadle.limits import poll, remaining_seconds


@contextmanager
def stopped_in_time(options: Any) -> Iterator[None]:
    """Have onnxruntime cancel the load with these SessionOptions when the time is over.

    It checks between its optimizers and finishes the current one. An older onnxruntime without the
    cancellation flag runs to its end. Raises LoadLimitExceeded once it has given up.
    """
    seconds = remaining_seconds()
    cancel = getattr(options, "set_load_cancellation_flag", None)
    if seconds is None or cancel is None:
        yield
        return
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX - 1), cancel, (True,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        poll()
