"""Every exception treadle raises, and the Finding that a check reports.

    TreadleError
     ├── LoadError            the source is not a model, or cannot be closed; has .findings
     │    └── DataError       a tensor cannot be read: missing, truncated, an unsafe path
     ├── LoadLimitExceeded    a limit of LoadLimits was exceeded
     ├── InvalidModel         the model breaks a rule that stops a session; has .findings
     ├── Unsupported          the model is fine, this build has no way to run or write it
     ├── InputError           an argument does not fit: names, dtypes, ranks, shapes; a ValueError
     │    ├── InputTypeError  its type is not accepted at all; a TypeError too
     │    └── ConfigurationError  an option or a provider is not available; a RuntimeError too
     ├── RunError             the model failed on this data: where, at which iteration, why
     │    ├── KernelError     an operator's operands do not fit, or its evaluation failed
     │    ├── LimitExceeded   a limit of RunOptions was exceeded
     │    └── Terminated      RunOptions.terminate was set while it ran
     ├── ComparisonError      outputs differ from the expected ones
     └── InternalError        a bug of treadle, with instructions for a report

A faulty model gives findings; a caller's mistake raises one of these; a bug of ours is an
AssertionError inside, and an InternalError outside (see treadle.boundary). A bug in the native
compiler gives an InternalCompilerWarning, and another engine runs the region. Messages tell where
the error is, what was found, what was wanted and what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Literal

from treadle import markup
from treadle.messages import brief, join_words, visible

__all__ = [
    "ComparisonError",
    "ConfigurationError",
    "DataError",
    "Finding",
    "Findings",
    "InputError",
    "InputTypeError",
    "InternalCompilerWarning",
    "InternalError",
    "InvalidModel",
    "KernelError",
    "LimitExceeded",
    "LoadError",
    "LoadLimitExceeded",
    "RunError",
    "Severity",
    "Terminated",
    "TreadleError",
    "Unsupported",
    "did_you_mean",
    "nearest",
    "or_nearest",
]

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One thing a check found in a model.

    `blocks`: the finding prevents running the model. A shadowed name violates the standard but
    still runs, an undefined name does not. `clause` is the relevant part of the standard; `line`
    and `column`, from 1, are the place in a text model.
    """

    code: str
    severity: Severity
    path: str
    message: str
    hint: str = ""
    blocks: bool = False
    clause: str = ""
    line: int | None = None
    column: int | None = None

    def __post_init__(self) -> None:
        for name in ("path", "message", "hint"):
            text = getattr(self, name)
            if not text.isprintable():
                object.__setattr__(self, name, visible(text))

    def __str__(self) -> str:
        at = f"{self.path}, line {self.line}" if self.line and self.path else self.path
        where = f"{at}: " if at else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.code} {self.severity} {where}{self.message}{hint}"

    def __repr__(self) -> str:
        return f"<Finding {brief(str(self), _LONGEST_REPR)}>"

    def _repr_html_(self) -> str:
        return markup.preformatted(str(self))


class Findings(list[Finding]):
    """The findings of a model, a list that notebooks show as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return markup.preformatted("no findings")
        rows = [(each.code, each.severity, each.path, each.message, each.hint) for each in self]
        return markup.table(("rule", "severity", "path", "finding", "hint"), rows)


class TreadleError(Exception):
    """The root of every error treadle raises on purpose. They pickle, whatever their arguments.

    The message is one line, with escapes for line breaks in names; `lines` follow it, indented.
    """

    def __init__(self, message: object = "", lines: Iterable[object] = ()) -> None:
        super().__init__("\n  ".join(visible(str(each)) for each in (message, *lines)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.plain_class(), self.args), self.__dict__ or None

    @classmethod
    def plain_class(cls) -> type[TreadleError]:
        """The class, without the onnxruntime errors it was combined with."""
        return getattr(cls, "_plain", cls)


def _restored(kind: type[TreadleError], args: tuple[object, ...]) -> TreadleError:
    """Restore an error without calling its `__init__`, whose arguments are not stored."""
    return kind.__new__(kind, *args)


_MOST_COMPARED = 2000
_LONGEST_REPR = 100
_LONGEST_COMPARED = 200


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most similar to a mistyped name, or None; case counts little.

    Of very many candidates only those of the nearest length are compared, and very long names not
    at all.
    """
    if not isinstance(name, str) or len(name) > _LONGEST_COMPARED:
        return None
    from difflib import get_close_matches

    spelt = {each.lower(): each for each in candidates if len(each) <= _LONGEST_COMPARED}
    if len(spelt) > _MOST_COMPARED:
        kept = nsmallest(_MOST_COMPARED, spelt, key=lambda each: abs(len(each) - len(name)))
        spelt = {each: spelt[each] for each in kept}
    close = get_close_matches(name.lower(), spelt, 1)
    return spelt[close[0]] if close else None


