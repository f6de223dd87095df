"""Runs every rewrite on every model of the conformance data, on interp and onnxruntime.

    python -m tools.rewrites [NAME ...] [--write]

A rewrite of a model is right where both give what the model gave on interp; unchanged where there
was nothing to do; refused where it raises Unsupported; wrong otherwise. Where onnxruntime does not
run the model itself, interp alone counts. `--write` writes docs/rewrite_counts.md. Exit code 1 if
anything is wrong.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import treadle
from tests.conformance.data import EXPORTED, edges, exported
from tests.passes.clean.models import run, run_by_onnxruntime, saved
from tests.values import differences
from treadle.errors import TreadleError, Unsupported
from treadle.ir import DType, Model
from treadle.passes import REWRITES, Report

PAGE = Path(__file__).parents[1] / "docs" / "rewrite_counts.md"
WORDS = ("right", "unchanged", "refused", "wrong")
_TOLERANCES = {DType.FLOAT32: (1e-3, 1e-4), DType.FLOAT64: (1e-6, 1e-7)}
_HEAD = """# Rewrites on the conformance data

How many of the {models} models with control flow each rewrite brings to the same answers in interp
and onnxruntime, finds nothing to do in, or refuses. `python -m tools.rewrites --write` writes this
page anew.

| rewrite | {words} |
|---|{rule}
"""

Rewrite = Callable[[Model], tuple[Model, Report]]


def _named(name: str) -> Rewrite:
    given: dict[str, Any] = {"capacity": 64} if name == "static-cache" else {}
    return lambda model: treadle.rewrite(model, name, with_report=True, **given)


def _rolled(model: Model) -> tuple[Model, Report]:
    return treadle.reroll(treadle.unroll(model), with_report=True)


ALL: Mapping[str, Rewrite] = {
    "unroll": lambda model: treadle.unroll(model, with_report=True),
    "unroll by=2": lambda model: treadle.unroll(model, by=2, with_report=True),
    "unroll, then reroll": _rolled,
    "specialize": lambda model: treadle.specialize(model, with_report=True),
    "reroll": lambda model: treadle.reroll(model, with_report=True),
    **{name: _named(name) for name in REWRITES},
}


def cases() -> Iterator[tuple[str, Model, Mapping[str, Any]]]:
    """The models that load, with feeds."""
    for name in EXPORTED:
        path, feeds, _ = exported(name)
        yield name, treadle.load(path), feeds
    for name, edge in edges().items():
        if edge.expect is None or isinstance(edge.expect, str):
            continue
        try:
            model = treadle.load(edge.source)
        except TreadleError:
            continue
        names = [value.name for value in model.main.params]
        if len(names) == len(edge.inputs):
            yield name, model, dict(zip(names, edge.inputs, strict=True))


def outcome(model: Model, feeds: Mapping[str, Any], rewrite: Rewrite, wanted: Sequence[Any]) -> str:
    """What the rewrite came to, in one of WORDS, for wrong ones with the reason."""
    try:
        after, report = rewrite(model)
    except Unsupported:
        return "refused"
    if after is model or not report.done:
        return "unchanged"
    found = [run(after, feeds)]
    if _runs_in_onnxruntime(model, feeds):
        found.append(run_by_onnxruntime(saved(after), feeds))
    for each in found:
        for one, other in zip(each, wanted, strict=False):
            told = differences(one, other, tolerances=_TOLERANCES)
            if told:
                return f"wrong: {told[0]}"
    return "right"


def _runs_in_onnxruntime(model: Model, feeds: Mapping[str, Any]) -> bool:
    try:
        run_by_onnxruntime(saved(model), feeds)
    except Exception:  # noqa: BLE001  onnxruntime's own exceptions have no common root of their own
        return False
    return True


def counted(rewrite: Rewrite, name: str) -> Counter[str]:
    """The outcomes of one rewrite; what is wrong is printed."""
    counts: Counter[str] = Counter()
    for case, model, feeds in cases():
        try:
            wanted = run(model, feeds)
        except TreadleError:
            continue
        try:
            found = outcome(model, feeds, rewrite, wanted)
        except Exception as error:  # noqa: BLE001  a crash is what the tool looks for
            found = f"wrong: {type(error).__name__}: {error}"
        word = found.partition(":")[0]
        counts[word] += 1
        if word == "wrong":
            print(f"{name}: {case}: {found[:300]}", flush=True)
    return counts


def page(counts: Mapping[str, Counter[str]]) -> str:
    """The table of all counts."""
    models = max(sum(each.values()) for each in counts.values())
    head = _HEAD.format(models=models, words=" | ".join(WORDS), rule="---|" * len(WORDS))
    rows = [f"| {name} | " + " | ".join(str(each[word]) for word in WORDS) + " |"
            for name, each in counts.items()]  # fmt: skip
    return head + "\n".join(rows) + "\n"


def main() -> int:
    """Count what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    given = parser.parse_args()
    counts = {}
    for name in given.names or ALL:
        counts[name] = counted(ALL[name], name)
        print(name, dict(counts[name]), flush=True)
    if given.write:
        PAGE.write_text(page(counts), encoding="utf-8")
    return int(any(each["wrong"] for each in counts.values()))


if __name__ == "__main__":
    raise SystemExit(main())
