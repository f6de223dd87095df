"""Profiling of runs: times of regions, loops, iterations, native nests, operators, host calls."""

from treadle.profiler.costs import CallCost, LoopCost, NestCost, OperatorCost, RegionCost
from treadle.profiler.measure import profile
from treadle.profiler.result import RunProfile

__all__ = [
    "CallCost",
    "LoopCost",
    "NestCost",
    "OperatorCost",
    "RegionCost",
    "RunProfile",
    "profile",
]
