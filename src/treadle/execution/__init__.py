"""Runs plans: regions in order, fallback, and ownership of results."""

from treadle.execution.named_call import call_by_name
from treadle.execution.ownership import returns_fresh_arrays
from treadle.execution.program import Expand, Program, prepare

__all__ = ["Expand", "Program", "call_by_name", "prepare", "returns_fresh_arrays"]
