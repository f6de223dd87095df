"""The boundary of public functions: only treadle's own errors leave them.

Every public function is `public`. An exception of another kind that reaches it is a bug of treadle:
it leaves as InternalError, which names the place and what to report, with the exception itself as
its cause. `TREADLE_DEBUG=1` lets it through as it is. MemoryError and KeyboardInterrupt always
pass, and so do warnings that a filter of the caller's made errors, and what the caller's own
functions raised (`Callback`). A RecursionError becomes LoadLimitExceeded. Arguments that a function
does not take raise InputTypeError.
"""

from __future__ import annotations

import os
import platform
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from treadle.errors import (
    InputTypeError,
    InternalError,
    LoadLimitExceeded,
    TreadleError,
    did_you_mean,
)
from treadle.ort_exceptions import join_peers

__all__ = [
    "Callback",
    "internal_error",
    "is_callers",
    "is_debugging",
    "is_interrupt",
    "may_pass",
    "place_of",
    "public",
    "too_deep",
    "versions",
]

VARIABLE: Final = "TREADLE_DEBUG"
"""The environment variable that makes bugs of treadle propagate unchanged."""

_PACKAGE = Path(__file__).parent
_REPORTED = ("treadle", "numpy", "onnx", "onnxruntime", "llvmlite")
_MARK = "_treadle_raised_by_caller"

P = ParamSpec("P")
R = TypeVar("R")


def is_debugging() -> bool:
    """Whether bugs of treadle propagate unchanged."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


class Callback:
    """A function of the caller: its exceptions pass the boundary unchanged."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        try:
            return self.function(*args, **kwargs)
        except Exception as error:
            setattr(error, _MARK, True)
            raise


def may_pass(error: Exception) -> bool:
    """Whether an exception may leave a public function unchanged."""
    join_peers(error)
    if isinstance(error, TreadleError | MemoryError | Warning) or is_callers(error):
        return True
    return is_debugging()


def is_callers(error: Exception) -> bool:
    """Whether a function of the caller raised it."""
    return hasattr(error, _MARK)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an exception: one that came while a library was imported.

    Modules in C raise ImportError then.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def internal_error(error: BaseException, what: str) -> InternalError:
    """The error for a bug of treadle that ended a public function."""
    kind = f"{type(error).__name__}: {error}".rstrip(": ")
    return InternalError(
        f"{what} failed inside treadle, which is a bug of treadle: {kind} (in {place_of(error)})."
        f" Please report it with the model and this line: {versions()}"
    )


def too_deep(what: str) -> LoadLimitExceeded:
    """The error for what is nested deeper than Python lets a function call itself."""
    most = sys.getrecursionlimit()
    return LoadLimitExceeded(
        f"{what} met something that is nested too deeply for Python's recursion limit of {most};"
        f" lower LoadLimits.depth (--limit depth=N), which refuses it before, or raise that limit"
        f" with sys.setrecursionlimit"
    )


def place_of(error: BaseException) -> str:
    """The file and line of the package where an exception was raised, or came from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    if not ours:
        return "an unknown place"
    return f"{Path(ours[-1].filename).relative_to(_PACKAGE).as_posix()}:{ours[-1].lineno}"


def versions() -> str:
    """The versions to include in a bug report."""
    found = [f"{name} {_version(name)}" for name in _REPORTED]
    return ", ".join([*found, f"Python {platform.python_version()}", platform.platform()])


def _version(name: str) -> str:
    # its import takes longer than that of the rest of the command line
    from importlib import metadata

    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, OSError):  # no file can be opened: there are too many
        return "?"


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a public function with the boundary."""

    @wraps(function)
    def bounded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            name = function.__qualname__.removesuffix(".__init__")
            if isinstance(error, RecursionError) and not is_callers(error):
                raise too_deep(name) from error
            if isinstance(error, TypeError) and not isinstance(error, TreadleError):
                _expect_fitting(function, name, args, kwargs)
            if may_pass(error):
                raise
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            raise internal_error(error, name) from error

    return bounded


def _expect_fitting(
    function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Raise InputTypeError for arguments that the function does not take, or lacks."""
    import inspect

    signature = inspect.signature(function)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as misfit:
        known = [each for each in signature.parameters if each != "self"]
        unknown = [each for each in kwargs if each not in known]
        hint = did_you_mean(unknown[0], known) if unknown else f"it takes {', '.join(known)}"
        raise InputTypeError(f"{name}: {misfit}; {hint}") from None
