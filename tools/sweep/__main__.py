"""Runs the sweep on all engines, and writes the table of onnxruntime's wrong answers."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest
from multiprocessing import get_context
from typing import Any

import onnxruntime

from tools.sweep.asking import ONNXRUNTIME, Findings, asked, start
from tools.sweep.forms import forms
from tools.sweep.questions import Question
from tools.sweep.table import Row, write

_PLAIN = "small"
"""The edge of ordinary values: a wrong answer there is a form that is read differently."""
_WHOLE = 1000
"""Seconds below which every operator has a part of the time, and questions are drawn."""


def main() -> int:
    """The exit code: 1 where interp or native code is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.sweep", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200, help="stop after so long")
    parser.add_argument("--only", nargs="*", default=None, help="these operators only")
    parser.add_argument("--no-native", action="store_true", help="leave native code out")
    parser.add_argument("--write", action="store_true", help="write the table and its page")
    parser.add_argument("--verbose", action="store_true", help="tell of every operator")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    keys = [key for key in forms() if given.only is None or key[1] in given.only]
    end, slice_ = time.monotonic() + given.seconds, None
    if given.seconds < _WHOLE:
        slice_ = given.seconds * given.processes / max(len(keys), 1)
    found: Findings = {}
    is_whole = True
    started = {"initializer": start, "initargs": (not given.no_native,)}
    with ProcessPoolExecutor(given.processes, get_context("fork"), **started) as pool:
        for key, work in [(key, pool.submit(asked, key, end, slice_)) for key in keys]:
            part, is_done = work.result()
            found |= part
            is_whole &= is_done
            if given.verbose:
                print(f"{time.monotonic() - end + given.seconds:.0f} s", *key, file=sys.stderr)
    print("everything was asked" if is_whole else "the time is over", file=sys.stderr)
    if given.write:
        write(_rows(found), onnxruntime.__version__, set(keys))
    return _report(found)


def _rows(found: Findings) -> Iterator[Row]:
    groups: dict[Any, list[tuple[Question, list[bool]]]] = defaultdict(list)
    for (party, q, edge), wrong in found.items():
        if party == ONNXRUNTIME:
            plain = found.get((party, q, _PLAIN), [])
            only_here = [w and not p for w, p in zip_longest(wrong, plain, fillvalue=False)]
            groups[q.domain, q.op, q.version, q.dtype, edge].append((q, only_here))
    for key, members in groups.items():
        wrong = sum(sum(each) for _, each in members)
        if wrong:
            asked = sum(len(each) for _, each in members)
            yield Row(*key, _form(members), (onnxruntime.__version__,), wrong, asked)


def _form(members: Sequence[tuple[Question, list[bool]]]) -> str:
    """An attribute that all wrong questions have and no right one has."""
    wrong = [_attributes(q) for q, each in members if any(each)]
    right = [_attributes(q) for q, each in members if not any(each)]
    common = set.intersection(*wrong) - set().union(*right) if right else set()
    return min(common, default="")


def _attributes(question: Question) -> set[str]:
    return {
        f"{name}={value.decode() if isinstance(value, bytes) else value}"
        for name, value in question.attributes.items()
    }


def _report(found: Findings) -> int:
    counts: Counter[tuple[str, ...]] = Counter()
    for (party, q, edge), wrong in found.items():
        counts[party, q.op, str(q.version), q.dtype, edge] += sum(wrong)
    lines = [" ".join(key) + f": {count}" for key, count in sorted(counts.items()) if count]
    print("\n".join(lines) or "nobody is wrong")
    print(sum(map(len, found.values())), "answers", file=sys.stderr)
    return int(any(line.startswith(("interp", "jit")) for line in lines))


if __name__ == "__main__":
    sys.exit(main())
