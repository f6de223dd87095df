"""`treadle completion`: a script with which a shell completes commands, options and files."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from treadle.cli.verb import Verb

_SHELLS = ("bash", "zsh", "fish")
_EXAMPLE = """
$ treadle completion bash > ~/.local/share/bash-completion/completions/treadle
$ treadle completion zsh > ~/.zfunc/_treadle
$ treadle completion fish > ~/.config/fish/completions/treadle.fish
"""


@click.command(cls=Verb, example=_EXAMPLE)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script with which a shell completes commands, options and files.

    The shell reads the script when it starts, from the file of the example below. zsh finds it if
    ~/.zfunc is in fpath before compinit is called.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    program = ctx.find_root().command
    click.echo(ShellComplete.source(kind(program, {}, "treadle", "_TREADLE_COMPLETE")))
