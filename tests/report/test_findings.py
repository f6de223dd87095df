"""Findings grouped by path."""

from treadle.errors import Finding
from treadle.report import count_findings, show_findings


def test_no_findings() -> None:
    assert show_findings([]) == "no findings"


def test_findings_of_one_path_stand_together() -> None:
    found = [
        Finding("CF101", "error", "main/add_0", '"y" is not defined', 'did you mean "x"?', True),
        Finding("CF001", "warning", "", "odd file"),
        Finding("CF103", "error", "main/add_0", '"x" hides an outer name'),
    ]
    assert show_findings(found).splitlines() == [
        "main/add_0",
        '  CF101 error  "y" is not defined; it cannot run',
        '    did you mean "x"?',
        '  CF103 error  "x" hides an outer name',
        "the model",
        "  CF001 warning  odd file",
        "",
        "2 errors, 1 warning",
    ]
    assert count_findings(found) == {"error": 2, "warning": 1, "advice": 0}
