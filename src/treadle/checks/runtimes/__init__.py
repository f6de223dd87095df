"""Models that a runtime fails to load or answers wrongly, measured on the named version."""

from treadle.checks.runtimes.extents import (
    ExtentDemand,
    ExtentNeed,
    extent_demands,
    extent_refusal,
    extents_meet,
    known_extents,
)
from treadle.checks.runtimes.known_bugs import KnownBug, bugs_of, lost_elements
from treadle.checks.runtimes.reach import may_be_wrong
from treadle.checks.runtimes.table import RUNTIMES, findings

__all__ = [
    "RUNTIMES",
    "ExtentDemand",
    "ExtentNeed",
    "KnownBug",
    "bugs_of",
    "extent_demands",
    "extent_refusal",
    "extents_meet",
    "findings",
    "known_extents",
    "lost_elements",
    "may_be_wrong",
]
