"""What a command shows on a terminal: its progress, and log messages with -v."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Treadle
from treadle.cli.output import working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("parts", "shown"), [(2, "2/2"), (None, "0:00:0")])
def test_progress_is_shown(parts: int | None, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with working("Mapping rows", of=parts) as advance:
        for _ in range(parts or 0):
            advance()
    assert "Mapping rows" in screen.getvalue()
    assert shown in screen.getvalue()


def test_quiet_shows_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with working("Mapping rows", quiet=True) as advance:
        advance()
    assert screen.getvalue() == ""


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    found = logging.getLogger("treadle")
    kept = found.handlers[:], found.level
    yield found
    found.handlers[:], level = kept
    found.setLevel(level)


@pytest.mark.parametrize(("flag", "level"), [("-v", logging.INFO), ("-vv", logging.DEBUG)])
def test_verbose_commands_log(
    treadle: Treadle, folder: Path, logger: logging.Logger, flag: str, level: int
) -> None:
    done = treadle("check", folder / "newton.onnxtxt", flag)
    assert done.code in (0, 1)
    assert logger.level == level
    (handler,) = logger.handlers
    record = logging.LogRecord("treadle", level, "", 0, "a message", None, None)
    assert handler.format(record).endswith(" ms  a message")
