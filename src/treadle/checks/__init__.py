"""Is a program well formed? One file per kind of finding."""

from treadle.checks import branch, loop, scan
from treadle.checks.model import check, infer_with_findings
from treadle.checks.rules import RULES, Rule, finding

__all__ = [
    "RULES",
    "Rule",
    "branch",
    "check",
    "finding",
    "infer_with_findings",
    "loop",
    "scan",
]