def did_you_mean(name: str, candidates: Collection[str]) -> str:
    """A hint: the most similar candidate, or all candidates."""
    close = nearest(name, candidates)
    return f'did you mean "{close}"?' if close else f"it has {join_words(candidates) or 'none'}"


def or_nearest(name: str, candidates: Collection[str]) -> str:
    """What follows a list of the candidates in a message: the most similar one, if there is one."""
    close = nearest(name, candidates)
    return f'; did you mean "{close}"?' if close else ""


class LoadError(TreadleError):
    """The source is not a model treadle can read; `findings` list every reason."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message, findings)
        self.findings = tuple(findings)


class DataError(LoadError):
    """A tensor of the file cannot be read: missing, truncated, or its path leaves the folder."""


class LoadLimitExceeded(TreadleError):
    """Loading a model exceeded one of its limits: see `LoadLimits`."""


class InvalidModel(TreadleError):
    """The model breaks rules that stop a session; `findings` list every one."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(message, findings)
        self.findings = tuple(findings)


class Unsupported(TreadleError):
    """The model may be right, but nothing here can run, or write, this operator."""

    def __init__(
        self,
        op: str,
        version: int | None,
        why: str,
        path: str = "",
        lines: Iterable[object] = (),
    ) -> None:
        where = f"{path}: " if path else ""
        named = f"{op}-{version}" if version is not None else op
        super().__init__(f"{where}{named}: {why}", lines)
        self.op, self.version, self.why, self.path = op, version, why, path
        self.findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, op: str, why: str, findings: Sequence[Finding]) -> Unsupported:
        """The error of several steps; `findings` list every reason."""
        error = cls(op, None, why, lines=findings)
        error.findings = tuple(findings)
        return error


class InputError(TreadleError, ValueError):
    """An argument does not fit: a name, a dtype, a rank or a shape. It is a ValueError too."""


class InputTypeError(InputError, TypeError):
    """An argument is of a type that is not accepted. It is a TypeError too."""


class ConfigurationError(InputError, RuntimeError):
    """An option, a binding or a provider is not available. It is a RuntimeError too."""


class RunError(TreadleError):
    """The model failed on this data.

    `path` names the step, `iterations` the iteration number of every loop around it, outermost
    first.
    """

    def __init__(self, message: str, path: str = "", iterations: Sequence[int] = ()) -> None:
        self.path, self.iterations, self.reason = path, tuple(iterations), message
        at = ", ".join(f"iteration {i}" for i in self.iterations)
        where = ", ".join(part for part in (path, at) if part)
        super().__init__(f"{where}: {message}" if where else message)


class KernelError(RunError):
    """An operator could not be evaluated on these operands; the caller adds the location."""


class LimitExceeded(RunError):
    """A run exceeded one of its limits: `max_iterations`, `max_seconds` or `max_bytes`."""


class Terminated(RunError):
    """`RunOptions.terminate` was set while the model ran."""


class ComparisonError(TreadleError):
    """Outputs differ from the expected ones; every difference is listed."""


class InternalError(TreadleError):
    """A bug of treadle; the message tells what to report, `__cause__` is the exception."""


class InternalCompilerWarning(RuntimeWarning):
    """The native compiler failed on a region, and another engine ran it: a bug to report."""
