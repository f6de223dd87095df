"""Asks the parties questions, and decides who is wrong."""

from __future__ import annotations

import random
import resource
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.values import differences
from tools.sweep.forms import Key
from tools.sweep.parties import Answer, Child, Party, interp, native
from tools.sweep.questions import Question, questions
from tools.sweep.standard import leaves_open, opinion

ONNXRUNTIME = "onnxruntime"
SEED = 7
_MEMORY = 8 << 30
Findings = dict[tuple[str, Question, str], list[bool]]
"""Whether each question of an edge was answered wrongly, by party."""


_parties: dict[str, Party] = {}


def start(asks_native: bool) -> None:
    """Make this process ready to ask."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    _parties.update({ONNXRUNTIME: Child(), "interp": interp})
    if asks_native:
        _parties["jit"] = native


def asked(key: Key, end: float, seconds: float | None) -> tuple[Findings, bool]:
    """What the parties got wrong of an operator, and whether everything was asked before `end`.

    With `seconds` questions are drawn for so long.
    """
    order = list(questions(key))
    if seconds is not None:
        random.Random(SEED).shuffle(order)
        end = min(end, time.monotonic() + seconds)
    return sweep(order, _parties, end)


def sweep(
    asked: Iterable[Question], parties: Mapping[str, Party], end: float
) -> tuple[Findings, bool]:
    """What each party got wrong, and whether there was time for everything."""
    found: Findings = defaultdict(list)
    for question in asked:
        if time.monotonic() > end:
            return dict(found), False
        for edge, operands in question.cases():
            _ask(question, edge, operands, parties, found)
    return dict(found), True


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
        wanted = None if leaves_open(question, edge) else opinion(question, operands)
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


def _same(one: Any, other: Any) -> bool:
    """Whether two answers or results are the same; native code stacks sequences of equal shapes."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if isinstance(one, list) or isinstance(other, list):
        ours, theirs = _elements(one), _elements(other)
        return len(ours) == len(theirs) and all(map(_same, ours, theirs))
    return not differences(one, np.asarray(other))


def _elements(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) or value.ndim else [value]
