"""Models that a runtime fails to load or answers wrongly, measured on the named version."""

from treadle.checks.runtimes.known_bugs import KnownBug, bugs_of, lost_elements
from treadle.checks.runtimes.reach import may_be_wrong
from treadle.checks.runtimes.table import RUNTIMES, findings

__all__ = ["RUNTIMES", "KnownBug", "bugs_of", "findings", "lost_elements", "may_be_wrong"]
