"""The oracle, one for a run of the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.openvino.oracle import Oracle, why_not


@pytest.fixture(scope="session")
def oracle() -> Iterator[Oracle]:
    if why_not():
        pytest.skip(why_not())
    made = Oracle()
    yield made
    made.close()
