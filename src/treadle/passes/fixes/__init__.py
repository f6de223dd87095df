"""Fixes of models, one per file, for rules with a safe repair."""

from treadle.passes.fixes.fix import Fix, fixed_by_reading
from treadle.passes.fixes.table import FOR_RUNTIMES, REPAIRED, repair

__all__ = ["FOR_RUNTIMES", "REPAIRED", "Fix", "fixed_by_reading", "repair"]
