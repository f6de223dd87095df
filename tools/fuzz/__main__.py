"""Fuzzes treadle, guided by coverage; `pip install '.[fuzz]'` first.

    python -m tools.fuzz --seconds 60               a minute, divided among all targets
    python -m tools.fuzz run ir --seconds 3600      an hour for two of them
    python -m tools.fuzz --again model CASE         one case again

Targets: model (files as bytes), text, ir (OpenVINO), npz, run (small models), programs (random
ones, on two engines). Each runs in a child process with bounds on memory and on the time of a
case; a case that goes wrong is kept in --keep (build/fuzz), told of, and the next child goes on.
The corpus is tools/fuzz/corpus beside what the tests have; `--grow` adds what reached new code.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[2]
_CORPUS = Path(__file__).parent / "corpus"
_TARGETS = ("model", "text", "ir", "npz", "run", "programs")
_BOUNDS = ("-timeout=30", "-rss_limit_mb=5000", "-max_len=40000", "-verbosity=1")
_START = 300.0
_LEAST = 5.0
_PROGRESS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+)", re.MULTILINE)
_LARGEST_KEPT, _MOST_KEPT = 2000, 40


class Fuzzed(NamedTuple):
    """The outcome of one target."""

    cases: int
    edges: int
    wrong: list[str]


def fuzz(target: str, seconds: float, keep: Path, *, grow: bool) -> Fuzzed:
    """Fuzz a target for so long; every case that goes wrong ends a child, and another goes on."""
    cases = edges = 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as work:
        corpus = _seeded(target, Path(work))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > _LEAST:
            before = set(keep.glob(f"{target}-*"))
            log = _child(target, left, corpus, keep)
            found = [(int(number), int(edge)) for number, edge in _PROGRESS.findall(log)]
            cases += max((number for number, _ in found), default=0)
            edges = max([edges, *(edge for _, edge in found)])
            new = sorted(set(keep.glob(f"{target}-*")) - before)
            if not new and not found:
                wrong.append(f"the child did not begin:\n{log[-3000:]}")
                break
            wrong += [f"{path}\n{_reason(log)}" for path in new]
        if grow:
            _grow(target, corpus)
    return Fuzzed(cases, edges, wrong)


def _seeded(target: str, work: Path) -> Path:
    corpus = work / "corpus"
    if (_CORPUS / target).is_dir():
        shutil.copytree(_CORPUS / target, corpus)
    corpus.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tools.fuzz.child", "--seeds", target, str(corpus)]
    subprocess.run(command, cwd=_ROOT, env=_environment(), check=True)
    return corpus


def _child(target: str, seconds: float, corpus: Path, keep: Path) -> str:
    """One child until its time is up or a case goes wrong; what it wrote."""
    command = [sys.executable, "-m", "tools.fuzz.child", target, *_BOUNDS]
    command += [f"-max_total_time={max(int(seconds), 1)}", f"-artifact_prefix={keep}/{target}-"]
    try:
        done = subprocess.run(
            [*command, str(corpus)],
            cwd=_ROOT,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds + _START,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace")
    return done.stdout.decode(errors="replace")


def _environment() -> dict[str, str]:
    paths = [str(_ROOT / "src"), str(_ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TREADLE_CACHE_DIR": ""}


def _reason(log: str) -> str:
    """The end of the traceback, or what libFuzzer says."""
    start = max(log.rfind("=== Uncaught Python exception"), log.rfind("ERROR: libFuzzer"), 0)
    lines = [line for line in log[start:].splitlines() if line.strip()]
    end = next((k for k, line in enumerate(lines) if line.startswith("==") and k), len(lines))
    return "\n".join(lines[max(end - 12, 0) : end])


def _grow(target: str, corpus: Path) -> None:
    """Keep the smallest cases that reached new code."""
    folder = _CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(corpus.iterdir(), key=lambda path: path.stat().st_size)
    small = [path for path in found if path.stat().st_size <= _LARGEST_KEPT]
    room = _MOST_KEPT - len(list(folder.iterdir()))
    new = [path for path in small if not path.name.startswith("seed-")]
    for path in new[-room:] if room > 0 else []:
        shutil.copy(path, folder / path.name)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(_TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--keep", type=Path, default=_ROOT / "build" / "fuzz")
    parser.add_argument("--grow", action="store_true", help="add to the corpus of the repository")
    parser.add_argument("--again", nargs=2, metavar=("TARGET", "CASE"))
    asked = parser.parse_args()
    if asked.again:
        command = [sys.executable, "-m", "tools.fuzz.child", *asked.again]
        return subprocess.run(command, cwd=_ROOT, env=_environment(), check=False).returncode
    unknown = set(asked.targets) - set(_TARGETS)
    if unknown:
        parser.error(f"no target is called {unknown.pop()}; there are {', '.join(_TARGETS)}")
    targets = asked.targets or _TARGETS
    asked.keep.mkdir(parents=True, exist_ok=True)
    at_once = min(len(targets), os.cpu_count() or 1)
    seconds = asked.seconds * at_once / len(targets)
    each = partial(fuzz, seconds=seconds, keep=asked.keep.resolve(), grow=asked.grow)
    wrong = 0
    with ThreadPoolExecutor(at_once) as pool:
        for target, made in zip(targets, pool.map(each, targets), strict=True):
            print(f"{target}: {made.cases} cases, {made.edges} edges, {len(made.wrong)} wrong")
            print(*(f"  {found}" for found in made.wrong), sep="\n", flush=True)
            wrong += len(made.wrong)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
