"""What a command shows on a terminal: its progress, and log messages with -v."""

from __future__ import annotations

import io
import logging
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Treadle
from treadle.cli.output import working
from treadle.jit.runtime import compilation


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


@pytest.mark.parametrize("flag", ["-v", "-vv"])
def test_verbose_commands_log_while_they_run(
    treadle: Treadle, folder: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    monkeypatch.setattr(compilation, "_recent", {})
    logger = logging.getLogger("treadle")
    before = logger.level, logger.handlers[:]
    done = treadle("run", folder / "newton.onnxtxt", "--random", flag)
    assert done.code == 0
    assert re.search(r"^ *\d+ ms  main: compiled in ", done.err, re.MULTILINE)
    assert (logger.level, logger.handlers) == before
