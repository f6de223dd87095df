"""Random programs and shapes: native code and interp agree in outputs and errors."""

from __future__ import annotations

import random
import time
import warnings
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

import treadle
from tests.strategies import Program, programs
from tests.values import differences
from tools.soak.loops import random_loop
from tools.soak.stacks import random_stack
from treadle.errors import RunError

_BATCH = 20
Arrays = list[np.ndarray]


def soak(chance: random.Random, seconds: float) -> str:
    """Programs by turns from all sources until the time is over."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += _drawn(chance.randrange(2**32))
        for _ in range(_BATCH):
            compare(random_loop(chance))
            compare(random_stack(chance))
            count += 2
    return f"{count} programs, the same answers as interp"


def _drawn(number: int) -> int:
    """A batch of nested programs over small operators."""

    @seed(number)
    @settings(
        max_examples=_BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def check(program: Program) -> None:
        compare(program)

    check()
    return _BATCH


def compare(program: Program) -> None:
    """Both answers, or the program that has two."""
    try:
        _compare(program)
    except AssertionError as error:
        raise AssertionError(f"{error}\n{program}") from error


def _compare(program: Program) -> None:
    wanted = _answer(program, ("interp",), 1)
    found = _answer(program, ("jit", "interp"), 2)
    if isinstance(wanted, str) or isinstance(found, str):
        assert isinstance(wanted, str), f"{found}, where interp has an answer"
        assert isinstance(found, str), f"an answer, where interp says {wanted}"
        return
    lines = [
        line
        for number, (f, w) in enumerate(zip(found, wanted, strict=True))
        for line in differences(f, w, f"output {number}")
    ]
    assert not lines or _agrees_by_steps(program, wanted), lines[0][:500]


def _agrees_by_steps(program: Program, wanted: Arrays) -> bool:
    """Whether every iteration alone, from interp's own states, has the same answers.

    Iterations that stretch differences make much of the 2 ULP that a function may be off. Only of
    loops whose trip count is fed as "n", and whose first outputs are the last states of the inputs
    "p0", "p1", ...
    """
    trips = program.feeds.get("n")
    if trips is None:
        return False
    states = sorted(name for name in program.feeds if name.startswith("p"))
    feeds = dict(program.feeds)
    for _ in range(int(trips)):
        step = replace(program, feeds={**feeds, "n": np.array(1)})
        one, other = (_answer(step, engines, 1) for engines in (("interp",), ("jit", "interp")))
        if isinstance(one, str) or isinstance(other, str):
            return False
        if any(line for f, w in zip(other, one, strict=True) for line in differences(f, w, "")):
            return False
        feeds.update(zip(states, one, strict=False))
    return all(map(np.array_equal, (feeds[name] for name in states), wanted))


def _answer(program: Program, engines: tuple[str, ...], times: int) -> list[np.ndarray] | str:
    """The outputs, or the error in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = treadle.InferenceSession(program.text, engines=engines)
        try:
            for _ in range(times):
                found = session.run(None, dict(program.feeds))
        except RunError as error:
            return type(error).__name__
    return found
