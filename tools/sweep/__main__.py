"""Runs the sweep on all engines, and writes the table of onnxruntime's wrong answers."""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tests.values import differences
from tools.sweep.parties import Answer, Child, Party, interp, native
from tools.sweep.questions import Question, questions, seeds
from tools.sweep.standard import opinion
from tools.sweep.table import Row, write

ONNXRUNTIME = "onnxruntime"
_MEMORY = 8 << 30
Findings = dict[tuple[str, Question, str], list[bool]]
"""Whether each question of an edge was answered wrongly, by party."""


def main() -> int:
    """The exit code: 1 where interp or native code is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.sweep", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1200, help="stop after so long")
    parser.add_argument("--only", nargs="*", default=None, help="these operators only")
    parser.add_argument("--no-native", action="store_true", help="leave native code out")
    parser.add_argument("--write", action="store_true", help="write the table and its page")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    parties: dict[str, Party] = {ONNXRUNTIME: Child(), "interp": interp}
    if not given.no_native:
        parties["jit"] = native
    keys = [key for key in seeds() if given.only is None or key[1] in given.only]
    asked = _evenly(keys, seed=7 if given.seconds < 1000 else None)
    found, is_whole = sweep(asked, parties, time.monotonic() + given.seconds)
    print("everything was asked" if is_whole else "the time is over", file=sys.stderr)
    if given.write:
        write(_rows(found))
    return _report(found)


def _evenly(keys: Sequence[tuple[str, str]], seed: int | None) -> Iterator[Question]:
    """All questions; with a seed in an order in which each operator comes soon."""
    if seed is None:
        return chain.from_iterable(map(questions, keys))
    every = list(chain.from_iterable(map(questions, keys)))
    random.Random(seed).shuffle(every)
    return iter(every)


def sweep(
    asked: Iterable[Question], parties: Mapping[str, Party], end: float
) -> tuple[Findings, bool]:
    """What each party got wrong, and whether there was time for everything."""
    found: Findings = defaultdict(list)
    for question in asked:
        if time.monotonic() > end:
            return found, False
        for edge, operands in question.cases():
            _ask(question, edge, operands, parties, found)
    return found, True


def _ask(
    question: Question,
    edge: str,
    operands: list[np.ndarray],
    parties: Mapping[str, Party],
    found: Findings,
) -> None:
    answers = {name: party(question, operands) for name, party in parties.items()}
    given = {name: answer for name, answer in answers.items() if answer is not None}
    if _agree(list(given.values())):
        wrong: set[str] = set()
    else:
        wanted = opinion(question, operands)
        wrong = {name for name, answer in given.items() if answer == "dies"}
        if wanted is not None:
            wrong |= {name for name, answer in given.items() if not _agree([answer, wanted])}
            if len(wrong) == len(given) > 1:
                wrong = set()
    for name in given:
        found[name, question, edge].append(name in wrong)


def _agree(answers: Sequence[Answer]) -> bool:
    if not answers:
        return True
    first, *others = answers
    return all(_same(first, other) for other in others)


def _same(one: Answer, other: Answer) -> bool:
    if not isinstance(one, list) or not isinstance(other, list) or len(one) != len(other):
        return False
    return all(not differences(a, np.asarray(b)) for a, b in zip(one, other, strict=True))


def _rows(found: Findings) -> Iterator[Row]:
    import onnxruntime

    groups: dict[Any, list[tuple[Question, list[bool]]]] = defaultdict(list)
    for (party, q, edge), wrong in found.items():
        if party == ONNXRUNTIME:
            groups[q.domain, q.op, q.version, q.dtype, edge].append((q, wrong))
    for key, members in groups.items():
        wrong = sum(sum(each) for _, each in members)
        if wrong:
            asked = sum(len(each) for _, each in members)
            yield Row(*key, _form(members), onnxruntime.__version__, wrong, asked)


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
