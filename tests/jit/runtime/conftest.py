"""What the tests of background compiling share."""

from __future__ import annotations

import pytest

from tests.jit.runtime.test_compile_modes import PATIENCE
from treadle.jit.runtime import background
from treadle.session import interim


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> background._Worker:
    """A thread and a process of its own for each test; all calls are short on a busy machine."""
    monkeypatch.setattr(interim, "_SHORT", PATIENCE)
    made = background._Worker()
    monkeypatch.setattr(background, "_worker", made)
    return made
