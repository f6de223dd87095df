"""The command `demo`: its options; `show` does the work."""

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
    """Run three example models, and show their loops, outputs and times.

    The models are an LSTM as Scan, a greedy decoder as a while Loop, and a Loop that grows a
    sequence. For each one it describes the loops, compares the outputs with onnxruntime's, and
    times both.
    """
    from treadle.cli.demo.show import show

    show(folder, as_json)
