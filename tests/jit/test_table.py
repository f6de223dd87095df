"""docs/native.md is true; `pytest tests/jit/test_table.py --update-golden` writes it anew."""

from collections.abc import Callable

import pytest

from treadle import ops
from treadle.jit.lower import TABLE
from treadle.jit.table import native_page


def test_the_page_is_true(page: Callable[[str, str], None]) -> None:
    page("native.md", native_page())


@pytest.mark.parametrize(("op", "version"), TABLE)
def test_what_is_lowered_is_of_the_standard(op: str, version: int) -> None:
    assert ops.schema("", op, version) is not None
    assert ops.kernel("", op, version) is not None
