"""Every test of native code begins without what this process made before."""

import pytest

from treadle.jit import compiling


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    compiling._recent.clear()
