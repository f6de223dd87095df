"""Compares every model of a folder as a C library with treadle, bit by bit.

    python -m tools.build_models FOLDER

A model is `x.onnx` with `x.npz` beside it, whose arrays are `in:NAME`, or an edge case as of
tests/conformance/data/control_flow, `x.json`.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import treadle
from tests.build.counting import Counting
from tests.conformance.data import Edge, case_of
from tools.build_stress import stressed
from treadle.build.kernels import leaving
from treadle.build.shapes import told_types, types_of_data
from treadle.jit import FreeKernel
from treadle.plan import whole_region
from treadle.report import compare, show_differences

_OPTIONS = {"intra_op_num_threads": 1}


def cases(folder: Path) -> Iterator[tuple[str, Any, dict[str, np.ndarray]]]:
    """The models with their inputs; the demo's too."""
    for path in sorted(folder.rglob("*.onnx")):
        if path.with_suffix(".npz").exists():
            with np.load(path.with_suffix(".npz")) as arrays:
                feeds = {k[3:]: arrays[k] for k in arrays.files if k.startswith("in:")}
            yield path.stem, path, feeds
    for path in sorted(folder.rglob("*.json")):
        if path.parent.name != "control_flow":
            continue
        edge = case_of(path)
        if isinstance(edge.expect, tuple):
            yield path.stem, edge.source, _feeds(edge)
    from treadle.cli.demo.examples import examples

    for example in examples():
        yield f"demo_{example.name}", example.model, dict(example.feeds)


def _feeds(edge: Edge) -> dict[str, Any]:
    """The inputs of a case by name; none where the model cannot be loaded."""
    try:
        names = [value.name for value in treadle.load(edge.source).main.params]
    except treadle.TreadleError:
        return {}
    pairs = zip(names, edge.inputs, strict=False)
    return {name: value for name, value in pairs if value is not None}


def session_of(model: Any, **chosen: Any) -> treadle.InferenceSession:
    """Treadle on one thread."""
    options = treadle.SessionOptions()
    options.intra_op_num_threads = 1
    return treadle.InferenceSession(model, options, **chosen)


def check(name: str, model: Any, feeds: Mapping[str, np.ndarray], folder: Path) -> str:
    """Test one model; returns the outcome in a few words."""
    try:
        session = session_of(model)
        expected = session.run(None, dict(feeds))
    except treadle.Unsupported as reason:
        return f"not run by treadle: {reason}"
    try:
        built = treadle.build(model, folder, name=name, cpu="native", data=feeds)
    except treadle.Unsupported as refusal:
        return f"refused: {'; '.join(map(str.strip, str(refusal).splitlines()[1:-1]))}"
    archive = next(path for path in built.files if path.suffix == ".a")
    loaded = Counting(archive, name)
    arrays = [feeds[value.name] for value in session.get_inputs()]
    for _ in range(2):
        status, found = loaded.call(arrays, len(expected))
    if status:
        return f"FAILED: {loaded.reason(status)}"
    names = [str(k) for k in range(len(expected))]
    differences = compare(
        dict(zip(names, found, strict=True)), dict(zip(names, expected, strict=True))
    )
    if differences:
        return f"DIFFERS: {show_differences(differences)}"
    bounded = loaded.call(arrays, len(expected), iterations=2**40, bytes_=2**40)
    if bounded[0] or compare(
        dict(zip(names, bounded[1], strict=True)), dict(zip(names, expected, strict=True))
    ):
        return f"BOUNDED DIFFERS: {bounded[0]}"
    if wrong := stressed(loaded, session, kernels_of(model, feeds), arrays):
        return f"WRONG: {'; '.join(wrong[:4])}"
    if _same_bits(found, expected):
        return "same bits"
    native = session_of(model, engines=("jit", "interp")).run(None, dict(feeds))
    return "same bits as native code alone" if _same_bits(found, native) else "within tolerance"


def _same_bits(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    pairs = zip(found, expected, strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def kernels_of(model: Any, feeds: Mapping[str, np.ndarray]) -> Sequence[FreeKernel]:
    """The kernels that `build` makes of a model."""
    region = whole_region(treadle.InferenceSession(model).plan.model)
    types = types_of_data(region.inputs, told_types(region.inputs, {}), feeds, {})
    return leaving(region, [types]).kernels


def main() -> int:
    """Print a line for each model and how many there are of each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as room:
        for name, model, feeds in cases(asked.folder):
            if asked.only in name:
                start = time.perf_counter()
                try:
                    word = check(name, model, feeds, Path(room) / name)
                except treadle.TreadleError as error:
                    word = f"ERROR: {error}"
                print(f"{name:42} {time.perf_counter() - start:5.1f} s  {word}", flush=True)
                counts[word.partition(":")[0]] += 1
    print(dict(counts))
    return sum(counts[word] for word in counts if word.isupper())


if __name__ == "__main__":
    sys.exit(main())
