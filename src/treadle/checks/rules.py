"""The table of rules: a code, how severe it is, whether it blocks running, and its clause.

Codes: CF0 the file, CF1 names and scopes, CF2 counts of inputs and outputs, CF3 types and shapes,
CF4 loops, CF5 scans, CF6 branches, CF7 functions and opsets.
"""

from __future__ import annotations

from dataclasses import dataclass

from treadle.errors import Finding, Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding; `clause` names what of the standard it rests on."""

    code: str
    severity: Severity
    blocks: bool
    title: str
    clause: str = ""


_NAMES = "IR.md, Names Within a Graph"
_SCHEMA = "Operators.md, min and max inputs and outputs"
_BODY = "Operators.md, body attribute"
_LOOP = "Operators.md, Loop"
_SCAN = "Operators.md, Scan"
_IF = "Operators.md, If"
_TABLE = (
    Rule("CF001", "error", True, "The source is no model"),
    Rule("CF002", "error", True, "A tensor's data cannot be had"),
    Rule("CF003", "error", True, "An IR version this build does not read"),
    Rule("CF101", "error", True, "A name that nothing defines", _NAMES),
    Rule("CF102", "error", True, "A name defined twice in one graph", _NAMES),
    Rule("CF103", "error", False, "A body's name that hides an outer one", _NAMES),
    Rule("CF104", "error", True, "An outer value returned directly by a body", "IR.md, Graphs"),
    Rule("CF105", "error", True, "A value used before the node that defines it", "IR.md, Graphs"),
    Rule("CF106", "error", True, "A body input that is also an initializer", "IR.md, Graphs"),
    Rule("CF201", "error", True, "Too few or too many inputs of a control-flow node", _SCHEMA),
    Rule("CF202", "error", True, "A control-flow node without outputs", _SCHEMA),
    Rule("CF203", "error", True, "A body with another number of inputs than it is given", _BODY),
    Rule("CF204", "error", True, "A body with another number of outputs than needed", _BODY),
    Rule("CF205", "error", True, "A variadic input that is left out", "IR.md, Variadic Inputs"),
    Rule("CF206", "error", True, "A control-flow node without its graph", _BODY),
    Rule("CF501", "error", True, "num_scan_inputs missing or out of range", _SCAN),
    Rule("CF502", "error", True, "Scan axes: not one for each scanned value", _SCAN),
    Rule("CF503", "error", True, "Scan directions: not one for each scanned value", _SCAN),
    Rule("CF504", "error", True, "A Scan direction other than 0 and 1", _SCAN),
    Rule("CF601", "error", True, "A branch that declares an input", _IF),
    Rule("CF701", "error", True, "An operator this opset does not have", "Versioning.md"),
    Rule("CF702", "error", True, "A domain whose opset is not imported", "IR.md, Operator Sets"),
    Rule("CF703", "error", True, "An opset newer than this build knows", "Versioning.md"),
    Rule("CF704", "error", True, "A function that calls itself", "IR.md, Functions"),
)  # fmt: skip

RULES = {rule.code: rule for rule in _TABLE}


def finding(code: str, path: str, message: str, hint: str = "") -> Finding:
    """The finding of a rule at a path."""
    rule = RULES[code]
    return Finding(rule.code, rule.severity, path, message, hint, rule.blocks)
