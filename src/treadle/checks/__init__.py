"""Rules that decide whether a model is well formed: one file per subject."""

from treadle.checks import branch, loop, scan
from treadle.checks.examples import HEADER, Example, examples, whole
from treadle.checks.loop import stays_true
from treadle.checks.model import advice, check, infer_with_findings
from treadle.checks.rules import RULES, Rule, finding
from treadle.checks.runtimes import (
    RUNTIMES,
    ExtentDemand,
    ExtentNeed,
    bugs_of,
    extent_demands,
    extent_refusal,
    extents_meet,
    known_extents,
    lost_elements,
    may_be_wrong,
)
from treadle.checks.types import kinds_contradict, shapes_contradict

__all__ = [
    "HEADER",
    "RULES",
    "RUNTIMES",
    "Example",
    "ExtentDemand",
    "ExtentNeed",
    "Rule",
    "advice",
    "branch",
    "bugs_of",
    "check",
    "examples",
    "extent_demands",
    "extent_refusal",
    "extents_meet",
    "finding",
    "infer_with_findings",
    "kinds_contradict",
    "known_extents",
    "loop",
    "lost_elements",
    "may_be_wrong",
    "scan",
    "shapes_contradict",
    "stays_true",
    "whole",
]
