"""Runs random IR programs in four ways, and compares the outputs.

    python -m tools.openvino.fourways --count 1000 --seed 0 [--keep FOLDER]

Each is run by interp, by the default engines, and without the native one; by onnxruntime, of the
ONNX that treadle writes; by OpenVINO, of the IR itself and of the IR that treadle writes of that
ONNX. Where OpenVINO is not installed its two ways are left out. `--keep` keeps the files of what
differs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime

import treadle
from tools.openvino.generate import Feeds, program
from tools.openvino.oracle import Answer, Oracle, why_not
from treadle.errors import TreadleError

ENGINES = {"interp": ["interp"], "default": None, "delegate": ["onnxruntime", "interp"]}
TOLERANCE = (1e-4, 1e-5)
FAILS = (
    "OpenVINO crashed",
    "Check 'm_pMemDesc->isDefined()' failed",
)
"""How OpenVINO 2026.4.1 fails on about one of a hundred programs.

It crashes, not every time, on some whose loops are nested three deep; the check is the deviation
loop_of_constants. Its answer is left out then; whatever else it says is a difference.
"""


def complaints(seed: str, folder: Path, oracle: Oracle | None) -> list[str]:
    """What is not the same of one program; [] where all ways agree."""
    path, feeds = program(seed, folder)
    answers = dict(_ways(path, feeds, folder, oracle))
    wanted = answers["interp"]
    found = [f"interp: {answer}" for answer in wanted if isinstance(answer, str)]
    if found:
        return found
    for way, given in answers.items():
        for number, (have, want) in enumerate(zip(given, wanted, strict=True)):
            if way.startswith("OpenVINO") and _fails(have):
                continue
            assert isinstance(want, dict), "looked at above"
            found += [f"{way}, run {number}: {each}" for each in _differences(have, want)]
    return found


def _ways(
    path: Path, feeds: Feeds, folder: Path, oracle: Oracle | None
) -> Iterator[tuple[str, list[Answer]]]:
    for way, engines in ENGINES.items():
        yield way, [_treadle(path, engines, feed) for feed in feeds]
    try:
        treadle.save(treadle.load(path), folder / "m.onnx")
    except TreadleError as error:
        yield "to ONNX", [str(error)] * len(feeds)
        return
    yield "onnxruntime", _onnxruntime(folder / "m.onnx", feeds)
    if oracle is None:
        return
    yield "OpenVINO", oracle.ask(path, feeds, patience=20)
    try:
        treadle.save(treadle.load(folder / "m.onnx"), folder / "again.xml")
    except TreadleError as error:
        yield "to IR again", [str(error)] * len(feeds)
        return
    yield "OpenVINO, again", oracle.ask(folder / "again.xml", feeds, patience=20)


def _treadle(path: Path, engines: list[str] | None, feed: dict[str, np.ndarray]) -> Answer:
    try:
        session = treadle.InferenceSession(path, engines=engines)
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, feed), strict=True))
    except TreadleError as error:
        return str(error)


def _onnxruntime(path: Path, feeds: Feeds) -> list[Answer]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # as it is: inlining an If whose condition is constant, 1.31 loses what its branch captures
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(path, options)
    except Exception as error:  # noqa: BLE001 - its refusal is its answer
        return [str(error)] * len(feeds)
    names = [output.name for output in session.get_outputs()]
    read = {each.name for each in session.get_inputs()}
    made: list[Answer] = []
    for feed in feeds:
        given = {name: array for name, array in feed.items() if name in read}
        try:
            made.append(dict(zip(names, session.run(None, given), strict=True)))
        except Exception as error:  # noqa: BLE001 - its failure is its answer
            made.append(str(error))
    return made


def _fails(answer: Answer) -> bool:
    return isinstance(answer, str) and any(words in answer for words in FAILS)


def _differences(have: Answer, want: dict[str, np.ndarray]) -> Iterator[str]:
    if isinstance(have, str):
        yield have
        return
    for name, array in want.items():
        got = have.get(name)
        if got is None:
            yield f"{name} is missing"
        elif (got.shape, got.dtype) != (array.shape, array.dtype):
            yield f"{name} is {got.dtype}{got.shape}, interp has {array.dtype}{array.shape}"
        elif not _same(got, array):
            yield f"{name} is {got.tolist()}, interp has {array.tolist()}"


def _same(one: np.ndarray, two: np.ndarray) -> bool:
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, two))
    return bool(np.allclose(one, two, *TOLERANCE, equal_nan=True))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    print(why_not() or "OpenVINO is asked")
    oracle = None if why_not() else Oracle()
    differing, ways = 0, Counter[str]()
    for number in range(asked.first, asked.first + asked.count):
        seed = f"{asked.seed}-{number}"
        with tempfile.TemporaryDirectory() as folder:
            found = complaints(seed, Path(folder), oracle)
            if found and asked.keep:
                shutil.copytree(folder, asked.keep / seed, dirs_exist_ok=True)
        differing += bool(found)
        ways.update({each.partition(",")[0].partition(":")[0] for each in found})
        for each in found[:3]:
            print(f"{seed}: {each[:600]}", flush=True)
    if oracle is not None:
        oracle.close()
    print(f"{asked.count} programs, {differing} differ: {dict(ways)}")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
