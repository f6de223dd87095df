"""Where the time of a run goes: regions, loops, iterations, native nests, operators, calls."""

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
