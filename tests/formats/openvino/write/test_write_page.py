"""docs/openvino-writing.md: the table of operators that are written.

`pytest tests/formats/openvino/write/test_write_page.py --update-golden` writes the table anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle.formats.openvino.write.operators import ROWS

PAGE = Path(__file__).parents[4] / "docs" / "openvino-writing.md"
START = "<!-- the table of operators, written by a test -->\n"


def _table() -> str:
    lines = ["| operator | as one layer |", "|---|---|"]
    for row in sorted(ROWS.values(), key=lambda each: (each.op.lower(), each.domain)):
        name = f"{row.domain}::{row.op}" if row.domain else row.op
        lines.append(f"| {name} | {row.layer} |")
    return "\n".join([*lines, ""])


def test_the_page_lists_every_operator(request: pytest.FixtureRequest) -> None:
    head, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    wanted = f"{head}{START}\n{_table()}"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "run this with --update-golden"


def test_the_table_has_at_least_130_operators() -> None:
    assert len(ROWS) >= 130
