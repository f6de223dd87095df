"""`treadle debug`: its commands from a pipe and on a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Treadle

FAILS = """
<ir_version: 10, opset_import: ["" : 21]>
fails (float[3] x, int64 n) => (float last)
{
  zero = Constant <value_float = 0.0> ()
  last = Loop <body = b (int64 i, bool go, float h) => (bool on, float sum)
    {
      item = Gather (x, i)
      sum = Add (h, item)
      on = Identity (go)
    }> (n, , zero)
}
"""


@pytest.fixture
def debug(treadle: Treadle, folder: Path):
    """What each command of a script prints, at the prompt of a model."""

    def run(*commands: str, model: str = "newton", inputs: tuple[str, ...] = ("-i", "a=4")):
        script = "\n".join(commands).encode()
        return treadle("debug", folder / f"{model}.onnxtxt", *inputs, given=script)

    return run


def test_stepping_and_going_back(debug) -> None:
    done = debug("until sum", "step", "back", "iteration", "out", "quit")
    assert done.code == 0
    assert done.out.splitlines() == [
        "at main/loop_2.body/sum, iteration 0 of main/loop_2: float32[] 5",
        "at main/loop_2.body/better, iteration 0 of main/loop_2: float32[] 2.5",
        "at main/loop_2.body/sum, iteration 0 of main/loop_2: float32[] 5",
        "at the beginning of iteration 1 of main/loop_2",
        "at the end of main/loop_2",
    ]


def test_the_model_must_leave_standard_input_to_the_commands(treadle: Treadle) -> None:
    done = treadle("debug", "-", "--random", given=FAILS.encode())
    assert done.code == 2
    assert "commands are read from standard input, which the model came from" in done.err


def test_letters_stand_for_commands(debug) -> None:
    assert (
        debug("u better < 2.2", "b", "s", "n", "w", "q").out
        == debug("until better < 2.2", "back", "step", "iteration", "where", "quit").out
    )


def test_printing_a_value_and_the_steps_around(debug) -> None:
    done = debug("until better < 2.2", "print better", "print main/loop_2.body/x", "list")
    assert "float32[] 2.05\nfloat32[] 2.5\n" in done.out
    assert "-> mul_4  better = Mul (half, sum)\n" in done.out


def test_the_end_of_the_run_prints_its_outputs(debug) -> None:
    out = debug("step 1000", "step", "where").out
    assert out.startswith("the run is over\nroot = float32[] 2\nguesses = float32[")
    assert out.count("the run is over") == 2


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("until sums", 'nothing matches "sums"; did you mean "sum"?'),
        ("until", "until needs a selector"),
        ("until sum >> 3", 'around is ">> 3"'),
        ("print sum", 'nothing was made of "sum" so far'),
        ("step back", '"back" is no number of values'),
        ("jump", '"jump" is no command; help lists them'),
        ("help jump", '"jump" is no command'),
        ("back", "no earlier value is kept"),
    ],
)
def test_errors_leave_the_prompt(debug, command, told) -> None:
    done = debug(command, "until sum", "quit")
    assert told in done.out
    assert done.out.endswith("float32[] 5\n")
    assert done.code == 0


def test_a_run_that_fails(debug, folder: Path) -> None:
    (folder / "fails.onnxtxt").write_text(FAILS)
    inputs = ("-i", "x=[1, 2, 3]", "-i", "n=9")
    done = debug("step 100", "print sum", model="fails", inputs=inputs)
    assert "the run fails: main/loop_1.body/gather_0, iteration 3" in done.out
    assert done.out.endswith("float32[] 6\n")
    assert done.code == 1


def test_help_has_every_command(debug) -> None:
    lines = debug("help").out.splitlines()
    assert [line[3:].split()[0] for line in lines] == sorted(
        ["step", "iteration", "out", "until", "print", "back", "where", "list", "quit", "help"]
    )


def test_the_prompt_on_a_terminal(folder: Path) -> None:
    here, there = pty.openpty()
    command = [sys.executable, "-m", "treadle", "debug", str(folder / "newton.onnxtxt")]
    process = subprocess.Popen(
        [*command, "-i", "a=4"],
        stdin=there, stdout=there, stderr=there, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(there)
    os.write(here, b"until sum\nquit\n")
    shown = b""
    try:
        while part := os.read(here, 4096):
            shown += part
    except OSError:
        pass  # the terminal is closed
    assert process.wait(60) == 0
    assert b"(debug) " in shown
    assert b"sum, iteration 0 of main/loop_2: float32[] 5" in shown
