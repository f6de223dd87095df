"""What a profile says: seconds of one run, by region, loop, native nest, operator and call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegionCost:
    """What one engine runs as a whole, or a step of interp: seconds in a run, how often it ran."""

    path: str
    engine: str
    operators: str
    seconds: float
    times: float


@dataclass(frozen=True, slots=True)
class LoopCost:
    """A loop: seconds in a run, how often it ran, its iterations in all of these.

    `first`, `steady` and `last` are the seconds of the first iteration, of one between, and of the
    last; None where they are not told apart.
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

    What has no clock of its own comes as "shorter steps" of its loop.
    """

    loop: str
    words: str
    seconds: float
    times: float


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """An operator that interp or onnxruntime runs, at its path: seconds in a run, how often."""

    path: str
    operator: str
    engine: str
    seconds: float
    times: float


@dataclass(frozen=True, slots=True)
class CallCost:
    """A call out of native code, in the loop at `loop`, and why it is one."""

    loop: str
    operator: str
    why: str
    seconds: float
    times: float
