"""Runs `treadle check`: checks every model, and repairs it if asked to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import treadle
from treadle.cli.checking.baseline import Baseline, Key, keys_of, show_baseline
from treadle.cli.checking.checked import Checked
from treadle.cli.checking.mending import diff_of, mend, places
from treadle.cli.checking.printing import show
from treadle.cli.checking.targets import Target, targets_of
from treadle.cli.output import note, working
from treadle.errors import Finding, Severity, TreadleError
from treadle.files import replaced_file
from treadle.report import plural

__all__ = ["Plan", "run"]

_RANK: dict[Severity, int] = {"advice": 0, "warning": 1, "error": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The arguments of `treadle check`."""

    paths: Sequence[str]
    exclude: Sequence[str]
    select: Sequence[str]
    ignore: Sequence[str]
    portable: Sequence[str]
    fail_on: Severity
    statistics: bool
    form: str
    fixes: bool
    fix_file: Path | None
    folder: Path | None
    in_place: bool
    diff: bool
    baseline: Path | None
    updates: bool


def run(plan: Plan) -> bool:
    """Check every model and print the findings; returns whether the check fails."""
    targets = targets_of(plan.paths, plan.exclude)
    placed: dict[str, Path] = {}
    if plan.fixes:
        placed = places(targets, plan.fix_file, plan.folder, in_place=plan.in_place)
    is_words = plan.form == "text"
    title = f"checking {targets[0].name if len(targets) == 1 else f'{len(targets)} models'}"
    many = len(targets) if len(targets) > 1 else None
    with working(title, quiet=not is_words, of=many) as advance:
        checked = []
        for target in targets:
            checked.append(_check(plan, target, placed.get(target.name), alone=many is None))
            advance()
    if plan.baseline is not None and plan.updates:
        _update(plan.baseline, checked)
        return False
    if plan.baseline is not None:
        checked = _without_known(plan.baseline, checked)
    show(checked, plan.form, statistics=plan.statistics)
    return any(map(_fails, checked, [plan] * len(checked)))


def _check(plan: Plan, target: Target, path: Path | None, *, alone: bool) -> Checked:
    """Check one model; an error is reported, and ends the run only for a single model."""
    mended, diff, source = [], "", target.source
    try:
        if path is not None and (alone or _can_be_mended(target)):
            mended = mend(target, path, plan.portable)
            source = path
        if plan.diff and (alone or _can_be_mended(target)):
            diff = diff_of(target, plan.portable)
        found = treadle.check(source, portable=plan.portable)
    except TreadleError as error:
        if alone:
            raise
        return Checked(target, error=error)
    wanted = [each for each in found if _is_wanted(each, plan)]
    wrote = str(path) if source is path and path is not None else ""
    return Checked(target, wanted, mended, wrote, diff)


def _can_be_mended(target: Target) -> bool:
    """Whether the model loads; if it does not, the check reports why."""
    try:
        treadle.load(target.source)
    except TreadleError:
        return False
    return True


def _is_wanted(finding: Finding, plan: Plan) -> bool:
    chosen = not plan.select or finding.code.startswith(tuple(plan.select))
    return chosen and not finding.code.startswith(tuple(plan.ignore))


def _fails(checked: Checked, plan: Plan) -> bool:
    least = _RANK[plan.fail_on]
    is_found = any(_RANK[finding.severity] >= least for finding in checked.findings)
    return is_found or checked.error is not None or bool(checked.diff)


def _update(file: Path, checked: Sequence[Checked]) -> None:
    """Write the baseline: all findings."""
    keys = [key for each in _keys(file, checked) for key in each]
    _write(file, show_baseline(keys))
    note(f"wrote {file}: {plural(len(keys), 'finding')}")


def _without_known(file: Path, checked: Sequence[Checked]) -> list[Checked]:
    """The models without the findings of the baseline."""
    baseline = Baseline.read(file)
    before = baseline.unmet
    keys = _keys(file, checked)
    told = [_with(c, baseline.unknown(c.findings, k)) for c, k in zip(checked, keys, strict=True)]
    note(f"{plural(before - baseline.unmet, 'finding')} known from {file}")
    if baseline.unmet:
        note(f"{baseline.unmet} more did not occur; --update-baseline removes them")
    return told


def _keys(file: Path, checked: Sequence[Checked]) -> list[list[Key]]:
    return [keys_of(c.findings, c.wrote or c.target.source, c.target.name, file) for c in checked]


def _with(checked: Checked, findings: Sequence[Finding]) -> Checked:
    return replace(checked, findings=findings)


def _write(file: Path, text: str) -> None:
    """Write the complete file or nothing."""
    with replaced_file(file) as draft:
        draft.write_text(f"{text}\n", encoding="utf-8")
