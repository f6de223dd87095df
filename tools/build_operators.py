"""Compares every model of a folder as operators of onnxruntime with treadle, and times runs.

    python -m tools.build_operators FOLDER [--write]

Times are those of the processor, one thread, the contenders in turn, the least of some rounds.
`--write` puts the table into docs/building.md, between its markers.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import treadle
from tools.build_models import cases, session_of
from treadle.formats.onnx import to_bytes
from treadle.report import compare

_SECONDS, _ROUNDS = 0.15, 12
_BEGIN, _END = "<!-- operators -->", "<!-- /operators -->"


def plain(path: str | bytes, library: str | None = None) -> onnxruntime.InferenceSession:
    """A session of onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if library:
        options.register_custom_ops_library(library)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def microseconds(*runs: Callable[[], Any]) -> list[float]:
    """The processor's time for a call of each, in turn: the least, which others disturbed least."""
    counts, least = [], [math.inf] * len(runs)
    for run in runs:
        run()
        start = time.thread_time()
        run()
        counts.append(max(1, round(_SECONDS / _ROUNDS / max(time.thread_time() - start, 1e-6))))
    for _ in range(_ROUNDS):
        for number, (run, count) in enumerate(zip(runs, counts, strict=True)):
            start = time.thread_time()
            for _ in range(count):
                run()
            least[number] = min(least[number], (time.thread_time() - start) / count)
    return [each * 1e6 for each in least]


def _fails(source: str | bytes, feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether plain onnxruntime fails on the model as it was."""
    try:
        plain(source).run(None, dict(feeds))
    except Exception:  # noqa: BLE001  onnxruntime raises its own kinds
        return True
    return False


def check(
    name: str, model: Any, feeds: Mapping[str, np.ndarray], folder: Path
) -> tuple[float, float, float] | str:
    """The microseconds of plain onnxruntime, the operators and treadle; or why there are none."""
    source = str(model) if isinstance(model, Path) else to_bytes(treadle.load(model))
    try:
        built = treadle.build(model, folder, name=name, kind="ort", cpu="native", data=feeds)
    except treadle.Unsupported as refusal:
        return f"refused: {str(refusal).splitlines()[-1].strip()[:100]}"
    paths = {path.suffix: str(path) for path in built.files}
    try:
        session = plain(paths[".onnx"], paths[".so"])
    except Exception:
        if _fails(source, feeds):
            return "left out: onnxruntime fails"
        raise
    own = session_of(model)
    outputs = [each.name for each in own.get_outputs()]
    wanted = dict(zip(outputs, own.run(None, dict(feeds)), strict=True))
    results: list[list[Any]] = []
    threads = [
        threading.Thread(target=lambda: results.append(session.run(None, dict(feeds))))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(results) < 4:
        return "left out: onnxruntime fails" if _fails(source, feeds) else "FAILED"
    for found in results:
        if differences := compare(dict(zip(outputs, found, strict=True)), wanted):
            return f"DIFFERS: {differences[0]}"
    if _fails(source, feeds):
        return "right, where onnxruntime alone fails"
    reference = plain(source)
    sessions = (reference, session, own)
    first, operators, own_time = microseconds(
        *(partial(each.run, None, dict(feeds)) for each in sessions)
    )
    return first, operators, own_time


def page(rows: list[tuple[str, float, float, float]]) -> str:
    """The table in Markdown."""
    lines = [
        "| model | onnxruntime, µs | with operators, µs | treadle, µs | times faster |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {name} | {first:.1f} | {operators:.1f} | {own:.1f} | {first / operators:.1f} |"
        for name, first, operators, own in rows
    ]
    return "\n".join([*lines, "", summary(rows)])


def summary(rows: list[tuple[str, float, float, float]]) -> str:
    """The geometric mean and the least."""
    ratios = [first / operators for _, first, operators, _ in rows]
    mean = math.exp(sum(map(math.log, ratios)) / max(len(ratios), 1))
    return (
        f"Of {len(rows)} models the geometric mean is {mean:.1f} times plain onnxruntime, the least"
        f" {min(ratios, default=0):.2f}."
    )


def main() -> int:
    """Print a line for each model and the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows, failures = [], 0
    with tempfile.TemporaryDirectory() as room:
        for name, model, feeds in cases(asked.folder):
            if asked.only not in name:
                continue
            try:
                found = check(name, model, feeds, Path(room) / name)
            except Exception as error:  # noqa: BLE001  what comes is told, and counted
                found = f"ERROR: {type(error).__name__} {str(error)[:200]}"
            if isinstance(found, str):
                failures += found.split(":")[0].isupper()
                print(f"{name:36} {found}", flush=True)
                continue
            rows.append((name, *found))
            first, operators, own = found
            print(
                f"{name:36} {first:10.1f} {operators:10.1f} {own:10.1f}  {first / operators:6.1f}x",
                flush=True,
            )
    print(f"{failures} failures. {summary(rows)}")
    if asked.write:
        path = Path(__file__).parent.parent / "docs/building.md"
        head, _, rest = path.read_text().partition(_BEGIN)
        path.write_text(f"{head}{_BEGIN}\n{page(rows)}\n{_END}{rest.partition(_END)[2]}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
