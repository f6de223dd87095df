"""The implementation of `treadle check` for many models: find, check, repair, compare, print."""

from treadle.cli.checking.run import Plan, run

__all__ = ["Plan", "run"]
