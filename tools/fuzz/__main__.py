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
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_CORPUS = Path(__file__).parent / "corpus"
_NAMES = ("model", "text", "ir", "npz", "run", "programs")
_LATE = 60.0
_LEAST = 5.0
_POLL = 0.1
_PROGRESS = re.compile(r"^#(\d+)\s+\w+\s+cov: (\d+)", re.MULTILINE)
_CASES = re.compile(r"^stat::number_of_executed_units:\s*(\d+)", re.MULTILINE)
_LARGEST_KEPT, _MOST_KEPT = 2000, 40


@dataclass(slots=True)
class Fuzzed:
    """A target, its time, and the outcome so far."""

    target: str
    folder: Path
    end: float = 0.0
    cases: int = 0
    edges: int = 0
    wrong: list[str] = field(default_factory=list)
    kept: set[Path] = field(default_factory=set)

    @property
    def corpus(self) -> Path:
        """The folder of its cases."""
        return self.folder / "corpus"

    @property
    def log(self) -> Path:
        """What its child writes."""
        return self.folder / "log"


def fuzz(targets: Sequence[str], seconds: float, keep: Path, *, at_once: int) -> Iterator[Fuzzed]:
    """Fuzz each target for so long, and give it when its time is up.

    A case that goes wrong ends the child; another goes on.
    """
    with tempfile.TemporaryDirectory() as work:
        waiting = [_prepared(target, Path(work)) for target in targets]
        running: dict[int, Fuzzed] = {}
        while waiting or running:
            while waiting and len(running) < at_once:
                first = waiting.pop(0)
                first.end = time.monotonic() + seconds
                running[_begin(first, keep)] = first
            ended = running.pop(_ended(running))
            is_begun = _harvest(ended, keep)
            if is_begun and ended.end - time.monotonic() > _LEAST:
                running[_begin(ended, keep)] = ended
            else:
                yield ended


def _prepared(target: str, work: Path) -> Fuzzed:
    made = Fuzzed(target, work / target)
    made.folder.mkdir()
    if (_CORPUS / target).is_dir():
        shutil.copytree(_CORPUS / target, made.corpus)
    made.corpus.mkdir(exist_ok=True)
    return made


def _begin(turn: Fuzzed, keep: Path) -> int:
    from tools.fuzz.child import begin

    turn.kept = set(keep.glob(f"{turn.target}-*"))
    left = max(int(turn.end - time.monotonic()), 1)
    bounds = (f"-max_total_time={left}", f"-artifact_prefix={keep}/{turn.target}-")
    return begin(turn.target, bounds, turn.folder)


def _ended(running: dict[int, Fuzzed]) -> int:
    """The first child that ends; one that is far too late is killed."""
    while True:
        for pid, turn in running.items():
            if os.waitpid(pid, os.WNOHANG)[0]:
                return pid
            if time.monotonic() > turn.end + _LATE:
                os.kill(pid, signal.SIGKILL)
        time.sleep(_POLL)


def _harvest(turn: Fuzzed, keep: Path) -> bool:
    """Add what an ended child did; whether it did begin."""
    log = turn.log.read_text(encoding="utf-8", errors="replace")
    found = [(int(number), int(edge)) for number, edge in _PROGRESS.findall(log)]
    counts = [*map(int, _CASES.findall(log)), *(number for number, _ in found)]
    turn.cases += max(counts, default=0)
    turn.edges = max([turn.edges, *(edge for _, edge in found)])
    new = sorted(set(keep.glob(f"{turn.target}-*")) - turn.kept)
    turn.wrong += [f"{path}\n{_reason(log)}" for path in new]
    if not new and not found:
        turn.wrong.append(f"the child did not begin:\n{log[-3000:]}")
    return bool(new or found)


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
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(_NAMES))
    parser.add_argument("--seconds", type=float, default=60.0, help="for all targets together")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=_ROOT / "build" / "fuzz")
    parser.add_argument("--grow", action="store_true", help="add to the corpus of the repository")
    parser.add_argument("--again", nargs=2, metavar=("TARGET", "CASE"))
    asked = parser.parse_args()
    unknown = {*asked.targets, *(asked.again or ())[:1]} - set(_NAMES)
    if unknown:
        parser.error(f"no target is called {unknown.pop()}; there are {', '.join(_NAMES)}")
    sys.path.insert(0, str(_ROOT / "src"))  # what is installed may be another version
    os.environ |= {"TREADLE_DEBUG": "1", "TREADLE_CACHE_DIR": ""}
    if asked.again:
        from tools.fuzz.targets import TARGETS

        TARGETS[asked.again[0]].attempt(Path(asked.again[1]).read_bytes())
        return 0
    from tools.fuzz.child import instrument

    instrument()
    targets = asked.targets or _NAMES
    asked.keep.mkdir(parents=True, exist_ok=True)
    at_once = min(len(targets), asked.processes)
    wrong = 0
    seconds = asked.seconds * at_once / len(targets)
    for made in fuzz(targets, seconds, asked.keep.resolve(), at_once=at_once):
        print(f"{made.target}: {made.cases} cases, {made.edges} edges, {len(made.wrong)} wrong")
        print(*(f"  {found}" for found in made.wrong), sep="\n", flush=True)
        wrong += len(made.wrong)
        if asked.grow:
            _grow(made.target, made.corpus)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
