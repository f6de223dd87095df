"""The short forms of the soak."""

from __future__ import annotations

import random

import pytest

from tools.soak.__main__ import PARTS, SHORT


@pytest.mark.parametrize("part", PARTS)
def test_short_soaks_find_nothing(part):
    assert PARTS[part](random.Random(7), SHORT)
