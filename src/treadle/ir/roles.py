"""The roles of a loop body's parameters, and how results are stacked.

params  = Iteration | Condition | Invariant | Carried | Sliced(axis, reverse)      any order
results = next condition, then one per Carried in the order of their params, one per Stacked
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Iteration:
    """The iteration number: int64, scalar, from 0."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition under which this iteration began: always true."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """The same outer value in every iteration."""


@dataclass(frozen=True, slots=True)
class Carried:
    """The initial value in iteration 0, then the body's previous result.

    The last one is a loop result.
    """


@dataclass(frozen=True, slots=True)
class Sliced:
    """Item `i` of an outer value along `axis`, the axis removed; from the last when `reverse`."""

    axis: int = 0
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Stacked:
    """The body's results of all iterations along a new `axis`; the last first when `reverse`."""

    axis: int = 0
    reverse: bool = False


Role = Iteration | Condition | Invariant | Carried | Sliced
