"""The command line: one command per public function, one file per command."""

from treadle.cli.main import main

__all__ = ["main"]
