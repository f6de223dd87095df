"""`treadle check`: reports faults of models, and repairs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from treadle.cli.output import echo
from treadle.cli.verb import Verb

RUNTIMES = ("onnxruntime", "openvino")
"""The names in `treadle.checks.RUNTIMES`, whose import takes long."""
_FORMS = ("text", "json", "sarif", "github")
_EXAMPLE = """
$ treadle check decoder.onnx
$ treadle check models/ 'exports/**/*.onnx' --fail-on warning --statistics
$ treadle check decoder.onnx --for onnxruntime --ignore CF4
$ treadle check decoder.onnx --fix mended.onnx
$ treadle check models/ --fix --output-dir mended
$ treadle check models/ --baseline known.json --output-format github
$ treadle check --explain CF103
"""


def _split(ctx: click.Context, param: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Split a list of codes, or of prefixes of codes, at commas; each must match a rule."""
    if not given or ctx.resilient_parsing:
        return ()
    from treadle.checks import RULES

    starts = tuple(part.strip().upper() for part in given.split(",") if part.strip())
    for start in starts:
        if not any(code.startswith(start) for code in RULES):
            raise click.BadParameter(f"no rule's code starts with {start}", ctx, param)
    return starts


def _settings(ctx: click.Context, param: click.Parameter, file: Path | None) -> None:
    """Take the options that are not given from the project's settings."""
    if ctx.resilient_parsing:
        return
    from treadle.cli.checking.settings import read_settings

    ctx.default_map = read_settings(file, Path.cwd())


def _codes(flag: str, words: str) -> Callable[..., Any]:
    return click.option(flag, metavar="CODES", callback=_split, help=words)


class _PathWord(click.Path):
    """A path, a glob or `-`, as typed; a shell completes it as a path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the word unchanged."""
        return str(value)


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("paths", metavar="PATH...", nargs=-1, type=_PathWord())
@_codes("--select", "Only these rules: codes or prefixes, as CF103,CF4.")
@_codes("--ignore", "All but these rules.")
@click.option(
    "--for",
    "portable",
    multiple=True,
    type=click.Choice(RUNTIMES),
    help="Also report what this runtime fails to load or answers wrongly. May be repeated.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Skip these files in folders and globs.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "advice"]),
    default="error",
    show_default=True,
    help="The least severity that makes the exit code 1.",
)
@click.option("--statistics", is_flag=True, help="Print only how often each rule is broken.")
@click.option(
    "--fix",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help=(
        "Write a repaired model to FILE and check it; several models need one of the next options."
    ),
)
@click.option(
    "--output-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="With --fix: write the repaired models here, under their names.",
)
@click.option("--in-place", is_flag=True, help="With --fix: overwrite the models.")
@click.option(
    "--diff", is_flag=True, help="Print the changes --fix would make; exit code 1 if there are any."
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Do not report the findings stored in this file.",
)
@click.option(
    "--update-baseline", is_flag=True, help="Write the baseline: all findings of this run."
)
@click.option(
    "--output-format",
    type=click.Choice(_FORMS),
    help="Text, JSON, SARIF 2.1.0, or annotations of GitHub's workflows.  [default: text]",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --output-format json.")
@click.option("--sarif", "as_sarif", is_flag=True, help="The same as --output-format sarif.")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=_settings,
    help="Take settings from this file, not the nearest treadle.toml or pyproject.toml.",
)
@click.option("--explain", metavar="CODE", help="Only explain a rule.")
@click.pass_context
def check(ctx: click.Context, /, explain: str | None, **given: Any) -> None:
    """Report faults and probable faults of models, and repair them.

    A PATH is a model, a folder (searched for .onnx, .onnxtxt and OpenVINO's .xml), a glob, or - for
    standard input. Findings are grouped by path. The exit code is 1 if one of them is an error.

    Options not given are taken from [tool.treadle] of pyproject.toml, or from treadle.toml.
    """
    if explain is not None:
        _explain(explain)
        return
    if _run(ctx, **given):
        ctx.exit(1)


def _run(
    ctx: click.Context,
    *,
    paths: tuple[str, ...],
    fix: str | None,
    output_dir: Path | None,
    in_place: bool,
    output_format: str | None,
    as_json: bool,
    as_sarif: bool,
    update_baseline: bool,
    **given: Any,
) -> bool:
    from treadle.cli.checking import Plan, run

    if fix and (output_dir or in_place):  # `--fix models/ --in-place`: the next word is a path
        paths, fix = (fix, *paths), ""
    if not paths:
        raise click.UsageError("give a model, or --explain CODE", ctx)
    _expect_places(fix, output_dir, in_place, update_baseline and given["baseline"] is None)
    form = "json" if as_json else "sarif" if as_sarif else output_format or "text"
    plan = Plan(
        paths=paths,
        form=form,
        fixes=fix is not None,
        fix_file=Path(fix) if fix else None,
        folder=output_dir,
        in_place=in_place,
        updates=update_baseline,
        **given,
    )
    return run(plan)


def _expect_places(
    fix: str | None, folder: Path | None, in_place: bool, has_no_baseline: bool
) -> None:
    """Raise UsageError if --fix lacks a destination, or there is one without --fix, or two."""
    if has_no_baseline:
        raise click.UsageError("--update-baseline needs --baseline FILE")
    if fix is None and (folder or in_place):
        raise click.UsageError("--output-dir and --in-place need --fix")
    if folder and in_place:
        raise click.UsageError("give --output-dir or --in-place, not both")
    if fix == "" and not folder and not in_place:
        raise click.UsageError("--fix needs a place: --fix FILE, --output-dir DIR or --in-place")


def _explain(code: str) -> None:
    from treadle.checks import RULES
    from treadle.report import explain_rule

    if code.upper() not in RULES:
        raise click.BadParameter(f"there is no rule {code}", param_hint="--explain")
    echo(explain_rule(code.upper()))
