"""Runs plans: regions in order, fallback, and ownership of results."""

from treadle.execution.program import Expand, Program, prepare

__all__ = ["Expand", "Program", "prepare"]
