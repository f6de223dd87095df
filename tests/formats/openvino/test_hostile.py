"""Corrupted files give a model, or a LoadError with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.openvino.tampering import attempt


@pytest.mark.parametrize("seed", range(8))
def test_a_file_that_was_tampered_with(seed: int, tmp_path: Path) -> None:
    """The short form of the command in tampering.py."""
    for number in range(50):
        outcome = attempt(f"{seed}-{number}", tmp_path)
        assert outcome.word in ("model", "refused"), f"{seed}-{number}: {outcome.word}"
