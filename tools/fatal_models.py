"""Tries models in child processes, and finds those that end or hang them.

    Trial(module, models, attempt)       what a tool tries, and how

A child prints the name of each model before it tries it. A child that dies, or is silent for a
minute, is reported; the next starts after that model.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import resource
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

__all__ = ["Trial", "end_with_parent", "note", "run"]

_PARENT_DEATH_SIGNAL = 1
_SILENCE = 60
_START = 600
_FAULT, _NOTE = "fault: ", "note: "
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial(Generic[T]):
    """A tool: the module that it is, its models with their names, and how one is tried.

    A name begins with the operator. `attempt` returns what is wrong with the model, or "".
    A child may have `most` bytes.
    """

    module: str
    about: str
    models: Callable[[], Iterable[tuple[str, T]]]
    attempt: Callable[[str, T], str]
    most: int | None = None


def run(trial: Trial[T]) -> None:
    """Try all models of a tool, or every Nth, and list those at fault."""
    parser = argparse.ArgumentParser(description=trial.about.partition("\n")[0])
    parser.add_argument("--every", type=int, default=1, help="try every Nth model only")
    parser.add_argument("--only", nargs="*", default=[], help="try these operators only")
    parser.add_argument("--after", type=int, help="in a child: the number of the last model done")
    given = parser.parse_args()
    if given.after is not None:
        return _try(trial, given.every, given.only, given.after)
    faults: list[str] = []
    arguments = ["--every", str(given.every), "--only", *given.only]
    dead = sum(1 for _ in _fatal(trial.module, arguments, faults))
    print(f"{dead} models end or hang the process, {len(faults)} have another fault")
    sys.exit(bool(dead or faults))


def _try(trial: Trial[T], every: int, only: Sequence[str], after: int) -> None:
    """In a child: try the models after one."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if trial.most is not None:
        resource.setrlimit(resource.RLIMIT_AS, (trial.most, trial.most))
    warnings.simplefilter("ignore")
    for number, (name, model) in enumerate(trial.models()):
        if number <= after or number % every:
            continue
        if only and re.split("[- ]", name)[0] not in only:
            continue
        _print(f"{number} {name}")
        fault = trial.attempt(name, model)
        if fault:
            _print(f"{_FAULT}{number} {name}: {' '.join(fault.split())}")


def note(text: str) -> None:
    """In a child: have the tool print what is no fault."""
    _print(_NOTE + " ".join(text.split()))


def _print(line: str) -> None:
    os.write(1, f"{line}\n".encode(errors="replace"))


def _fatal(module: str, arguments: Sequence[str], faults: list[str]) -> Iterator[str]:
    """The models that end or hang a child; other faults are appended to the list."""
    last, ended = "-1", False
    while not ended:
        child = subprocess.Popen(
            [sys.executable, "-m", module, "--after", last.split()[0], *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=end_with_parent,
        )
        before = last
        for line in _lines(child):
            if line.startswith((_FAULT, _NOTE)):
                print(line, flush=True)
                faults += [line] if line.startswith(_FAULT) else []
            else:
                last = line
        ended = child.wait() == 0
        if not ended:
            how = "hangs" if child.returncode == -9 else f"ends with {child.returncode}"
            print(f"{how}: {last}", flush=True)
            yield last
            ended = last == before


def end_with_parent() -> None:
    """Have Linux kill this process when its parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _lines(child: subprocess.Popen[bytes]) -> Iterator[str]:
    """The lines that a child prints; it is killed when it is silent for too long."""
    assert child.stdout is not None
    rest, wait = b"", _START
    while select.select([child.stdout], [], [], wait)[0]:
        read = os.read(child.stdout.fileno(), 1 << 16)
        if not read:
            return
        *lines, rest = (rest + read).split(b"\n")
        wait = _SILENCE
        yield from (line.decode(errors="replace") for line in lines)
    child.kill()
