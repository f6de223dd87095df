"""python -m benchmarks: loops of many kinds on treadle, onnxruntime, C and JAX.

Answers are checked against numpy, calls of all columns interleaved in one process, and medians
printed: microseconds an iteration, how many times as long as treadle the others take, how long
treadle compiled and how large its code is. onnxruntime is the better of one thread and all. C needs
gcc, JAX its package. Exit status 1: an answer is wrong, or with --targets one is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks import chart, native, show
from benchmarks.columns import treadle_call
from benchmarks.models import BENCHMARKS
from benchmarks.models.scalar import xorshift
from benchmarks.registry import Benchmark
from benchmarks.targets import targets
from benchmarks.timing import CLOCKS, Row, measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure or read, print, save, and say whether all is well."""
    parser = _parser()
    options = parser.parse_args(arguments)
    for word in options.names:
        if not chosen([word]):
            parser.error(f"no model has {word}; there are {', '.join(BENCHMARKS)}")
    if options.read:
        about, rows = read(options.read)
        kept = {made.name for made in chosen(options.names)}
        kept &= set(show.HEADLINES) if options.headlines else kept
        rows = [row for row in rows if row.name in kept]
    else:
        about = {**show.machine(), "times": f"of the {options.clock}"}
        rows = _measured(options)
    if options.svg:
        options.svg.write_text(chart.svg(rows, about), encoding="utf-8")
    if options.json:
        saved = {"machine": about, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    if options.markdown:
        written = show.headlines if options.headlines else show.markdown
        sys.stdout.write(written(rows, about))
    else:
        _print(rows, about, whole=bool(options.read))
    missed = _print_targets(rows) if options.targets else 0
    return int(missed > 0 or any(row.wrong for row in rows))


def _print(rows: Sequence[Row], about: dict[str, str], *, whole: bool) -> None:
    """The table, if it was not printed as it was made, means, bars and the machine."""
    if whole:
        _write([show.HEADER, *map(show.line, rows)])
    _write(["", *show.summary(rows), "", "times faster than onnxruntime:", *show.bars(rows), ""])
    _write([", ".join(f"{key} {value}" for key, value in about.items())])


def chosen(words: Sequence[str]) -> list[Benchmark]:
    """The models whose name, title or kind has one of the words in it; all if there are none."""
    return [
        made
        for made in BENCHMARKS.values()
        if not words
        or any(word.lower() in f"{made.name} {made.title} {made.kind}".lower() for word in words)
    ]


def _measured(options: argparse.Namespace) -> list[Row]:
    if options.clock == "processor":
        _keep_to_one_processor()
    native.keep_memory()
    _import_compiler()
    _write([show.HEADER])
    rows = []
    for benchmark in chosen(options.names):
        rows.append(measure(benchmark, options.seconds, CLOCKS[options.clock]))
        _write([show.line(rows[-1])])
    return rows


def _keep_to_one_processor() -> None:
    """Make every thread made from now on run on one processor, where the system can.

    A process's clock counts a thread on another processor late: a call of XLA, whose loops run on
    its own thread, appeared to take a fifth of its time.
    """
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _import_compiler() -> None:
    """What the first compilation of a process imports is no part of a model's compile time."""
    treadle_call(xorshift(1))()


def read(path: Path) -> tuple[dict[str, str], list[Row]]:
    """The machine and the rows of a file that `--json` wrote."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    return saved["machine"], [Row(**row) for row in saved["rows"]]


def _print_targets(rows: Sequence[Row]) -> int:
    found = targets(rows)
    _write(["", *(f"{'reached' if good else 'MISSED '}  {text}" for text, good in found)])
    return sum(not good for _, good in found)


def _write(lines: Sequence[str]) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="models whose name, title or kind has such a word")
    parser.add_argument("--seconds", type=float, default=1.5, help="how long to measure a model")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what times are of")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    parser.add_argument(
        "--read", type=Path, help="show the figures of such a file, measure nothing"
    )
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    parser.add_argument(
        "--headlines", action="store_true", help="with --read: keep the rows of the README alone"
    )
    parser.add_argument("--svg", type=Path, help="draw the ratios as a picture into this file")
    parser.add_argument("--targets", action="store_true", help="say which aims are reached")
    return parser


if __name__ == "__main__":
    os.environ["TREADLE_CACHE_DIR"] = ""  # compile times are of compiling
    sys.exit(main())
