"""Repairs of models: one file each, for rules whose breach has a safe way out."""

from treadle.passes.repairs.mended import Mended
from treadle.passes.repairs.table import REPAIRED, repair

__all__ = ["REPAIRED", "Mended", "repair"]
