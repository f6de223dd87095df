"""Repairs of models: one file each, for rules whose breach has a safe way out."""

from treadle.passes.fixes.fix import Fix, fixed_by_reading
from treadle.passes.fixes.table import FOR_RUNTIMES, REPAIRED, repair

__all__ = ["FOR_RUNTIMES", "REPAIRED", "Fix", "fixed_by_reading", "repair"]
