"""Every model of a folder as a C library, beside treadle: the same outputs, bits and all.

    python -m tools.build_models FOLDER [--target host|aarch64|wasm32]

A model is `x.onnx` with `x.npz` beside it, whose arrays are `in:NAME`.
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import treadle
from tests.build.host import Loaded, Memory, shared_library
from treadle.report import compare, show_differences

_OPTIONS = {"intra_op_num_threads": 1}


def cases(folder: Path) -> Iterator[tuple[str, Any, dict[str, np.ndarray]]]:
    """The models with their inputs; the demo's too."""
    for path in sorted(folder.rglob("*.onnx")):
        if path.with_suffix(".npz").exists():
            with np.load(path.with_suffix(".npz")) as arrays:
                feeds = {k[3:]: arrays[k] for k in arrays.files if k.startswith("in:")}
            yield path.stem, path, feeds
    from treadle.cli.demo.examples import examples

    for example in examples():
        yield f"demo_{example.name}", example.model, dict(example.feeds)


def session_of(model: Any) -> treadle.InferenceSession:
    """Treadle on one thread."""
    options = treadle.SessionOptions()
    options.intra_op_num_threads = 1
    return treadle.InferenceSession(model, options)


def check(name: str, model: Any, feeds: Mapping[str, np.ndarray], folder: Path) -> str:
    """One model; what came of it in a few words."""
    session = session_of(model)
    expected = session.run(None, dict(feeds))
    try:
        built = treadle.build(model, folder, name=name, cpu="native", data=feeds)
    except treadle.Unsupported as refusal:
        return f"refused: {str(refusal).splitlines()[-1].strip()}"
    archive = next(path for path in built.files if path.suffix == ".a")
    loaded = Loaded(shared_library(archive), name)
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
    _check_errors(loaded, arrays, len(expected))
    same = all(a.tobytes() == np.asarray(b).tobytes() for a, b in zip(found, expected, strict=True))
    return "same bits" if same else "within tolerance"


def _check_errors(loaded: Loaded, arrays: list[np.ndarray], count: int) -> None:
    """A memory that fails, wrong shapes and element types: the status, and nothing held."""
    for fails in range(3):
        memory = Memory(fails)
        status, _ = loaded.call(arrays, count, memory=memory)
        assert status == (2 if memory.asked > fails else 0), (status, memory.asked)
    for k, array in enumerate(arrays):
        wrong = [*arrays]
        wrong[k] = np.zeros((*array.shape, 1), array.dtype)
        assert loaded.call(wrong, count)[0] == 5, "a rank more"
        wrong[k] = array.astype(np.int8 if array.dtype != np.int8 else np.int16)
        assert loaded.call(wrong, count)[0] == 5, "another element type"


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
