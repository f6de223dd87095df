"""The base of all commands: an example in the help, common options, errors without a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import click

from treadle.boundary import internal_error, is_interrupt, may_pass, too_deep
from treadle.cli.options import MODEL, common_options
from treadle.cli.output import Settings, echo_json, settings, visible
from treadle.errors import InvalidModel, LoadError, TreadleError
from treadle.limits import within

__all__ = [
    "Failure",
    "Interrupted",
    "Verb",
    "WholeSummary",
    "compile_option",
    "engines_option",
    "exception_of",
    "json_option",
    "model_argument",
]


class Failure(click.ClickException):
    """A TreadleError on the command line, or memory that is short: exit code 1."""

    def __init__(self, error: TreadleError | MemoryError, as_json: bool) -> None:
        super().__init__(str(error) or "there is not enough memory")
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


def exception_of(error: Exception, what: str, as_json: bool = False) -> click.ClickException | None:
    """What the command line says of an error; None if the error passes as it is."""
    if isinstance(error, TreadleError | MemoryError):
        return Failure(error, as_json)
    if is_interrupt(error):
        return Interrupted()
    if isinstance(error, RecursionError):
        return Failure(too_deep(what), as_json)
    return None if may_pass(error) else Failure(internal_error(error, what), as_json)


class Interrupted(click.ClickException):
    """Ctrl-C: exit code 130, as shells expect after SIGINT."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted")

    def show(self, file: IO[Any] | None = None) -> None:
        """Print one word, below the terminal's ^C."""
        click.echo("interrupted", file=file, err=True)


class WholeSummary(click.Command):
    """A command whose first sentence is never shortened, in lists of commands and completions."""

    def get_short_help_str(self, limit: int = 0) -> str:
        """The first sentence of the help, however long it is."""
        return super().get_short_help_str(max(limit, 1000))


class Verb(WholeSummary):
    """A command with an example in its help; turns TreadleErrors into exit code 1."""

    def __init__(self, *arguments: Any, example: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.common = common_options()
        self.params += self.common
        self.example = example

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the common ones."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        rows = {option: option.get_help_record(ctx) for option in options}
        own = [row for option, row in rows.items() if row and option not in self.common]
        common = [row for option, row in rows.items() if row and option in self.common]
        for title, records in (("Options", own), ("Options of every command", common)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example below the options."""
        with formatter.section("Example"):
            for line in self.example.strip().splitlines():
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        limits = ctx.params.pop("limits", None)
        names = ("quiet", "verbose", "color")
        given = Settings(**{name: ctx.params.pop(name) for name in names})
        token = settings.set(given)
        try:
            with _logged(given.verbose), within(limits):
                return super().invoke(ctx)
        except OSError as error:
            if error.filename is None:  # of standard output: `main` tells
                raise
            raise click.UsageError(f"{error.filename}: {error.strerror}", ctx) from error
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            raise Interrupted from None
        except Exception as error:
            as_json = bool(ctx.params.get("as_json"))
            told = exception_of(error, f"treadle {self.name}", as_json)
            if told is None:
                raise
            raise told from error
        finally:
            settings.reset(token)


@contextmanager
def _logged(verbose: int) -> Iterator[None]:
    """With -v, print treadle's log messages to stderr while the command runs; with -vv, details."""
    if not verbose:
        yield
        return
    import logging

    class Lines(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return visible(super().format(record), sys.stderr)

    logger, handler = logging.getLogger("treadle"), logging.StreamHandler()
    handler.setFormatter(Lines("%(relativeCreated)6d ms  %(message)s"))
    level = logger.level
    logger.setLevel(logging.INFO if verbose == 1 else logging.DEBUG)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def model_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """The MODEL argument: an existing file, or - for standard input."""
    return click.argument("model", type=MODEL)(function)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The --json option."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(
        function
    )


def compile_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The --compile option: when loops are compiled."""
    return click.option(
        "--compile",
        "compile_mode",
        type=click.Choice(["first_run", "background", "eager"]),
        default="first_run",
        show_default=True,
        help="When loops are compiled: by the first call, while calls run on onnxruntime, or when"
        " the model is loaded.",
    )(function)


def engines_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The --engines option: names in order of preference."""
    return click.option(
        "--engines",
        metavar="A,B",
        callback=_split,
        help="The engines to use, in order of preference: jit, onnxruntime, interp.",
    )(function)


def _split(ctx: click.Context, param: click.Parameter, given: str | None) -> Sequence[str] | None:
    if given is None or ctx.resilient_parsing:
        return None
    from treadle.engines import ENGINES

    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in ENGINES:
            raise click.BadParameter(
                f"there is no engine {name!r}; the engines are {', '.join(ENGINES)}"
            )
    return names
