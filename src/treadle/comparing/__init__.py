"""Compares two models, runtimes or recordings: the first place where they differ."""

from treadle.comparing.compare import compare
from treadle.comparing.comparison import Comparison, FirstDifference
from treadle.comparing.matching import Match
from treadle.comparing.order import order_of
from treadle.comparing.runtimes import RUNTIMES
from treadle.comparing.sides import prepared

__all__ = [
    "RUNTIMES",
    "Comparison",
    "FirstDifference",
    "Match",
    "compare",
    "order_of",
    "prepared",
]
