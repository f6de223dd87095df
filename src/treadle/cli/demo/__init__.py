"""`treadle demo`: three models with control flow, what they do, and how fast."""

from treadle.cli.demo.command import demo

__all__ = ["demo"]
