"""Describes models, plans, findings and values as text for people and data for programs."""

from typing import TYPE_CHECKING

from treadle.lazy_names import lazy_names

if TYPE_CHECKING:
    from treadle.report.body import Port, qualified
    from treadle.report.branch import BranchSummary
    from treadle.report.call import CallSummary
    from treadle.report.compare import (
        Difference,
        Tolerance,
        compare,
        show_differences,
        tolerance_of,
    )
    from treadle.report.data import as_data
    from treadle.report.findings import count_findings, show_findings
    from treadle.report.loop import LoopSummary
    from treadle.report.model import ModelSummary, show_control_flow, show_summary, summarize_model
    from treadle.report.plan import (
        compilations,
        engine_counts,
        explain,
        plan_data,
        seconds_compiling,
        show_code,
    )
    from treadle.report.rules import explain_rule, rules_page
    from treadle.report.sarif import as_sarif
    from treadle.report.text import plural, show_bytes, show_factor, show_seconds, table
    from treadle.report.values import ValueSummary, show_values, summarize_value


__all__ = [
    "BranchSummary",
    "CallSummary",
    "Difference",
    "LoopSummary",
    "ModelSummary",
    "Port",
    "Tolerance",
    "ValueSummary",
    "as_data",
    "as_sarif",
    "compare",
    "compilations",
    "count_findings",
    "engine_counts",
    "explain",
    "explain_rule",
    "plan_data",
    "plural",
    "qualified",
    "rules_page",
    "seconds_compiling",
    "show_bytes",
    "show_code",
    "show_control_flow",
    "show_differences",
    "show_factor",
    "show_findings",
    "show_seconds",
    "show_summary",
    "show_values",
    "summarize_model",
    "summarize_value",
    "table",
    "tolerance_of",
]

__getattr__ = lazy_names(
    __name__,
    {
        "body": ("Port", "qualified"),
        "branch": ("BranchSummary",),
        "call": ("CallSummary",),
        "compare": ("Difference", "Tolerance", "compare", "show_differences", "tolerance_of"),
        "data": ("as_data",),
        "findings": ("count_findings", "show_findings"),
        "loop": ("LoopSummary",),
        "model": ("ModelSummary", "show_control_flow", "show_summary", "summarize_model"),
        "plan": (
            "compilations",
            "engine_counts",
            "explain",
            "plan_data",
            "seconds_compiling",
            "show_code",
        ),
        "rules": ("explain_rule", "rules_page"),
        "sarif": ("as_sarif",),
        "text": ("plural", "show_bytes", "show_factor", "show_seconds", "table"),
        "values": ("ValueSummary", "show_values", "summarize_value"),
    },
)
