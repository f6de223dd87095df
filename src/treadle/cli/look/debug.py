"""`treadle debug`: a prompt that steps through a run on interp, value by value."""

from __future__ import annotations

import cmd
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

import treadle
from treadle.cli.options import Inputs, Piped, feed_options
from treadle.cli.output import echo, working
from treadle.cli.verb import Verb, model_argument
from treadle.errors import InputError, TreadleError

if TYPE_CHECKING:
    from treadle.debugging import Debugger
    from treadle.ir import Model

_EXAMPLE = """
$ treadle debug lstm.onnx --input x.npz
$ printf 'until h isnan\\nback\\nprint gate\\n' | treadle debug lstm.onnx --random
"""
_NEAR = 5
"""Steps that `list` prints before and after the current one."""
_SHORT = {
    "s": "step", "n": "iteration", "o": "out", "u": "until", "p": "print", "b": "back",
    "w": "where", "l": "list", "q": "quit",
}  # fmt: skip


@click.command(cls=Verb, example=_EXAMPLE)
@model_argument
@feed_options
def debug(model: Path | Piped, inputs: Inputs) -> None:
    """Step through a run on interp, and back, at a prompt.

    `help` lists its commands. They are read from a terminal or a pipe: step, iteration, out, until,
    back, print, where, list, quit, or their first letters (n for iteration). The exit code is 1 if
    the run fails.
    """
    from treadle.cli.feeds import collect

    if isinstance(model, Piped):
        raise click.UsageError(
            "commands are read from standard input, which the model came from; give a file"
        )
    with working(f"preparing {model}"):
        session = treadle.InferenceSession(model)
    feeds = collect(session.model, inputs)
    with session.debug(feeds) as debugger:
        prompt = Prompt(debugger, session.model)
        prompt.cmdloop()
    if prompt.has_failed:
        sys.exit(1)


class Prompt(cmd.Cmd):
    """Reads commands and prints where the run stands after each."""

    def __init__(self, debugger: Debugger, model: Model) -> None:
        super().__init__(stdin=sys.stdin, stdout=sys.stdout)
        self.use_rawinput = sys.stdin.isatty()
        self.prompt = "(debug) " if self.use_rawinput else ""
        self.debugger, self.model, self.has_failed = debugger, model, False

    def onecmd(self, line: str) -> bool:
        """Do what a line says; errors are printed, and the prompt goes on."""
        word, space, rest = line.strip().partition(" ")
        try:
            return bool(super().onecmd(f"{_SHORT.get(word, word)}{space}{rest}"))
        except treadle.RunError as failure:
            self.has_failed = True
            self._tell(f"the run fails: {failure}")
        except TreadleError as error:
            self._tell(str(error))
        except KeyboardInterrupt:
            self._tell("\nstopped")
            self.do_where("")
        return False

    def emptyline(self) -> bool:
        """An empty line does nothing."""
        return False

    def default(self, line: str) -> None:
        """Name the commands for a word that is none."""
        if line == "EOF":
            raise _End
        self._tell(f'"{line.split()[0]}" is no command; help lists them')

    def cmdloop(self, intro: str | None = None) -> None:
        """Read commands up to `quit` or the end of the input."""
        try:
            super().cmdloop(intro)
        except _End:
            if self.use_rawinput:
                self._tell("")

    def do_step(self, count: str) -> None:
        """Go to the next value that a step makes: step, step 5."""
        for _ in range(_number(count)):
            if not self._go(self.debugger.step):
                return
        self.do_where("")

    def do_iteration(self, _: str) -> None:
        """Go to the next iteration of the loop around, or to its end: iteration."""
        if self._go(self.debugger.step_iteration):
            self.do_where("")

    def do_out(self, _: str) -> None:
        """Go to the end of the loop around: out."""
        if self._go(self.debugger.step_out):
            self.do_where("")

    def do_until(self, what: str) -> None:
        """Go to the next such value: until h, until op:Add isnan, until h > 1e6."""
        selector, _, test = what.strip().partition(" ")
        if not selector:
            raise InputError('until needs a selector, as "until h" or "until op:Add isnan"')
        when = test.strip() or None
        if self._go(lambda: self.debugger.run_to(selector, when=when)):
            self.do_where("")

    def do_back(self, count: str) -> None:
        """Go back over values: back, back 5."""
        if self.debugger.back(_number(count)):
            self.do_where("")
        else:
            self._tell("no earlier value is kept")

    def do_print(self, name: str) -> None:
        """Print a value, by its name or its path and name, as of here: print h."""
        from treadle.tracing import show_value

        value = self.debugger[name.strip()]
        self._tell(show_value(value))
        if getattr(value, "ndim", 0):
            self._tell(str(value))

    def do_where(self, _: str) -> None:
        """Print the value or event at which the run stands, with its iterations: where."""
        self._tell(repr(self.debugger)[1:-1].removeprefix("Debugger "))

    def do_list(self, _: str) -> None:
        """Print the steps of the block, around the current one: list."""
        from treadle.ir import operator_of, reads, walk_block

        here = getattr(self.debugger.event, "step", "") or getattr(self.debugger.event, "path", "")
        steps = {visit.path: visit.step for visit in walk_block(self.model.main)}
        block = here.rpartition("/")[0] or "main"
        paths = [path for path in steps if path.rpartition("/")[0] == block]
        at = paths.index(here) if here in paths else 0
        for path in paths[max(0, at - _NEAR) : at + _NEAR + 1]:
            results = ", ".join(value.name if value else "" for value in steps[path].results)
            operands = ", ".join(value.name if value else "" for value in reads(steps[path]))
            mark, name = "->" if path == here else "  ", path.rpartition("/")[2]
            self._tell(f"{mark} {name}  {results} = {operator_of(steps[path])} ({operands})")

    def do_quit(self, _: str) -> bool:
        """End the run and the prompt: quit."""
        return True

    def do_help(self, name: str) -> None:
        """Print what the commands do: help, help until."""
        names = [_SHORT.get(name, name)] if name else sorted({*_SHORT.values(), "help"})
        letters = {word: letter for letter, word in _SHORT.items()}
        for each in names:
            told = getattr(self, f"do_{each}", None)
            if told is None:
                raise InputError(f'"{name}" is no command; help lists them')
            self._tell(f"{letters.get(each, ' ')}  {each:9}  {told.__doc__}")

    def completedefault(self, text: str, *_: object) -> list[str]:
        """The values whose names begin with a text, for until and print."""
        from treadle.tracing import selectables

        found = {item.name for item in selectables(self.model)}
        return sorted(name for name in found if name.startswith(text))

    def _go(self, move: Callable[[], bool]) -> bool:
        """Whether the run has stopped somewhere; its outputs are printed at the end."""
        from treadle.tracing import show_value

        if move():
            return True
        outputs = self.debugger.outputs
        self._tell("the run is over")
        names = [value.name for value in self.model.main.results if value is not None]
        for name, value in zip(names, outputs or (), strict=False):
            self._tell(f"{name} = {show_value(value)}")
        return False

    def _tell(self, text: str) -> None:
        echo(text)


class _End(Exception):
    """The end of the input."""


def _number(given: str) -> int:
    text = given.strip()
    if text and not (text.isdecimal() and int(text)):
        raise InputError(f'"{text}" is no number of values, wanted 1 or more')
    return int(text or 1)
