"""Tests that every value of every run has its inferred type: python -m benchmarks.soundness.

Runs the edge cases, the exporters' models and onnx's backend suite on the interpreter with a
recorder, and compares what was recorded with what inference said before; then asks onnx's own
inference of the same models and prints where ours says less. `--match TEXT` for some.
Exit status 1: a value its type does not admit.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator

import onnx

import treadle
from tests.backend import suite
from tests.conformance.data import EXPORTED, edges, exported
from tests.infer.models import violations, watched
from tests.infer.standard import by_onnx, by_treadle, lacking, strip
from treadle import formats
from treadle.errors import TreadleError
from treadle.formats.onnx.write import write_model
from treadle.tracing import ValueMade


def runs() -> Iterator[tuple[str, object, object]]:
    """Name, model and feeds of every run."""
    for name, edge in edges().items():
        yield f"edge {name}", edge.source, edge.inputs
    for name in EXPORTED:
        path, inputs, _ = exported(name)
        yield f"exporter {name}", path, inputs
    samples = dict(suite.node_samples())
    folders = {name: suite.folder_sample(folder) for name, folder in suite.folders().items()}
    for name, sample in {**samples, **folders}.items():
        for feed in sample.feeds:
            yield f"suite {name}", sample.model, feed.inputs


def main() -> int:
    """Both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="")
    match = parser.parse_args().match
    warnings.simplefilter("ignore")
    violated = check_runs(match)
    compare_with_onnx(match)
    return int(violated > 0)


def check_runs(match: str) -> int:
    """Run all, print what contradicts and the counts; how much contradicts."""
    counts: Counter[str] = Counter()
    for name, model, feeds in runs():
        if match not in name:
            continue
        try:
            typed, events = watched(model, feeds)
        except (TreadleError, AssertionError) as error:
            counts["runs refused"] += 1
            sys.stdout.write(f"{name} refused: {' '.join(str(error).split())[:120]}\n")
            continue
        counts["runs"] += 1
        counts["values"] += sum(isinstance(event, ValueMade) for event in events)
        found = violations(typed, events)
        counts["violations"] += len(found)
        sys.stdout.writelines(f"{name}: {line}\n" for line in found)
    _print(counts)
    return counts["violations"]


def compare_with_onnx(match: str) -> None:
    """Where onnx.shape_inference, strict and with data propagation, says more than ours."""
    counts: Counter[str] = Counter()
    for name, source, _ in runs():
        model, _ = formats.read(source)
        if match not in name or model is None:
            continue
        stripped = strip(write_model(model), bodies=False)
        try:
            theirs = by_onnx(stripped)
        except onnx.shape_inference.InferenceError:
            counts["models onnx fails"] += 1
            continue
        lacks = lacking(theirs, by_treadle(treadle.load(stripped)))
        counts["types of onnx"] += len(theirs)
        counts["types where ours says less"] += len(lacks)
        sys.stdout.writelines(f"{name}: {line}\n" for line in lacks)
    _print(counts)


def _print(counts: Counter[str]) -> None:
    shown = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    sys.stdout.write(f"{shown or 'nothing ran'}\n")


if __name__ == "__main__":
    sys.exit(main())
