"""Shared by all rewriting commands: `-o`, the report as text or data, and the written file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import treadle
from treadle.cli.options import Piped
from treadle.cli.output import echo, echo_json, note

if TYPE_CHECKING:
    from treadle import Report
    from treadle.ir import Model


def finish(
    source: Path | Piped, model: Model, report: Report, output: Path | None, *, as_json: bool
) -> None:
    """Write the model to the requested file, and report the changes."""
    from treadle.report import as_data

    if output is not None:
        treadle.save(model, output)
    if as_json:
        done = as_data(report.done)
        echo_json({"output": str(output or ""), "counts": report.counts, "done": done})
        return
    echo(str(report) if report.done else f"{source}: nothing to do")
    if output is not None:
        note(f"wrote {output}")
