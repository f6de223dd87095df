"""The records of a profile: seconds of one run, by region, loop, nest, operator and call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionCost:
    """A region of an engine, or a step of interp: its seconds in a run, and its number of runs."""

    path: str
    engine: str
    operators: str
    seconds: float
    times: float


@dataclass(frozen=True, slots=True)
class LoopCost:
    """A loop: its seconds in a run, its number of runs, and their iterations in all.

    `first`, `steady` and `last` are the seconds of the first iteration, of one in between, and of
    the last; None if they are not measured separately.
    """

    path: str
    engine: str
    seconds: float
    times: float
    iterations: float
    first: float | None = None
    steady: float | None = None
    last: float | None = None


@dataclass(frozen=True, slots=True)
class NestCost:
    """Steps of native code, in the loop at `loop`, "" outside all loops.

    A loop nest that takes a microsecond or more has a clock, and `samples` is 0. Shorter steps
    share what remains of their loop by the number of samples that met them, with a relative
    standard error of 1 / sqrt(samples); "shorter steps" are all of them where nothing was sampled.
    `times` is None where they are not counted.
    """

    loop: str
    words: str
    seconds: float
    times: float | None
    samples: int = 0


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """An operator run by interp or onnxruntime, at its path: its seconds in a run, its count."""

    path: str
    operator: str
    engine: str
    seconds: float
    times: float


@dataclass(frozen=True, slots=True)
class CallCost:
    """A host call, in the loop at `loop`, and its reason."""

    loop: str
    operator: str
    why: str
    seconds: float
    times: float
