"""Times forms of a model against each other and onnxruntime: python -m benchmarks.forms.

Each form that fits a model of the suite is made of it and its answers compared with numpy's. Calls
of all forms and of onnxruntime are interleaved, one thread: for each the least processor time is
printed, how many times as long onnxruntime takes (of one call, where that is five times or more,
stopped after a second), and how many times the quickest form's time it is. Forms that do other work
(form_types.py) are held against onnxruntime only, in time and answers.
Exit status 1: an answer is wrong, or a form is slower than onnxruntime.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as states

import treadle
from benchmarks import show
from benchmarks.__main__ import chosen
from benchmarks.columns import ENGINES, Call, fault
from benchmarks.form_edits import Draft, draft
from benchmarks.form_rewrites import FORMS
from benchmarks.form_types import EXACT, OTHER_WORK
from benchmarks.registry import Arrays, Benchmark

WRITTEN = "as in the suite"
TIE, APART, WORST = 0.95, 1.5, 20
ROUND_SECONDS = 0.004
FAR = 5
"""How many times as long as ours a call of onnxruntime takes that is measured once: most of the
table's time was theirs, to show that 700 times is 702 times."""
STOPPED = 1.0
"""Seconds after which a call so far behind is stopped: one that copies a list in every iteration
takes a minute."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each form of each model, and how many are slower than they may be."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forms", description=__doc__)
    parser.add_argument("names", nargs="*", help="models whose name, title or kind has such a word")
    parser.add_argument("--form", action="append", help="forms whose name has this")
    parser.add_argument("--share", type=float, default=1.0, help="share of the suite's iterations")
    parser.add_argument("--rounds", type=int, default=8, help="rounds of calls")
    options = parser.parse_args(arguments)
    slower, apart, wrong, compared, ratios = 0, 0, 0, 0, list[tuple[float, str, str]]()
    print(f"{'model':18} {'form':36} {'treadle us':>11} {'onnxruntime':>11} {'best form':>9}")
    for benchmark in chosen(options.names):
        for name, (ours, theirs, best, why) in forms_of(benchmark, options).items():
            print(_line(benchmark.name, name, ours, theirs, best, why), flush=True)
            if why:
                wrong += 1
                continue
            slower += theirs < TIE * ours
            if name not in OTHER_WORK:
                apart += ours > APART * best
                ratios.append((ours / best, benchmark.name, name))
            compared += 1
    print(
        f"\n{compared} forms, {slower} slower than onnxruntime, {apart} over {APART} times the"
        f" best form's time, {wrong} wrong"
    )
    print(
        f"median of the best form's time: {median(ratio for ratio, *_ in ratios):.2f}; the worst:"
    )
    for ratio, model, name in sorted(ratios, reverse=True)[:WORST]:
        print(f"{ratio:6.2f} {model}, {name}")
    print(", ".join(f"{key} {value}" for key, value in show.machine().items()))
    return int(slower + wrong > 0)


def _line(model: str, name: str, ours: float, theirs: float, best: float, why: str) -> str:
    if why:
        return f"{model:18} {name:36} {why}"
    marks, factor = " slower than onnxruntime" * (theirs < TIE * ours), ""
    if name not in OTHER_WORK:
        marks += " behind" * (ours > APART * best)
        factor = f"{ours / best:.2f}"
    return f"{model:18} {name:36} {ours * 1e6:11.1f} {theirs / ours:11.2f} {factor:>9}{marks}"


def forms_of(
    benchmark: Benchmark, options: argparse.Namespace
) -> Mapping[str, tuple[float, float, float, str]]:
    """For each form: our seconds, onnxruntime's, the quickest form's; or what is wrong."""
    instance = benchmark.make(max(benchmark.small, int(options.share * benchmark.n)))
    wanted = instance.reference(**instance.feed)
    calls: dict[tuple[str, str], Call] = {}
    once: dict[tuple[str, str], float] = {}
    wrong: dict[str, str] = {}
    for name, made in drafts(instance.model, instance.feed, options.form).items():
        theirs = onnxruntime_call(made)
        if theirs is None:
            continue
        ours = treadle_call(made)
        why = _fault(benchmark, name, ours, theirs, wanted)
        if why:
            wrong[name] = why
            continue
        calls[name, "ours"] = ours
        (first,) = least_times({(name, "ours"): ours}, 1).values()
        seconds = stopped_time(theirs, max(STOPPED, FAR * first))
        if seconds > FAR * first:
            once[name, "theirs"] = seconds
        else:
            calls[name, "theirs"] = theirs.call
    least = {**least_times(calls, options.rounds), **once}
    same = (t for (name, who), t in least.items() if who == "ours" and name not in OTHER_WORK)
    best = min(same, default=0.0)
    found = {name: (0.0, 0.0, 0.0, why) for name, why in wrong.items()}
    for (name, who), ours in least.items():
        if who == "ours":
            found[name] = (ours, least[name, "theirs"], best, "")
    return found


def _fault(benchmark: Benchmark, name: str, ours: Call, theirs: Other, wanted: Arrays) -> str:
    """What is wrong with the answers of a form, "" if nothing."""
    if name not in OTHER_WORK:
        return fault(benchmark, ours(), wanted)
    found = ours()
    if name not in EXACT:
        return ""
    return fault(benchmark, found, [np.asarray(each) for each in theirs.call()])


def drafts(text: str, feed: Mapping[str, object], words: Sequence[str] | None) -> dict[str, Draft]:
    """The model as it is written, and each form of it that fits."""
    made = {WRITTEN: draft(text, feed)}
    for name, rewrite in {**FORMS, **OTHER_WORK}.items():
        if words and not any(word in name for word in words):
            continue
        each = draft(text, feed)
        if rewrite(each):
            made[name] = each
    return made


def treadle_call(made: Draft) -> Call:
    """A call of treadle with one thread."""
    options = treadle.SessionOptions()
    options.intra_op_num_threads = 1
    session = treadle.InferenceSession(made.model.SerializeToString(), options, engines=ENGINES)
    return functools.partial(session.run, None, _fed(made))


@dataclass(frozen=True)
class Other:
    """A session of onnxruntime with one thread, and what it is fed."""

    session: onnxruntime.InferenceSession
    feed: dict[str, object]

    def call(self, options: onnxruntime.RunOptions | None = None) -> Arrays:
        """Run it."""
        return self.session.run(None, self.feed, options)


def onnxruntime_call(made: Draft) -> Other | None:
    """A session for a form; None where onnxruntime has no kernels for the model's types."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    data = made.model.SerializeToString()
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except (states.NotImplemented, states.InvalidGraph, states.Fail):
        return None
    return Other(session, _fed(made))


def stopped_time(theirs: Other, most: float) -> float:
    """The processor time of a call that is stopped after these seconds."""
    options = onnxruntime.RunOptions()
    options.log_severity_level = 4
    timer = threading.Timer(most, lambda: setattr(options, "terminate", True))
    started = time.process_time()
    timer.start()
    try:
        theirs.call(options)
    except states.Fail:
        if not options.terminate:
            raise
    finally:
        timer.cancel()
    return time.process_time() - started


def _fed(made: Draft) -> dict[str, object]:
    names = {info.name for info in made.model.graph.input}
    return {name: array for name, array in made.feed.items() if name in names}


def least_times(calls: Mapping[tuple[str, str], Call], rounds: int) -> dict[tuple[str, str], float]:
    """The least processor time of each call, in seconds, calls interleaved."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            started = time.process_time()
            turns = 0
            while turns < 1 or time.process_time() - started < ROUND_SECONDS:
                call()
                turns += 1
            least[name] = min(least[name], (time.process_time() - started) / turns)
    return least


if __name__ == "__main__":
    os.environ["TREADLE_CACHE_DIR"] = ""
    sys.exit(main())
