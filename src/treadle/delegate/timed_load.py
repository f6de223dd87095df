"""Starts sessions of onnxruntime, within `LoadLimits.seconds`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from treadle.delegate.options import CPU, Providers
from treadle.limits import poll, remaining_seconds


def start_session(data: bytes, options: Any, providers: Providers, disabled: set[str]) -> Any:
    """The C++ session of a model's bytes; raises what onnxruntime raises.

    `disabled` names the optimizers that are left out. On the CPU alone the session is made without
    onnxruntime's Python class, which asks it for 50 microseconds what is known here.
    """
    if providers == CPU:
        from onnxruntime.capi import onnxruntime_pybind11_state as binding

        made = binding.InferenceSession(options, data, False, False)
        made.initialize_session(["CPUExecutionProvider"], [{}], disabled)
        return made
    import onnxruntime

    names = [name for name, _ in providers]
    settings = [dict(setting) for _, setting in providers]
    started = onnxruntime.InferenceSession(
        data, options, names, settings, disabled_optimizers=disabled
    )
    return started._sess


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
