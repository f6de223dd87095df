"""Output of commands: stdout and stderr, colour, width, suffixes, standard input, Ctrl-C."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Treadle
from treadle.cli.options import Piped
from treadle.cli.output import wrapped
from treadle.report import show_factor

COMMAND = [sys.executable, "-m", "treadle"]


def on_terminal(*arguments: object, columns: int) -> list[str]:
    """The lines a verb prints on a terminal of this width, stdout and stderr, without colour."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "NO_COLOR": "1", "TERM": "xterm"}
    streams = {"stdin": follower, "stdout": follower, "stderr": follower}
    process = subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment, **streams)
    os.close(follower)
    shown = b""
    while select.select([leader], [], [], 20)[0]:
        try:
            shown += os.read(leader, 1 << 16)
        except OSError:  # the other side is closed
            break
    process.wait()
    os.close(leader)
    return [
        line.split("\r")[-1].rstrip() for line in shown.decode().replace("\r\n", "\n").split("\n")
    ]


@pytest.mark.parametrize("columns", [80, 120])
def test_lines_fit_a_terminal(folder: Path, columns: int) -> None:
    lines = on_terminal("inspect", folder / "newton.onnxtxt", "-q", columns=columns)
    assert any("stops when go_on" in line for line in lines)
    assert columns - 30 < max(map(len, lines)) <= columns


def test_words_are_never_broken() -> None:
    long = "a" * 30
    assert wrapped(f"  code  see {long} there", 20) == f"  code  see\n        {long}\n        there"


def test_colour_is_chosen_by_option_and_environment(treadle: Treadle, folder: Path) -> None:
    def is_coloured(*options: str, **variables: str) -> bool:
        unset: dict[str, str | None] = {"NO_COLOR": None, "FORCE_COLOR": None}
        model = folder / "broken.onnxtxt"
        return "\x1b[" in treadle("check", model, *options, **(unset | variables)).out

    assert not is_coloured()
    assert is_coloured(FORCE_COLOR="1")
    assert is_coloured("--color", "always", NO_COLOR="1")
    assert not is_coloured(FORCE_COLOR="1", NO_COLOR="1")
    assert not is_coloured("--color", "never", FORCE_COLOR="1")


@pytest.mark.parametrize("verb", ["check", "inspect", "infer", "explain", "optimize"])
def test_a_model_may_be_piped_in(treadle: Treadle, folder: Path, verb: str) -> None:
    done = treadle(verb, "-", given=(folder / "newton.onnxtxt").read_bytes())
    assert done.code == 0, done.err
    assert done.out


def test_a_binary_model_may_be_piped_in(treadle: Treadle, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "newton.onnx"
    assert treadle("convert", folder / "newton.onnxtxt", "-o", target).code == 0
    done = treadle("run", "-", "-i", "a=2", "-q", given=target.read_bytes())
    assert (done.code, "1.41421" in done.out) == (0, True)
    empty = treadle("inspect", "-")
    assert (empty.code, "standard input is empty" in empty.err) == (2, True)
    bad = treadle("inspect", "-", given=b"no model")
    assert (bad.code, "CF001" in bad.err) == (1, True)
    assert f"{Piped(b'x')}" == "standard input"


def test_quiet_prints_results_alone(treadle: Treadle, folder: Path) -> None:
    model = folder / "newton.onnxtxt"
    assert treadle("run", model, "-i", "a=2").err.startswith("ran in ")
    assert treadle("run", model, "-i", "a=2", "-q").err == ""


@pytest.mark.parametrize(
    "arguments",
    [("optimize", "-o", "x.txt"), ("convert", "-o", "x.pb"), ("run", "--output", "x.csv")],
)
def test_a_suffix_that_is_not_written(treadle: Treadle, folder: Path, arguments) -> None:
    verb, option, target = arguments
    done = treadle(verb, folder / "newton.onnxtxt", option, folder / target)
    assert done.code == 2
    assert f'{target}" does not end in .' in done.err
    assert not (folder / target).exists()


def test_interrupted_by_the_keyboard(folder: Path) -> None:
    command = [*COMMAND, "run", str(folder / "endless.onnxtxt"), "-i", "start=1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    # a shell tells 130 for both: Python ends by the signal itself where it came during an import
    assert process.returncode in (130, -signal.SIGINT)
    assert told == "interrupted\n"


@pytest.mark.parametrize(
    ("seconds", "other", "words"),
    [
        (1.0, 8.3, "8.3 times faster"),
        (1e-6, 1e-3, "1,000 times faster"),
        (8.3, 1.0, "8.3 times slower"),
        (1.0, 1.01, "as fast"),
        (1.0, 0.0, "as fast"),
    ],
)
def test_times_are_reported_as_factors(seconds: float, other: float, words: str) -> None:
    assert show_factor(seconds, other) == words
