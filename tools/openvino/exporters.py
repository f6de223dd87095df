"""Finds exporters' models that OpenVINO runs right, converted by treadle or by OpenVINO.

    python -m tools.openvino.exporters [NAME ...] [--update]

Asks OpenVINO about every model with recorded answers, or those named; `--update` writes the table
into docs/openvino.md. Right is: the shapes and element types, whole numbers and truths exactly,
floats within TOLERANCE, which allows for OpenVINO's float32 where a model has float64.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import treadle
from tests.conformance.data import EXPORTED, exported
from tools.openvino.oracle import Answer, Oracle, why_not
from treadle.errors import TreadleError
from treadle.ir import DType, Model, Optional, Tensor, block_values, bodies, walk
from treadle.ir import Sequence as SequenceType

PAGE = Path(__file__).parents[2] / "docs" / "openvino.md"
START, END = "<!-- exporters, written by a command -->\n", "<!-- end -->\n"
TOLERANCE = (1e-3, 1e-4)
Lines = Iterator[str]
_PATIENCE = 60.0
_SHOWN = 100


class Verdict(NamedTuple):
    """Of one model: why treadle's IR is not right, why OpenVINO's own is not; "" where it is."""

    name: str
    treadle: str
    openvino: str


def holds_what_openvino_has_not(model: Model) -> bool:
    """Whether some value is a sequence, an optional or a string."""
    blocks = [model.main, *(body for visit in walk(model) for _, body in bodies(visit.step))]
    return any(_is_odd(value.type) for block in blocks for value in block_values(block))


def _is_odd(type_: object) -> bool:
    if isinstance(type_, Tensor):
        return type_.dtype is DType.STRING
    return isinstance(type_, SequenceType | Optional)


def verdict(name: str, oracle: Oracle) -> Verdict:
    """Both ways for one model."""
    source, given, recorded = exported(name)
    wanted = _as_declared(treadle.load(source), recorded)
    with tempfile.TemporaryDirectory() as folder:
        ours = written(treadle.load(source), Path(folder) / "model.xml", given, wanted, oracle)
    (theirs,) = oracle.ask(source, [given], patience=_PATIENCE)
    return Verdict(name, ours, _difference(theirs, wanted))


def _as_declared(model: Model, recorded: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """The recorded answers in the element types of the graph: one is of its source framework."""
    types = {v.name: v.type for v in treadle.infer(model).main.results if v is not None}
    dtypes = {n: t.dtype for n, t in types.items() if isinstance(t, Tensor) and t.dtype}
    return {n: array.astype(dtypes[n].numpy) for n, array in recorded.items() if n in dtypes}


def written(
    model: Model,
    target: Path,
    given: Mapping[str, np.ndarray],
    wanted: Mapping[str, np.ndarray],
    oracle: Oracle,
) -> str:
    """Why OpenVINO's answer for a model that is written as IR is not right; "" where it is."""
    try:
        treadle.save(model, target)
    except TreadleError as error:
        findings = getattr(error, "findings", ())
        return f"refused: {findings[0].message if findings else error}"
    (answer,) = oracle.ask(target, [given], patience=_PATIENCE)
    return _difference(answer, wanted)


def _difference(answer: Answer, wanted: Mapping[str, np.ndarray]) -> str:
    if isinstance(answer, str):
        return answer
    for name, array in wanted.items():
        found = answer.get(name)
        if found is None:
            return f"there is no output {name}"
        if (found.shape, found.dtype) != (array.shape, array.dtype):
            return (
                f"{name} is {found.dtype}{list(found.shape)}, not {array.dtype}{list(array.shape)}"
            )
        if not _is_near(found, array):
            return f"{name} has other values{_distance(found, array)}"
    return ""


def _is_near(found: np.ndarray, wanted: np.ndarray) -> bool:
    if wanted.dtype.kind != "f":
        return bool(np.array_equal(found, wanted))
    return bool(np.allclose(found, wanted, *TOLERANCE, equal_nan=True))


def _distance(found: np.ndarray, wanted: np.ndarray) -> str:
    if wanted.dtype.kind != "f":
        return ""
    off = float(np.max(np.abs(found - wanted)))
    word = ": OpenVINO has float32 for float64" if wanted.dtype == np.float64 else ""
    return f", off by {off:.1e} where the largest is {np.max(np.abs(wanted)):.1e}{word}"


def short(reason: str) -> str:
    """What is wrong: OpenVINO's summary where it gives one, else the end of its message."""
    words = " ".join(reason.replace("<", "(").replace(">", ")").replace("|", " ").split())
    for pattern, said in _SUMMARIES:
        found = re.search(pattern, words)
        if found:
            return f"{said} {found.group(1)}"
    return words if len(words) <= _SHOWN else f"... {words[-_SHOWN:]}"


_SUMMARIES = (
    (r"No conversion rule found for operations: (.*)$", "no rule for"),
    (r"Conversion is failed for: (.*)$", "fails at"),
)


def table(verdicts: list[Verdict], left_out: int, version: str) -> Iterator[str]:
    """The lines of the page."""
    ours = sum(not each.treadle for each in verdicts)
    theirs = sum(not each.openvino for each in verdicts)
    share, release = f"{ours / max(len(verdicts), 1):.0%}", version.partition("-")[0]
    yield f"Of {len(verdicts)} models from exporters OpenVINO {release} answers right"
    yield f"{ours} ({share}) as treadle writes them, and {theirs} as `openvino.convert_model` reads"
    yield f"them. {left_out} more have sequences, optionals or strings, which IR has not. The rest:"
    yield ""
    yield "| model | as treadle writes it | by `convert_model` |"
    yield "|---|---|---|"
    for each in verdicts:
        if each.treadle or each.openvino:
            cells = (short(reason) if reason else "right" for reason in each[1:])
            yield f"| {each.name} | {' | '.join(cells)} |"


def _put_into_page(start: str, lines: list[str]) -> None:
    """Write lines between a mark of the page and the end that follows it."""
    head, mark, rest = PAGE.read_text(encoding="utf-8").partition(start)
    assert mark, f"{PAGE.name} has no {start}"
    tail = rest.partition(END)[2]
    PAGE.write_text(head + start + "\n".join(["", *lines, "", END]) + tail, encoding="utf-8")


def command(
    doc: str | None,
    start: str,
    everything: Sequence[str],
    lines: Callable[[list[str], Oracle], Lines],
) -> int:
    """Build a command that tests all models or the named ones, and shows or writes the results."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--update", action="store_true")
    asked = parser.parse_args()
    if why_not():
        print(why_not())
        return 2
    oracle = Oracle()
    found = list(lines(asked.names or list(everything), oracle))
    oracle.close()
    if asked.update:
        _put_into_page(start, found)
    print(*found, sep="\n")
    return 0


def _lines(names: list[str], oracle: Oracle) -> Lines:
    odd = {n for n in names if holds_what_openvino_has_not(treadle.infer(exported(n)[0]))}
    verdicts = [verdict(name, oracle) for name in names if name not in odd]
    return table(verdicts, len(odd), oracle.version)


if __name__ == "__main__":
    sys.exit(command(__doc__, START, EXPORTED, _lines))
