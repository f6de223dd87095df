"""What came of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treadle.cli.checking.targets import Target
from treadle.errors import Finding, TreadleError
from treadle.passes import Fix

__all__ = ["Checked"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The findings of a model that are told, what was mended, and where a diff begins.

    `error` is why it could not be checked, `diff` what mending it would change.
    """

    target: Target
    findings: Sequence[Finding] = ()
    mended: Sequence[Fix] = ()
    wrote: str = ""
    diff: str = ""
    error: TreadleError | None = None
