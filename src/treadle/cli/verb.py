"""What every verb has: an example in its help, `--json`, and errors without a traceback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import click

from treadle.boundary import internal_error, may_pass
from treadle.cli.output import echo_json
from treadle.errors import InputError, InvalidModel, LoadError, TreadleError
from treadle.limits import LoadLimits, within


class Failure(click.ClickException):
    """One of treadle's errors, as the command line says it: exit code 1."""

    def __init__(self, error: TreadleError, as_json: bool) -> None:
        super().__init__(str(error))
        self.error, self.as_json = error, as_json

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message to stderr; with --json, the error as data to stdout."""
        if not self.as_json:
            super().show(file)
            return
        from treadle.report import as_data

        findings = self.error.findings if isinstance(self.error, LoadError | InvalidModel) else ()
        kind, message = type(self.error).__name__, self.message
        echo_json({"error": {"kind": kind, "message": message, "findings": as_data(findings)}})


class Verb(click.Command):
    """A command with an example in its help that turns treadle's errors into exit code 1."""

    def __init__(self, *arguments: Any, example: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.params.append(_limit_option())
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example below the options."""
        with formatter.section("Example"):
            for line in self.example.strip().splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb."""
        limits = ctx.params.pop("limits", None)
        try:
            with within(limits):
                return super().invoke(ctx)
        except TreadleError as error:
            raise Failure(error, bool(ctx.params.get("as_json"))) from error
        except BrokenPipeError:
            raise
        except OSError as error:
            raise click.UsageError(f"{error.filename}: {error.strerror}", ctx) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if may_pass(error):
                raise
            fault = internal_error(error, f"treadle {self.name}")
            raise Failure(fault, bool(ctx.params.get("as_json"))) from error


def _limit_option() -> click.Option:
    """The --limit option, which may be given for each of the limits."""
    return click.Option(
        ["--limit", "limits"],
        metavar="NAME=N",
        multiple=True,
        callback=_limits,
        help=f"Bound what making the model ready takes: {', '.join(LoadLimits.names())}.",
    )


def _limits(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> LoadLimits | None:
    found: dict[str, Any] = {}
    for each in given:
        name, _, number = each.partition("=")
        if name not in LoadLimits.names():
            known = ", ".join(LoadLimits.names())
            raise click.BadParameter(f"no limit is called {name!r}; there are {known}")
        try:
            found[name] = float(number) if name == "seconds" else int(number)
        except ValueError:
            raise click.BadParameter(f"{each}: {number!r} is no number") from None
    try:
        return LoadLimits(**found) if found else None
    except InputError as error:
        raise click.BadParameter(str(error)) from None


def model_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The MODEL argument: an existing file."""
    kind = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.argument("model", type=kind)(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The --json option."""
    return click.option("--json", "as_json", is_flag=True, help="Print plain data, not words.")(
        function
    )


def engines_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The --engines option: names in order of preference."""
    return click.option(
        "--engines",
        metavar="A,B",
        callback=_split,
        help="Who may run what, in order of preference: jit, onnxruntime, interp.",
    )(function)


def _split(ctx: click.Context, param: click.Parameter, given: str | None) -> list[str] | None:
    if given is None or ctx.resilient_parsing:
        return None
    from treadle.engines import ENGINES

    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in ENGINES:
            raise click.BadParameter(
                f"no engine is called {name!r}; there are {', '.join(ENGINES)}"
            )
    return names
