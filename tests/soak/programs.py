"""Random programs and random shapes: native code and interp give the same, or fail the same."""

from __future__ import annotations

import random
import time
import warnings
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

import treadle
from tests.soak.loops import random_loop
from tests.strategies import Program, programs
from tests.values import differences
from treadle.errors import RunError

_BATCH = 20
_FACTOR = 20
Arrays = list[np.ndarray]


def soak(chance: random.Random, seconds: float) -> str:
    """Programs by turns from both sources until the time is over."""
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += _drawn(chance.randrange(2**32))
        for _ in range(_BATCH):
            compare(random_loop(chance))
            count += 1
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
    assert not lines or _is_no_further(program, found, wanted), lines[0][:500]


def _is_no_further(program: Program, found: Arrays, wanted: Arrays) -> bool:
    """Whether interp's own answer moves as far when what is fed changes in its last bit.

    Iterations that stretch differences make much of the 2 ULP that a function may be off.
    """
    nudged = {
        name: np.nextafter(array, np.array(np.inf, array.dtype))
        if array.dtype.kind == "f"
        else array
        for name, array in program.feeds.items()
    }
    moved = _answer(replace(program, feeds=nudged), ("interp",), 1)
    if isinstance(moved, str):
        return False
    return all(
        _distance(f, w) <= _FACTOR * _distance(m, w)
        for f, w, m in zip(found, wanted, moved, strict=True)
    )


def _distance(one: np.ndarray, other: np.ndarray) -> float:
    if one.shape != other.shape or one.dtype != other.dtype:
        return np.inf
    if one.dtype.kind != "f":
        return 0.0 if np.array_equal(one, other) else np.inf
    with np.errstate(invalid="ignore"):
        apart = np.abs(one.astype(np.float64) - other)
    apart = np.where((one == other) | (np.isnan(one) & np.isnan(other)), 0.0, apart)
    return float(np.max(np.nan_to_num(apart, nan=np.inf), initial=0.0))


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
