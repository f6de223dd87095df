"""`treadle demo`: three models with control flow, their results and speed."""

from treadle.cli.demo.command import demo

__all__ = ["demo"]
