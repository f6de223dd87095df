"""Prints the examples of `treadle demo` one after the other, and the next steps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

import treadle
from treadle.cli.archive import write_archive
from treadle.cli.demo.examples import examples
from treadle.cli.demo.measure import Measured, measure
from treadle.cli.output import coloured, echo_json, has_color, working, wrapped
from treadle.report import (
    LoopSummary,
    as_data,
    engine_counts,
    plan_data,
    show_control_flow,
    show_differences,
    show_factor,
    show_seconds,
    show_values,
    table,
)

_FRAME = 6
"""Columns of the box around a panel's text."""


def show(folder: Path | None, as_json: bool) -> None:
    """Measure the examples, print them, and write them to the folder."""
    shown: list[Measured] = []
    made = list(examples())
    for number, example in enumerate(made, 1):
        with working(f"{number} of {len(made)}: {example.title}", quiet=as_json):
            measured = measure(example)
        shown.append(measured)
        if folder is not None:
            _save(measured, folder)
        if not as_json:
            _panel(f"{number} of {len(made)}: {example.title}", "\n\n".join(_paragraphs(measured)))
    if as_json:
        echo_json([_data(measured) for measured in shown])
    else:
        _panel("What to try next", _next(folder))


def _paragraphs(measured: Measured) -> Iterator[str]:
    yield measured.example.story
    yield from map(show_control_flow, measured.summary.control_flow)
    yield show_values(measured.outputs)
    yield _verdict(measured)


def _verdict(measured: Measured) -> str:
    engines = ", ".join(engine_counts(measured.plan))
    times = (
        f"treadle {show_seconds(measured.treadle)}, onnxruntime alone"
        f" {show_seconds(measured.onnxruntime)}:"
        f" {show_factor(measured.treadle, measured.onnxruntime)}"
        f" (medians of {measured.calls} calls in turns)"
    )
    agrees = "the outputs are onnxruntime's"
    if measured.differences:
        agrees = f"NOT onnxruntime's outputs: {show_differences(measured.differences)}"
    return table([("run by", engines), ("agrees", agrees), ("time", times)])


def _panel(title: str, text: str) -> None:
    """Text below its title: a box on a terminal, plain lines elsewhere."""
    if not sys.stdout.isatty():
        click.echo(f"{title}\n{'=' * len(title)}\n{text}\n")
        return
    from rich.console import Console
    from rich.panel import Panel

    console = Console(no_color=not has_color(sys.stdout))
    shown = coloured(wrapped(text, console.width - _FRAME))
    console.print(Panel(shown, title=title, title_align="left", padding=(1, 2)))


def _next(folder: Path | None) -> str:
    if folder is None:
        return table(
            [
                ("treadle demo --save models", "write these three models and their inputs"),
                ("treadle inspect MODEL", "describe a model of yours"),
                ("treadle check MODEL", "report its faults"),
                ("treadle run MODEL --random", "run it on random data"),
                ("treadle explain MODEL", "show which engine runs which part, and why"),
            ]
        )
    decoder, lstm = folder / "decoder.onnx", folder / "lstm.onnx"
    return table(
        [
            (f"treadle run {decoder} --input {decoder.with_suffix('.npz')}", "run it"),
            (f"treadle run {decoder} -i limit=5 -i first_token=3 --trace '*token_next'", "look in"),
            (f"treadle explain {lstm}", "show which engine runs which part, and why"),
            (f"treadle inspect {lstm} --code", "print the program, bodies nested"),
            (f"treadle infer {lstm}", "infer a type for every value"),
        ]
    )


def _save(measured: Measured, folder: Path) -> None:
    """Write the model, its inputs by name, ready to be fed, and its outputs."""
    folder.mkdir(parents=True, exist_ok=True)
    name = measured.example.name
    treadle.save(measured.example.model, folder / f"{name}.onnx")
    write_archive(folder / f"{name}.npz", measured.example.feeds)
    write_archive(folder / f"{name}_outputs.npz", measured.outputs)


def _data(measured: Measured) -> dict[str, object]:
    loops = [c for c in measured.summary.control_flow if isinstance(c, LoopSummary)]
    return {
        "name": measured.example.name,
        "title": measured.example.title,
        "loops": as_data(loops),
        "plan": plan_data(measured.plan),
        "outputs": as_data(measured.outputs),
        "agrees": not measured.differences,
        "differences": as_data(measured.differences),
        "calls": measured.calls,
        "seconds": {"treadle": measured.treadle, "onnxruntime": measured.onnxruntime},
    }
