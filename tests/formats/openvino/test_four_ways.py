"""Random IR programs give the same outputs in four ways of running them (short form)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.openvino.fourways import complaints
from tools.openvino.oracle import Oracle, why_not

PROGRAMS = [f"0-{number}" for number in range(6)]


@pytest.fixture(scope="module")
def asked(request: pytest.FixtureRequest) -> Oracle | None:
    """OpenVINO, where it is there: the other ways are compared all the same."""
    return None if why_not() else request.getfixturevalue("oracle")


@pytest.mark.parametrize("seed", PROGRAMS)
def test_four_ways_of_running_agree(seed: str, asked: Oracle | None, tmp_path: Path) -> None:
    assert complaints(seed, tmp_path, asked) == []
