"""The short forms of the soak."""

from __future__ import annotations

import random

import pytest

from tools.soak.__main__ import PARTS, SHORT


@pytest.mark.parametrize("part", PARTS)
def test_a_little_of_it(part):
    assert PARTS[part](random.Random(7), SHORT)
