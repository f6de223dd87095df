"""Every model of a folder as operators of onnxruntime: the same outputs, and how long a run takes.

python -m tools.build_operators FOLDER [--write]
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import treadle
from tools.build_models import cases, session_of
from treadle.formats.onnx import to_bytes
from treadle.report import compare

_SECONDS = 0.15


def plain(path: str | bytes, library: str | None = None) -> onnxruntime.InferenceSession:
    """A session of onnxruntime on one thread."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if library:
        options.register_custom_ops_library(library)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def microseconds(run: Callable[[], Any]) -> float:
    """How long a call takes: the best of some batches, which other programs disturbed least."""
    run()
    start = time.perf_counter()
    run()
    count = max(1, round(_SECONDS / 5 / max(time.perf_counter() - start, 1e-7)))
    found = []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(count):
            run()
        found.append((time.perf_counter() - start) / count)
    return min(found) * 1e6


def _fails(source: str | bytes, feeds: Mapping[str, np.ndarray]) -> bool:
    """Whether plain onnxruntime fails on the model as it was."""
    try:
        plain(source).run(None, dict(feeds))
    except Exception:  # noqa: BLE001  onnxruntime raises its own kinds
        return True
    return False


def check(
    name: str, model: Any, feeds: Mapping[str, np.ndarray], folder: Path
) -> tuple[float, ...] | str:
    """The microseconds of plain onnxruntime, the operators and treadle; or why there are none."""
    source = str(model) if isinstance(model, Path) else to_bytes(model)
    try:
        built = treadle.build(model, folder, name=name, kind="ort", cpu="native", data=feeds)
    except treadle.Unsupported as refusal:
        return f"refused: {str(refusal).splitlines()[-1].strip()[:100]}"
    paths = {path.suffix: str(path) for path in built.files}
    session = plain(paths[".onnx"], paths[".so"])
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
    try:
        reference = plain(source)
        first = microseconds(lambda: reference.run(None, dict(feeds)))
    except Exception as error:  # noqa: BLE001  onnxruntime raises its own kinds
        first = math.nan
        print(f"  onnxruntime: {str(error)[:100]}")
    return (
        first,
        microseconds(lambda: session.run(None, dict(feeds))),
        microseconds(lambda: own.run(None, dict(feeds))),
    )


def main() -> int:
    """Print a line for each model and the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    ratios, failures = [], 0
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
            first, operators, own = found
            ratios.append(first / operators)
            print(
                f"{name:36} {first:10.1f} {operators:10.1f} {own:10.1f}  {first / operators:6.1f}x",
                flush=True,
            )
    known = [each for each in ratios if not math.isnan(each)]
    mean = math.exp(sum(map(math.log, known)) / max(len(known), 1))
    said = f"{mean:.1f} times plain onnxruntime, least {min(known, default=0):.2f}"
    print(f"{len(ratios)} models, {failures} failures; {said}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
