"""Runs a plan with numpy: the living definition of what If, Loop and Scan mean."""

from treadle.interp.engine import Interpreter, prepare

__all__ = ["Interpreter", "prepare"]
