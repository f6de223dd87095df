"""Every exception treadle raises, and the Finding that a check reports.

    TreadleError
     ├── LoadError            the source is no model, or one that cannot be closed; has .findings
     │    └── DataError       a tensor of the file cannot be had: missing, truncated, an unsafe path
     ├── LoadLimitExceeded    a bound of LoadLimits was reached
     ├── InvalidModel         the model breaks a rule that blocks running; has .findings
     ├── Unsupported          the model is fine, this build has no way to run or write it
     ├── InputError           an argument does not fit: names, dtypes, ranks, shapes; a ValueError
     │    ├── InputTypeError  it is of a type that is not taken at all; a TypeError too
     │    └── ConfigurationError  an option or a provider is not to be had; a RuntimeError too
     ├── RunError             the model failed on this data: where, at which iteration, why
     │    ├── KernelError     an operator's operands do not fit, or its evaluation failed
     │    ├── LimitExceeded   a bound of RunOptions was reached
     │    └── Terminated      RunOptions.terminate was set while it ran
     ├── ComparisonError      outputs differ from the ones expected
     └── InternalError        a bug of treadle's own, with what to report

A model that is wrong gives findings; a caller's mistake gives one of these; a bug of ours is an
AssertionError inside, and an InternalError outside (see treadle.boundary). Of bugs in the native
compiler, whose regions another engine can run, an InternalCompilerWarning tells. Messages say
where, what was found, what was wanted and what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Literal

from treadle.messages import join_words

__all__ = [
    "ComparisonError",
    "ConfigurationError",
    "DataError",
    "Finding",
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
]

Severity = Literal["error", "warning", "advice"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a check found in a model.

    `blocks` says whether the model cannot be run because of it: a name used twice in two scopes is
    an error of the standard that still runs, an undefined name is one that does not. `clause` is
    what of the standard it rests on; `line` and `column`, from 1, are where in a text model.
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

    def __str__(self) -> str:
        at = f"{self.path}, line {self.line}" if self.line and self.path else self.path
        where = f"{at}: " if at else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.code} {self.severity} {where}{self.message}{hint}"


class TreadleError(Exception):
    """The root of every error treadle raises on purpose. They pickle, whatever their arguments."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.plain_class(), self.args), self.__dict__ or None

    @classmethod
    def plain_class(cls) -> type[TreadleError]:
        """The class, without what errors of onnxruntime it was joined with."""
        return getattr(cls, "_plain", cls)


def _restored(kind: type[TreadleError], args: tuple[object, ...]) -> TreadleError:
    """An error as it was: its `__init__`, whose arguments are not kept, is not called again."""
    return kind.__new__(kind, *args)


_MOST_COMPARED = 2000
_LONGEST_COMPARED = 200


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate a mistyped name most likely means, or None; case counts little.

    Of very many candidates those are compared whose length is nearest, and very long names are not.
    """
    if len(name) > _LONGEST_COMPARED:
        return None
    from difflib import get_close_matches

    spelt = {each.lower(): each for each in candidates if len(each) <= _LONGEST_COMPARED}
    if len(spelt) > _MOST_COMPARED:
        kept = nsmallest(_MOST_COMPARED, spelt, key=lambda each: abs(len(each) - len(name)))
        spelt = {each: spelt[each] for each in kept}
    close = get_close_matches(name.lower(), spelt, 1)
    return spelt[close[0]] if close else None


def did_you_mean(name: str, candidates: Collection[str]) -> str:
    """A hint: the candidate meant, or all there are."""
    close = nearest(name, candidates)
    return f'did you mean "{close}"?' if close else f"it has {join_words(candidates) or 'none'}"


def _with_findings(message: str, findings: Sequence[Finding]) -> str:
    return "\n  ".join([message, *map(str, findings)])


class LoadError(TreadleError):
    """The source is not a model treadle can read; `findings` list every reason."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(_with_findings(message, findings))
        self.findings = tuple(findings)


class DataError(LoadError):
    """A tensor of the file cannot be had: missing, truncated, or its path leaves the folder."""


class LoadLimitExceeded(TreadleError):
    """Making a model ready went over one of its bounds: see `LoadLimits`."""


class InvalidModel(TreadleError):
    """The model breaks rules that block running; `findings` list every one."""

    def __init__(self, message: str, findings: Sequence[Finding] = ()) -> None:
        super().__init__(_with_findings(message, findings))
        self.findings = tuple(findings)


class Unsupported(TreadleError):
    """The model may be right, but nothing here can run, or write, this operator."""

    def __init__(self, op: str, version: int | None, why: str, path: str = "") -> None:
        where = f"{path}: " if path else ""
        named = f"{op}-{version}" if version is not None else op
        super().__init__(f"{where}{named}: {why}")
        self.op, self.version, self.why, self.path = op, version, why, path
        self.findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, op: str, why: str, findings: Sequence[Finding]) -> Unsupported:
        """The error of several steps; `findings` list every reason."""
        error = cls(op, None, _with_findings(why, findings))
        error.findings = tuple(findings)
        return error


class InputError(TreadleError, ValueError):
    """An argument does not fit: a name, a dtype, a rank or a shape. It is a ValueError too."""


class InputTypeError(InputError, TypeError):
    """An argument is of a type that is not taken there. It is a TypeError too."""


class ConfigurationError(InputError, RuntimeError):
    """An option, a binding or a provider is not to be had. It is a RuntimeError too."""


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
    """An operator could not be evaluated on these operands; whoever runs the step says where."""


class LimitExceeded(RunError):
    """A run went over one of its bounds: `max_iterations`, `max_seconds` or `max_bytes`."""


class Terminated(RunError):
    """`RunOptions.terminate` was set while the model ran."""


class ComparisonError(TreadleError):
    """Outputs differ from the expected ones; every difference is listed."""


class InternalError(TreadleError):
    """A bug of treadle's own; the message says what to report, `__cause__` is the exception."""


class InternalCompilerWarning(RuntimeWarning):
    """The native compiler failed on a region, and another engine ran it: a bug to report."""
