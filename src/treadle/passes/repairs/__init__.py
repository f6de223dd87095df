"""Repairs of models: one file each, for rules whose breach has a safe way out."""

from treadle.passes.repairs.mended import Mended, mended_by_reading
from treadle.passes.repairs.table import FOR_RUNTIMES, REPAIRED, repair

__all__ = ["FOR_RUNTIMES", "REPAIRED", "Mended", "mended_by_reading", "repair"]
