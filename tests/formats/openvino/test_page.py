"""docs/openvino.md: its tables of supported layers are generated here.

`pytest tests/formats/openvino/test_page.py --update-golden` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.formats.openvino.deviations import DEVIATIONS
from treadle.formats.openvino.operators import OPERATORS

PAGE = Path(__file__).parents[3] / "docs" / "openvino.md"


def _operators() -> Iterator[str]:
    yield "| operator | from opset | as one ONNX operator |"
    yield "|---|---|---|"
    for rows in sorted(OPERATORS.values(), key=lambda each: next(iter(each.values())).type.lower()):
        first = next(iter(rows.values()))
        versions = ", ".join(map(str, sorted(rows)))
        yield f"| {first.type} | {versions} | {first.onnx} |"


def _deviations() -> Iterator[str]:
    yield "| | OpenVINO | treadle |"
    yield "|---|---|---|"
    for each in DEVIATIONS.values():
        yield f"| {each.case} | {each.openvino} | {each.treadle} |"


@pytest.mark.parametrize(
    ("name", "table"),
    [("operators", _operators), ("deviations", _deviations)],
)
def test_a_table_of_the_page_is_up_to_date(
    name: str, table: Callable[[], Iterator[str]], request: pytest.FixtureRequest
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    start, end = f"<!-- {name}, written by a test -->\n", "<!-- end -->\n"
    head, found, rest = page.partition(start)
    assert found, f"the page has no {start}"
    wanted = head + start + "\n".join(["", *table(), "", end]) + rest.partition(end)[2]
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == wanted, "run this with --update-golden"
