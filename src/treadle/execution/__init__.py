"""Runs plans: regions of engines and of interp in order, fallback, ownership of results."""

from treadle.execution.program import Expand, Program, prepare

__all__ = ["Expand", "Program", "prepare"]
