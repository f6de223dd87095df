"""What `treadle check` does with many models: finds them, checks, mends, compares and prints."""

from treadle.cli.checking.run import Plan, run

__all__ = ["Plan", "run"]
