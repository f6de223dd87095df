"""Every test of native code begins without what this process made before."""

from collections.abc import Iterator

import pytest

from tests.jit.fences import fenced
from treadle.jit import compiling


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    compiling._recent.clear()


@pytest.fixture
def fences() -> Iterator[None]:
    """Whatever the test's kernels allocate ends at a page that nobody may touch."""
    with fenced():
        yield
