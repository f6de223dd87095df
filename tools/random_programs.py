"""Random programs on every choice of engines: none differs from interp, none dies.

    python -m tools.random_programs --seeds 0 150 --log build/programs.jsonl

A seed is twenty programs of `tests/strategies`, with text, sequences, optionals, numbers at the
edges of their types and, in some, a declaration that lies; brought to a drawn opset of 8 to 26.
Each runs twice on the default engines, on native code, and on onnxruntime with interp, where loops
are regions of onnxruntime's. Seeds run in child processes; what the log has is not run again.

    python -m tools.random_programs --edges --seeds 0 1000 --log build/edges.jsonl

runs small loops at the edges of the native engine's strategies (`tools/edge_programs`),
native against interp, between protected pages: every element is the same, and nothing is read
beyond an array.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import treadle
from tests.jit.fenced_memory import fence_kernels, fence_starts, fenced_arrays
from tests.strategies import Program, programs
from tests.strategies.wild import lying
from tests.values import differences
from tools.edge_programs import EdgeProgram, edge_program
from treadle.errors import InternalCompilerWarning, TreadleError
from treadle.formats.onnx import write_model
from treadle.report import engine_counts

PER_SEED = 20
_SECONDS = 600
_EVERY_EAGER = 3
"""The code of every third edge program is made before its feeds are known."""
_WAYS: Mapping[str, tuple[str, ...] | None] = {
    "interp": ("interp",),
    "default": None,
    "native": ("jit", "interp"),
    "onnxruntime": ("onnxruntime", "interp"),
}
_LIMITS = treadle.RunOptions(max_seconds=60, max_iterations=100_000, max_bytes=2**28)
_FREE = treadle.RunOptions(max_seconds=60)
"""Kernels that count iterations or bytes have loops as the program says, in no other form."""


def drawn(number: int) -> Sequence[Program]:
    """The programs of a seed, without the trivial one that every seed begins with."""
    found: list[Program] = []
    kinds = st.one_of(programs(wild=True), programs(wild=True, grows=True), programs(grows=True))

    @seed(number)
    @settings(
        max_examples=PER_SEED + 1,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kinds)
    def collect(program: Program) -> None:
        found.append(program)

    collect()
    return found[1:]


_LOWEST = 9
"""The lowest opset to which treadle converts."""


def varied(program: Program, chance: random.Random) -> tuple[Any, str]:
    """The program as it is, with a lie, or in another opset; and which of these."""
    form = chance.choice(("plain", "lying", "opset", "opset"))
    if form == "lying":
        return lying(program.text, chance), form
    if form == "opset":
        opset = chance.randrange(8, 27)
        try:
            return _brought_to(program.text, opset), f"opset {opset}"
        except TreadleError:  # not every step has a form there
            return program.text, "plain"
    return program.text, form


def _brought_to(text: str, opset: int) -> Any:
    """The program in an opset; in 8 the steps of opset 9, most of which mean the same there."""
    made = treadle.convert_version(text, max(opset, _LOWEST))
    if opset >= _LOWEST:
        return made
    proto = write_model(made)
    proto.opset_import[0].version = opset
    return proto


def compared(program: Program, chance: random.Random) -> dict[str, Any]:
    """What the ways said of a program, as a line of the log."""
    source, form = varied(program, chance)
    answers: dict[str, list[Any] | str] = {}
    regions = 0
    for way, engines in _WAYS.items():
        answers[way], loaded = _answer(source, program.feeds, engines)
        regions += loaded
    wanted = answers["interp"]
    wrong = {way: line for way, found in answers.items() if (line := _unlike(found, wanted))}
    said = wanted if isinstance(wanted, str) else "answers"
    line = {"form": form, "interp": said, "regions": regions, "wrong": wrong}
    return {**line, "program": repr(program), "source": str(source)} if wrong else line


def compared_edges(program: EdgeProgram, *, is_eager: bool) -> dict[str, Any]:
    """What interp and native code said of a program, as a line of the log.

    `is_eager`: the code is made before the feeds are known, for extents as they are declared.
    """
    options = treadle.SessionOptions()
    options.compile = "eager" if is_eager else "first_run"
    wanted, _ = _answer(program.text, program.feeds, _WAYS["interp"])
    found, _ = _answer(program.text, program.feeds, _WAYS["native"], _FREE, options)
    wrong = {"native": line} if (line := _unequal(found, wanted)) else {}
    said = wanted if isinstance(wanted, str) else "answers"
    line = {"form": program.family, "interp": said, "regions": 0, "wrong": wrong}
    return {**line, "source": program.text} if wrong else line


def _unequal(found: list[Any] | str, wanted: list[Any] | str) -> str:
    if isinstance(found, str) or isinstance(wanted, str):
        return _unlike(found, wanted)
    pairs = enumerate(zip(found, wanted, strict=True))
    wrong = (k for k, (f, w) in pairs if not np.array_equal(f, w, equal_nan=True))
    return next((f"output {k}" for k in wrong), "")


def _answer(
    source: Any,
    feeds: Mapping[str, np.ndarray],
    engines: tuple[str, ...] | None,
    limits: treadle.RunOptions = _LIMITS,
    options: treadle.SessionOptions | None = None,
) -> tuple[list[Any] | str, int]:
    """The outputs, or the name of the error; and how many regions onnxruntime loaded."""
    loaded = 0
    try:
        session = treadle.InferenceSession(source, options, engines=engines)
        loaded = engine_counts(session._plain.plan).get("onnxruntime", 0)
        for _ in range(2):
            found = session.run(None, dict(feeds), limits)
    except TreadleError as error:
        return type(error).__name__, loaded
    return found, loaded


def _unlike(found: list[Any] | str, wanted: list[Any] | str) -> str:
    if isinstance(found, str) or isinstance(wanted, str):
        return "" if isinstance(found, str) and found == wanted else f"{found} for {wanted}"[:500]
    pairs = zip(found, wanted, strict=True)
    lines = (line for k, (f, w) in enumerate(pairs) for line in differences(f, w, f"output {k}"))
    return next(lines, "")[:500]


def _child(first: int, last: int, *, edges: bool) -> None:
    warnings.simplefilter("error", InternalCompilerWarning)
    with fenced() if edges else nullcontext():
        _run(first, last, edges=edges)


@contextmanager
def fenced() -> Iterator[None]:
    """Run with protected pages around every array."""
    fence_kernels()
    with fenced_arrays():
        yield


def _run(first: int, last: int, *, edges: bool) -> None:
    for number in range(first, last):
        if edges:
            fence_starts(starts=number % 2 == 1)
        print(json.dumps({"begun": number}), flush=True)
        for turn, line in enumerate(_of_edges(number) if edges else _of_seed(number)):
            print(json.dumps({"seed": number, "turn": turn, **line}), flush=True)
        print(json.dumps({"ended": number}), flush=True)


def _of_seed(number: int) -> Iterator[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = drawn(number)
    for turn, program in enumerate(found):
        yield compared(program, random.Random(number * 1000 + turn))


def _of_edges(number: int) -> Iterator[dict[str, Any]]:
    for turn in range(PER_SEED):
        program = edge_program(number * PER_SEED + turn)
        yield compared_edges(program, is_eager=turn % _EVERY_EAGER == 0)


def _lines(first: int, last: int, *, edges: bool) -> Iterator[dict[str, Any]]:
    """The lines of children, one after the other where one dies or hangs."""
    while first < last:
        command = [sys.executable, "-m", "tools.random_programs", "--child", str(first), str(last)]
        command += ["--edges"] * edges
        environment = {**os.environ, "TREADLE_CACHE_DIR": "", "TREADLE_DEBUG": "1"}
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert child.stdout is not None
        begun, ended = first, None
        for text in child.stdout:
            line = json.loads(text)
            begun, ended = line.get("begun", begun), line.get("ended", ended)
            yield line
        if child.wait():
            yield {"seed": begun, "died": child.returncode}
            yield {"ended": begun}
            ended = begun
        first = (begun if ended is None else ended) + 1


def main() -> int:
    """The exit code: 1 where a program differs or dies."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.random_programs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 150), metavar=("FIRST", "END"))
    parser.add_argument("--log", type=Path, default=Path("build/programs.jsonl"))
    parser.add_argument("--edges", action="store_true", help="loops at the strategies' edges")
    parser.add_argument("--child", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(*given.child, edges=given.edges)
        return 0
    given.log.parent.mkdir(parents=True, exist_ok=True)
    known = given.log.read_text().splitlines() if given.log.exists() else []
    lines = [json.loads(line) for line in known]
    done = max((line["ended"] + 1 for line in lines if "ended" in line), default=given.seeds[0])
    first = max(done, given.seeds[0])
    with given.log.open("a") as log:
        for line in _lines(first, given.seeds[1], edges=given.edges):
            lines.append(line)
            log.write(json.dumps(line) + "\n")
            log.flush()
    return _told(lines)


def _told(lines: Sequence[Mapping[str, Any]]) -> int:
    ran = [line for line in lines if "turn" in line]
    wrong = [line for line in lines if line.get("wrong") or line.get("died")]
    forms = Counter(line["form"].split()[0] for line in ran)
    said = Counter(line["interp"] for line in ran)
    print(f"{len(ran)} programs ({dict(forms)}; {dict(said)}),")
    print(f"{sum(line['regions'] for line in ran)} regions of onnxruntime, {len(wrong)} wrong")
    for line in wrong:
        print(line["seed"], line.get("turn"), line.get("wrong") or f"died: {line['died']}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
