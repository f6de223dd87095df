"""docs/native.md is true; `pytest tests/jit/test_table.py --update-golden` writes it anew."""

import difflib
from pathlib import Path

import pytest

from treadle import ops
from treadle.jit.lower import TABLE
from treadle.jit.table import native_page

PAGE = Path(__file__).parents[2] / "docs" / "native.md"


def test_the_page_is_true(request: pytest.FixtureRequest) -> None:
    wanted = native_page()
    if request.config.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    difference = difflib.unified_diff(
        page.splitlines(), wanted.splitlines(), "docs/native.md", "the registry", lineterm="", n=0
    )
    command = "pytest tests/jit/test_table.py --update-golden"
    assert page == wanted, "\n".join([command, *difference])


@pytest.mark.parametrize(("op", "version"), TABLE)
def test_what_is_lowered_is_of_the_standard(op: str, version: int) -> None:
    assert ops.schema("", op, version) is not None
    assert ops.kernel("", op, version) is not None
