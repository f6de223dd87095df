"""The command line: one verb per public function, one file per verb."""

from treadle.cli.main import main

__all__ = ["main"]
