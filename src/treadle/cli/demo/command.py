"""The verb `demo`: what it takes; `show` does the work."""

from __future__ import annotations

from pathlib import Path

import click

from treadle.cli.verb import Verb, json_option

_EXAMPLE = """
$ treadle demo
$ treadle demo --save models
"""


@click.command(cls=Verb, example=_EXAMPLE)
@click.option(
    "--save",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the models and their inputs here, to try the other verbs on.",
)
@json_option
def demo(folder: Path | None, as_json: bool) -> None:
    """Run three models and show what happens in them.

    An LSTM as Scan, a greedy decoder as a while Loop, and a Loop that grows a sequence: each one's
    loops in words, its outputs, whether they are onnxruntime's, and the time of both.
    """
    from treadle.cli.demo.show import show

    show(folder, as_json)
