"""Runs the cases that have no result yet, each in a child process."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.versions.findings import FOLDER, findings

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # before onnxruntime is loaded


def main() -> int:
    """The exit code: 1 where a conversion of ours gave another answer."""
    parser = argparse.ArgumentParser(prog="python -m tools.versions")
    parser.add_argument("--who", default="treadle", help="treadle, onnx or onnxscript")
    parser.add_argument("--group", default="exporters", help="exporters, control_flow or nodes")
    parser.add_argument("--opsets", default="9-26", help="from-to, or one")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--seconds", type=float, default=3600, help="stop after so long")
    parser.add_argument("--again", nargs="*", help="forget findings of these kinds first")
    parser.add_argument("--write", action="store_true", help="write docs/versions.md")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        from tools.versions.page import write

        write()
        return 0
    if given.child:
        return _work(given)
    if given.again is not None:
        _forget(_file(given), given.again)
    end, size = time.monotonic() + given.seconds, -1
    while time.monotonic() < end:
        left = end - time.monotonic()
        command = [sys.executable, "-m", "tools.versions", "--child", *sys.argv[1:]]
        done = subprocess.run([*command, "--seconds", str(left), "--again"], check=False)
        size, before = _file(given).stat().st_size, size
        if done.returncode == 0 or size == before:
            break
    return _report(_file(given))


def _file(given: argparse.Namespace) -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER / f"{given.who}_{given.group}.jsonl"


def _forget(file: Path, kinds: list[str]) -> None:
    rows = [r for r in findings(file).values() if kinds and r["kind"] not in kinds]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _opsets(given: argparse.Namespace) -> Iterator[int]:
    low, _, high = given.opsets.partition("-")
    yield from range(int(low), int(high or low) + 1)


def _work(given: argparse.Namespace) -> int:
    from tools.versions.cases import cases
    from tools.versions.runs import attempt, differs, interp_answer, onnxruntime_answer

    os.nice(5)
    file = _file(given)
    known, end = findings(file), time.monotonic() + given.seconds
    with file.open("a") as out:

        def note(**row: Any) -> None:
            out.write(json.dumps(row) + "\n")
            out.flush()

        for case in cases(given.group):
            todo = [k for k in _opsets(given) if (case.key, k) not in known]
            state = known.get((case.key, 0), {}).get("kind")
            if given.only not in case.name or not todo or state in ("died", "unfit"):
                continue
            note(case=case.key, opset=0, kind="died", why="")
            model = case.model.SerializeToString()
            try:
                wanted = [onnxruntime_answer(model, case)]
            except Exception as error:  # noqa: BLE001  onnxruntime raises anything
                note(case=case.key, opset=0, kind="unfit", why=str(error)[-200:])
                continue
            if case.outputs is not None:
                problem = differs(wanted[0], [list(case.outputs)])
                if problem:
                    note(case=case.key, opset=0, kind="unfit", why=f"onnxruntime: {problem}"[:200])
                    continue
                wanted.append(list(case.outputs))
            try:
                wanted.append(interp_answer(model, case))
            except Exception as error:  # noqa: BLE001  its own suite looks at it
                note(case=case.key, opset=0, kind="unfit", why=f"interp: {error}"[:200])
                continue
            own = next(e.version for e in case.model.opset_import if e.domain in ("", "ai.onnx"))
            note(case=case.key, opset=0, kind="fit", why=str(own))
            for opset in todo:
                if time.monotonic() > end:
                    return 0
                note(case=case.key, opset=opset, kind="died", why="")
                note(
                    case=case.key, opset=opset, **attempt(given.who, case, opset, wanted)._asdict()
                )
    return 0


def _report(file: Path) -> int:
    counts: dict[str, int] = {}
    for (_, opset), row in findings(file).items():
        if opset:
            counts[row["kind"]] = counts.get(row["kind"], 0) + 1
    print(file.stem, counts)
    return 1 if counts.get("differs") and file.stem.startswith("treadle") else 0


if __name__ == "__main__":
    sys.exit(main())
