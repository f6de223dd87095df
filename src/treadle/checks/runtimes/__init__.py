"""What a runtime is known not to load, or to answer wrongly: measured, each with its version."""

from treadle.checks.runtimes.table import RUNTIMES, findings

__all__ = ["RUNTIMES", "findings"]
