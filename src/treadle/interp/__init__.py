"""Runs a plan with numpy: the living definition of the semantics."""

from treadle.interp.action import Expand
from treadle.interp.engine import Program, prepare

__all__ = ["Expand", "Program", "prepare"]
