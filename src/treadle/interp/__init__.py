"""Runs a plan with numpy: the living definition of the semantics."""

from treadle.interp.engine import Program, prepare
from treadle.interp.executable import Expand

__all__ = ["Expand", "Program", "prepare"]
