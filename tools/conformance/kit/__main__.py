"""The command line of the kit."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import __doc__ as description
from .asking import Answer, Child, Command, Question
from .runtimes import RUNTIMES
from .verdicts import KINDS, read_index, verdicts


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code is 1 if a runtime was wrong or crashed."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runtime", nargs="*", help=", ".join(RUNTIMES))
    parser.add_argument("--cases", type=Path, default=Path(), help="the folder with index.json")
    parser.add_argument("--results", type=Path, help="where to write; by default CASES/results")
    parser.add_argument("--only", nargs="*", help="names of cases, or how they begin")
    parser.add_argument("--opset", type=int, help="at this opset only")
    parser.add_argument("--seconds", type=float, default=30.0, help="for one run (30)")
    parser.add_argument("--name", help="with --python or --command: what to call the runtime")
    parser.add_argument("--python", help="MODULE:FUNCTION that prepares a model")
    parser.add_argument("--command", help="a command with {model}, {inputs} and {outputs}")
    given = parser.parse_args(arguments)
    askers = dict(_askers(given))
    if not askers:
        parser.error("name a runtime, or give --python or --command")
    index = [case for case in read_index(given.cases) if _is_asked(case, given.only)]
    bad = 0
    for name, (version, ask) in askers.items():
        started = time.monotonic()
        found = {case["name"]: dict(_asked(given, case, ask)) for case in index}
        ask.close()
        result = {"runtime": name, "version": version, "platform": _platform(), "cases": found}
        _write(given, name, result)
        bad += _tell(name, version, result, time.monotonic() - started)
    return int(bad > 0)


def _askers(given: argparse.Namespace) -> Iterator[tuple[str, tuple[str, Any]]]:
    for name in given.runtime:
        if name not in RUNTIMES:
            raise SystemExit(f"{name} is not known here: {', '.join(RUNTIMES)}, or --python")
        try:
            version = importlib.import_module(RUNTIMES[name][0]).__version__.partition("-")[0]
        except ImportError as error:
            raise SystemExit(f"{name} is not installed: {error}") from None
        yield name, (version, Child(name, given.seconds))
    if given.python:
        yield given.name or given.python, ("", Child(given.python, given.seconds))
    if given.command:
        yield given.name or "command", ("", Command(given.command, given.seconds))


def _is_asked(case: dict[str, Any], only: list[str] | None) -> bool:
    return only is None or any(case["name"].startswith(each) for each in only)


def _asked(
    given: argparse.Namespace, case: dict[str, Any], ask: Callable[[Question], Answer]
) -> Iterator[tuple[str, list[dict[str, str]]]]:
    for opset in case["opsets"]:
        if given.opset in (None, opset):
            found = list(verdicts(given.cases, case, opset, ask))
            for run in found:
                _show(given, f"{case['name']} at opset {opset}", run)
            yield str(opset), found


def _show(given: argparse.Namespace, where: str, run: dict[str, str]) -> None:
    if given.only:
        print(f"{where}: {run['verdict']} {run['detail']}".rstrip())
    elif run["verdict"] in ("wrong", "crashed"):
        print(f"{where}: {run['verdict']} {run['detail'][:300]}", file=sys.stderr)


def _platform() -> str:
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def _write(given: argparse.Namespace, name: str, result: dict[str, Any]) -> None:
    if given.only is not None or given.opset is not None:
        return
    folder = given.results or given.cases / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def _tell(name: str, version: str, result: dict[str, Any], seconds: float) -> int:
    """The number of cases that were wrong or crashed at some opset."""
    counts: Counter[str] = Counter()
    for by_opset in result["cases"].values():
        found = {run["verdict"] for runs in by_opset.values() for run in runs}
        counts[max(found, key=KINDS.index, default="right")] += 1
    told = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)
    print(f"{name} {version}: {told} of {sum(counts.values())} cases, {seconds:.0f} s")
    return counts["wrong"] + counts["crashed"]


if __name__ == "__main__":
    sys.exit(main())
