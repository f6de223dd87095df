"""python -m benchmarks.recorded_models: treadle's default engines beside onnxruntime alone.

Both run on one thread, calls interleaved, medians of one process. A model is slow when treadle
takes more than 1.2 times onnxruntime's time plus 20 microseconds. Models that onnxruntime refuses
or gets wrong are set aside. Exit status 1: something is slow, refused or wrong.

With --loads each model is also loaded from a file and called once, by both in turn: the least
processor time of a dozen, disk caches warm. --kind wheels downloads packages that ship models
(`benchmarks/wheels.py` names them); all other kinds need no network.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    # lets onnxruntime alone take newer opsets; it looks when it is imported
    os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"

from benchmarks.measure import Result, measure, with_loads
from benchmarks.subjects import KINDS, RECORDED, subjects


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and say whether all is well."""
    options = _parser().parse_args(arguments)
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for subject in subjects(options.kind or RECORDED):
            if options.match in subject.name:
                found = measure(subject, options.seconds)
                results.append(with_loads(found, subject) if options.loads else found)
                if sys.stderr.isatty():
                    sys.stderr.write(f"\r{len(results)} {subject.name[:60]:60}")
    print_table(results, options.rows)
    if options.json:
        rows = [
            {**asdict(r), "ratio": r.ratio, "slow": r.slow, "load_ratio": r.load_ratio}
            for r in results
        ]
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return int(any(r.slow or r.aside.startswith("treadle") for r in results))


def print_table(results: Sequence[Result], rows: int) -> None:
    """The models nearest to the limit or over it, and a summary."""
    compared = [r for r in results if not r.aside]
    nearest = sorted(compared, key=lambda r: r.treadle - r.limit, reverse=True)[:rows]
    lines = [f"\n{'model':56} {'onnxruntime':>12} {'treadle':>12} {'ratio':>6}  load + first call"]
    for r in nearest:
        mark = "  slow" if r.slow else ""
        microseconds = f"{r.onnxruntime * 1e6:9.1f} us {r.treadle * 1e6:9.1f} us"
        lines.append(f"{r.name:56} {microseconds} {r.ratio:6.2f}{_load(r)}{mark}")
    ours = [r for r in results if r.aside.startswith("treadle")]
    lines += [f"{r.name}: {r.aside}" for r in ours]
    slow = sum(r.slow for r in compared)
    faster = sum(r.treadle < r.onnxruntime for r in compared)
    lines.append(
        f"{len(compared)} models compared, {slow} slow, {faster} faster than onnxruntime alone;"
        f" {len(results) - len(compared) - len(ours)} that onnxruntime refuses or gets wrong"
    )
    loads = sorted((r.load_ratio, r.name) for r in compared if r.load_ratio)
    if loads:
        middle = median(ratio for ratio, _ in loads)
        lines.append(
            f"load and first call: {middle:.2f} times onnxruntime's in the median,"
            f" {loads[-1][0]:.2f} at most ({loads[-1][1]})"
        )
    sys.stdout.write("\n".join(lines) + "\n")


def _load(result: Result) -> str:
    if not result.load_ratio:
        return ""
    theirs, ours = (seconds * 1e3 for seconds in result.loads)
    return f"  {theirs:7.2f} ms {ours:7.2f} ms {result.load_ratio:5.2f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.recorded_models", description=__doc__
    )
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="which models; the recorded if none"
    )
    parser.add_argument("--loads", action="store_true", help="measure loading, too")
    parser.add_argument("--match", default="", help="only models whose name has this in it")
    parser.add_argument("--seconds", type=float, default=0.1, help="how long to measure a model")
    parser.add_argument("--rows", type=int, default=25, help="how many models to print")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
