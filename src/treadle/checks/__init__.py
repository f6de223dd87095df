"""Is a program well formed? One file per kind of finding."""

from treadle.checks.rules import RULES, Rule, finding

__all__ = ["RULES", "Rule", "finding"]
