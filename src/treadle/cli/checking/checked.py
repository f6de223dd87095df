"""The outcome for one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.cli.checking.targets import Target
from treadle.errors import Finding, TreadleError
from treadle.passes import Fix

__all__ = ["Checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The reported findings of a model, the repairs, and the start of a diff.

    `error` is why the model could not be checked, `diff` the changes a repair would make.
    """

    target: Target
    findings: Sequence[Finding] = ()
    mended: Sequence[Fix] = ()
    wrote: str = ""
    diff: str = ""
    error: TreadleError | None = None
