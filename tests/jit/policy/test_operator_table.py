"""docs/native.md lists the registered lowerings; `--update-golden` writes it."""

from collections.abc import Callable

import pytest

from treadle import ops
from treadle.jit.lowering import TABLE
from treadle.jit.policy.operator_table import operators_page


def test_the_operator_page_is_up_to_date(page: Callable[[str, str], None]) -> None:
    page("native.md", operators_page())


@pytest.mark.parametrize(("op", "version"), TABLE)
def test_lowerings_are_of_versions_in_the_standard(op: str, version: int) -> None:
    assert ops.schema("", op, version) is not None
    assert ops.kernel("", op, version) is not None
