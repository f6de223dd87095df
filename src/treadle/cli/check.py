"""`treadle check`: whether the model is well formed, and a repaired one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

import treadle
from treadle.cli.options import MODEL
from treadle.cli.output import echo, echo_json, working
from treadle.cli.verb import Verb, json_option
from treadle.errors import Finding

RUNTIMES = ("onnxruntime", "openvino")
"""The names in `treadle.checks.RUNTIMES`, which takes long to import."""

_EXAMPLE = """
$ treadle check decoder.onnx
$ treadle check decoder.onnx --for onnxruntime --ignore CF4
$ treadle check decoder.onnx --fix mended.onnx
$ treadle check --explain CF103
"""


def _split(ctx: click.Context, param: click.Parameter, given: str | None) -> tuple[str, ...]:
    """The codes, or starts of codes, between commas; each is one some rule has."""
    if not given or ctx.resilient_parsing:
        return ()
    from treadle.checks import RULES

    starts = tuple(part.strip().upper() for part in given.split(",") if part.strip())
    for start in starts:
        if not any(code.startswith(start) for code in RULES):
            raise click.BadParameter(f"no rule's code starts with {start}", ctx, param)
    return starts


def _codes(flag: str, words: str) -> Callable[..., Any]:
    return click.option(flag, metavar="CODES", callback=_split, help=words)


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("model", type=MODEL, required=False)
@_codes("--select", "Only these rules: codes or their starts, CF103,CF4.")
@_codes("--ignore", "All but these rules.")
@click.option(
    "--for",
    "portable",
    multiple=True,
    type=click.Choice(RUNTIMES),
    help="Add what is known not to load there, or to be answered wrongly. May be given twice.",
)
@click.option(
    "--fix",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a repaired model here (.onnx or .onnxtxt) and check that.",
)
@click.option("--explain", metavar="CODE", help="Say what a rule is about, and nothing else.")
@json_option
@click.option("--sarif", "as_sarif_", is_flag=True, help="Print SARIF 2.1.0, not words.")
@click.pass_context
def check(
    ctx: click.Context,
    model: Path | None,
    select: Sequence[str],
    ignore: Sequence[str],
    portable: Sequence[str],
    fix: Path | None,
    explain: str | None,
    as_json: bool,
    as_sarif_: bool,
) -> None:
    """Say what is wrong with a model, or may be, and mend what can be.

    Findings are grouped by path. The exit code is 1 if one of them is an error.
    """
    from treadle.report import as_data, as_sarif, count_findings

    if explain is not None:
        _explain(explain)
        return
    if model is None:
        raise click.UsageError("give a model, or --explain CODE", ctx)
    quiet = as_json or as_sarif_
    mended: list[object] = []
    if fix is not None:
        with working(f"mending {model}", quiet=quiet):
            mended = _mend(model, fix, portable)
        model = fix
    with working(f"checking {model}", quiet=quiet):
        found = treadle.check(model, portable=portable)
    findings = [each for each in found if _is_wanted(each, select, ignore)]
    counts = count_findings(findings)
    if as_sarif_:
        echo_json(as_sarif(findings, _uri(model), treadle.__version__))
    elif as_json:
        data = {"findings": as_data(findings), "counts": counts}
        echo_json(data | ({"mended": as_data(mended)} if fix is not None else {}))
    else:
        _show(model, findings, mended, fix)
    if counts["error"]:
        ctx.exit(1)


def _explain(code: str) -> None:
    from treadle.checks import RULES
    from treadle.report import explain_rule

    if code.upper() not in RULES:
        raise click.BadParameter(f"there is no rule {code}", param_hint="--explain")
    echo(explain_rule(code.upper()))


def _mend(model: Path, target: Path, portable: Sequence[str]) -> list[object]:
    repaired, done = treadle.repair(model, portable=portable)
    treadle.save(repaired, target)
    return list(done)


def _uri(path: Path) -> str:
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _is_wanted(finding: Finding, select: Sequence[str], ignore: Sequence[str]) -> bool:
    chosen = not select or finding.code.startswith(tuple(select))
    return chosen and not finding.code.startswith(tuple(ignore))


def _show(model: Path, findings: Sequence[Finding], mended: list[object], fix: Path | None) -> None:
    from treadle.report import show_findings

    if fix is not None:
        echo("\n".join([*map(str, mended), f"wrote {fix}, {len(mended)} mended", ""]))
    echo(show_findings(findings) if findings else f"{model}: no findings")
