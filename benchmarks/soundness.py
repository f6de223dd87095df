"""python -m benchmarks.soundness: every value of every body of every run is of its inferred type.

Runs the edge cases, the exporters' models and onnx's backend suite on the interpreter with a
recorder, and compares what was recorded with what inference said before. `--match TEXT` for some.
Exit status 1: a value its type does not admit.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator

from tests.backend import suite
from tests.conformance.data import EXPORTED, edges, exported
from tests.infer.models import violations, watched
from treadle.errors import TreadleError
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
    """Run all, print what contradicts and the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="")
    match = parser.parse_args().match
    counts: Counter[str] = Counter()
    warnings.simplefilter("ignore")
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
    shown = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    sys.stdout.write(f"{shown or 'nothing ran'}\n")
    return int(counts["violations"] > 0)


if __name__ == "__main__":
    sys.exit(main())
