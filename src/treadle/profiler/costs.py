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
    """A loop nest of native code that takes a microsecond or more, in the loop at `loop`.

    Steps without a clock of their own are listed as "shorter steps" of their loop.
    """

    loop: str
    words: str
    seconds: float
    times: float


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
