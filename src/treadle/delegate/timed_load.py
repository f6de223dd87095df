"""Making a session of onnxruntime within `LoadLimits.seconds`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treadle.limits import poll, remaining_seconds


@contextmanager
def stopped_in_time(options: Any) -> Iterator[None]:
    """Have onnxruntime give up what is done inside with its SessionOptions when the time is over.

    It looks between its optimizers: what one of them began, it finishes. One that is older, and has
    no such flag, goes on to its end. Raises LoadLimitExceeded once it has given up.
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
