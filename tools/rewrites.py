"""Runs every rewrite on every model of the conformance data, on interp and onnxruntime.

    python -m tools.rewrites [NAME ...] [--write]

A rewrite of a model is right where both give what the model gave on interp; unchanged where there
was nothing to do; refused where it raises Unsupported; wrong otherwise. Where onnxruntime does not
run the model itself, interp alone counts. `--programs` takes random programs instead, and random
models made for a rewrite (`rewrite_programs.py`), with trip counts of 0, 1, 2 and 5; where one
fails, the rewritten one has to fail too. `--write` writes docs/rewrite_counts.md. Exit code 1 if
anything is wrong.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import given as for_all

import treadle
from tests.conformance.data import EXPORTED, edges, exported
from tests.passes.simplify.models import run, run_by_onnxruntime, saved
from tests.strategies import Program, programs
from tests.values import differences
from tools.rewrite_programs import FORMS, Drawn
from tools.rewrite_programs import drawn as drawn_for
from treadle.errors import TreadleError, Unsupported
from treadle.ir import DType, Model
from treadle.passes import REWRITES, Report

PAGE = Path(__file__).parents[1] / "docs" / "rewrite_counts.md"
WORDS = ("right", "unchanged", "refused", "wrong")
_TRIPS = (0, 1, 2, 5)
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


def _recurrent_again(model: Model) -> tuple[Model, Report]:
    return treadle.rewrite(
        treadle.rewrite(model, "recurrent-to-scan"), "scan-to-recurrent", with_report=True
    )


ALL: Mapping[str, Rewrite] = {
    "unroll": lambda model: treadle.unroll(model, with_report=True),
    "unroll most=6": lambda model: treadle.unroll(model, most=6, with_report=True),
    "unroll by=2": lambda model: treadle.unroll(model, by=2, with_report=True),
    "unroll, then reroll": _rolled,
    "specialize": lambda model: treadle.specialize(model, with_report=True),
    "reroll": lambda model: treadle.reroll(model, with_report=True),
    "reroll layers": lambda model: treadle.reroll(model, layers=True, with_report=True),
    "convert_version 10": lambda model: treadle.convert_version(model, 10, with_report=True),
    **{name: _named(name) for name in REWRITES},
}


_PROMISES = ("unroll most=6",)
"""Rewrites for models whose loops keep what the name promises, as random programs do."""


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


def drawn(count: int, number: int) -> Sequence[Drawn]:
    """Random programs: of onnxruntime's operators, and of lists and changing shapes, by turns."""
    found: list[Program] = []

    @seed(number)
    @settings(
        max_examples=(count + 1) // 2,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @for_all(programs(onnxruntime_is_right=True), programs(grows=True))
    def draw(plain: Program, growing: Program) -> None:
        found.extend((plain, growing))

    draw()
    return [Drawn(treadle.load(each.text), _feeds(each), str(each)) for each in found[:count]]


def _feeds(program: Program) -> Callable[[int], Mapping[str, Any]]:
    return lambda trips: {**program.feeds, "m": np.asarray(trips), "n": np.asarray(trips)}


def counted_on_programs(rewrite: Rewrite, name: str, found: Sequence[Drawn]) -> Counter[str]:
    """The outcomes of one rewrite on random programs; what is wrong is printed."""
    counts: Counter[str] = Counter()
    for program in found:
        model = program.model
        try:
            after, report = rewrite(model)
        except Unsupported:
            counts["refused"] += 1
            continue
        except Exception as error:  # noqa: BLE001  a crash is what the tool looks for
            counts["wrong"] += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}\n{program.text}", flush=True)
            continue
        told = "" if after is model or not report.done else _unlike(model, after, program)
        counts["wrong" if told else "unchanged" if after is model else "right"] += 1
        if told:
            print(f"{name}: {told}\n{program.text}", flush=True)
    return counts


def _unlike(model: Model, after: Model, program: Drawn) -> str:
    """The first difference between both models with trip counts of 0, 1, 2 and 5."""
    old, new = (treadle.InferenceSession(each, engines=["interp"]) for each in (model, after))
    names = [value.name for value in model.main.results if value is not None]
    for trips in _TRIPS:
        feeds = program.feeds(trips)
        try:
            wanted = old.run(names, feeds)
        except TreadleError:
            wanted = None
        try:
            answers = [new.run(names, feeds)]
            if wanted is not None and _is_right_in_onnxruntime(model, feeds, wanted):
                answers.append(run_by_onnxruntime(saved(after), feeds))
        except Exception as error:  # noqa: BLE001  onnxruntime's exceptions have no common root
            if wanted is None:
                continue
            return f"{trips} trips: {type(error).__name__}: {str(error)[:300]}"
        if wanted is None:
            return f"{trips} trips: it fails no longer"
        told = [t for each in answers for t in _differences(each, wanted)]
        if told:
            return f"{trips} trips: {told[0]}"
    return ""


def _differences(found: Sequence[Any], wanted: Sequence[Any]) -> Sequence[str]:
    pairs = zip(found, wanted, strict=False)
    return [t for one, other in pairs for t in differences(one, other, tolerances=_TOLERANCES)]


def _is_right_in_onnxruntime(model: Model, feeds: Mapping[str, Any], wanted: Sequence[Any]) -> bool:
    try:
        return not _differences(run_by_onnxruntime(saved(model), feeds), wanted)
    except Exception:  # noqa: BLE001  onnxruntime's own exceptions have no common root of their own
        return False


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
    parser.add_argument("--programs", type=int, default=0, help="the number of random programs")
    parser.add_argument("--seed", type=int, default=1, help="of the random programs")
    given = parser.parse_args()
    counts = {}
    found = drawn(given.programs, given.seed) if given.programs else ()
    every = [name for name in ALL if found or name not in _PROMISES]
    for name in given.names or every:
        if found:
            counts[name] = counted_on_programs(ALL[name], name, found)
        else:
            counts[name] = counted(ALL[name], name)
        print(name, dict(counts[name]), flush=True)
        if found and name in FORMS:
            made = drawn_for(name, given.programs, given.seed)
            again = _recurrent_again if name == "scan-to-recurrent" else ALL[name]
            counts[f"{name}, own"] = counted_on_programs(again, name, made)
            print(f"{name}, models made for it", dict(counts[f"{name}, own"]), flush=True)
    if given.write and not found:
        PAGE.write_text(page(counts), encoding="utf-8")
    return int(any(each["wrong"] for each in counts.values()))


if __name__ == "__main__":
    raise SystemExit(main())
