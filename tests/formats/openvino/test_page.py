"""docs/openvino.md: what is read of OpenVINO IR, and the table of operators.

`pytest tests/formats/openvino/test_page.py --update-golden` writes the table anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.formats.openvino.operators import OPERATORS

PAGE = Path(__file__).parents[3] / "docs" / "openvino.md"
START = "<!-- the table of operators, written by a test -->\n"


def _table() -> str:
    lines = ["| operator | from opset | as one ONNX operator |", "|---|---|---|"]
    for rows in sorted(OPERATORS.values(), key=lambda each: next(iter(each.values())).type.lower()):
        first = next(iter(rows.values()))
        versions = ", ".join(map(str, sorted(rows)))
        lines.append(f"| {first.type} | {versions} | {first.onnx} |")
    return "\n".join([*lines, ""])


def test_the_page_lists_every_operator(request: pytest.FixtureRequest) -> None:
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    wanted = f"{head}{START}\n{_table()}"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "run this with --update-golden"
