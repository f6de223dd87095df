"""Runs work that Ctrl-C must not interrupt in another thread, and waits for it.

Signal handlers run in the main thread, between any two Python instructions. One that raises inside
llvmlite leaves objects half-initialised, or frees them twice, which crashes the process.

If the caller stopped waiting, a fork still waits: the child would inherit the locks of such a
thread, but not the thread that releases them. The exit of the process waits too, even after a
Ctrl-C, since llvmlite does not outlive the interpreter; a second Ctrl-C exits at once.
"""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from treadle.locks import before_fork

_NAME = "treadle compiles"
P = ParamSpec("P")
R = TypeVar("R")
_POLL_SECONDS = 0.02
"""The interval in seconds at which the waiting thread checks for signals."""


def uninterruptible(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function: if the main thread calls it, another thread runs it to its end.

    A handler that raises only ends the waiting.
    """

    @wraps(function)
    def outer(*args: P.args, **kwargs: P.kwargs) -> R:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)
        return run_aside(partial(function, *args, **kwargs))

    return outer


def run_aside(work: Callable[[], R], poll: Callable[[], None] | None = None) -> R:
    """Run `work` to its end in another thread, and return its result.

    `poll`, called regularly, may raise, and so may a signal handler: that only ends the waiting.
    """
    results: list[R] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where it belongs
            errors.append(error)

    thread = threading.Thread(target=run, name=_NAME)
    thread.start()
    while thread.is_alive():
        thread.join(_POLL_SECONDS)  # a signal delivered to another thread does not wake this one
        if poll is not None and thread.is_alive():
            poll()
    if errors:
        raise errors[0]
    return results[0]


def _at_work() -> list[threading.Thread]:
    """The threads that still run such work, except the current one."""
    this = threading.current_thread()
    return [each for each in threading.enumerate() if each.name == _NAME and each is not this]


def _wait_for_all() -> None:
    for thread in _at_work():
        thread.join()


def _wait_at_exit() -> None:
    if _at_work() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _wait_for_all()


atexit.register(_wait_at_exit)
before_fork(_wait_for_all)
