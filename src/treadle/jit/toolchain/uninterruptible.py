"""Work that Ctrl-C must not interrupt: runs in a thread that is waited for.

The handlers of signals run in the main thread, between any two steps of Python. One that raises
within llvmlite leaves objects half made, or gives them back twice, which ends the process.

Where nobody waits any more, a fork does: the new process has the locks of such a thread, but not
the thread that would open them. So does the end of the process, even after a Ctrl-C, as llvmlite
does not outlive the interpreter; another one ends the process at once.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

_NAME = "treadle compiles"
P = ParamSpec("P")
R = TypeVar("R")
_POLL_SECONDS = 0.02
"""How often the waiting thread looks for signals."""


def uninterruptible(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which another thread runs to its end where the main thread calls it.

    A handler that raises ends the waiting only.
    """

    @wraps(function)
    def outer(*args: P.args, **kwargs: P.kwargs) -> R:
        if threading.current_thread() is not threading.main_thread():
            return function(*args, **kwargs)
        return run_aside(partial(function, *args, **kwargs))

    return outer


def run_aside(work: Callable[[], R], poll: Callable[[], None] | None = None) -> R:
    """What `work` gives, which another thread does to its end.

    `poll`, asked every now and then, may raise, and so may the handler of a signal: that ends the
    waiting only.
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
        thread.join(_POLL_SECONDS)  # a signal that another thread gets does not wake this one
        if poll is not None and thread.is_alive():
            poll()
    if errors:
        raise errors[0]
    return results[0]


def _at_work() -> list[threading.Thread]:
    """The threads that still do such work, but for this one."""
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
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait_for_all)
