"""What all verbs have: help with an example, exit codes, errors without a traceback."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import Treadle
from treadle import __version__
from treadle.cli import main

ROOT = Path(__file__).parent.parent.parent
VERBS = sorted(main.commands)


def test_the_verbs() -> None:
    assert VERBS == ["check", "convert", "demo", "explain", "infer", "inspect", "optimize", "run"]


def test_version(treadle: Treadle) -> None:
    assert treadle("--version").out == f"treadle, version {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_and_json(treadle: Treadle, verb: str) -> None:
    shown = treadle(verb, "--help").out
    assert "Example:" in shown
    assert f"$ treadle {verb}" in shown
    assert "--json" in shown


def test_help_lists_every_verb(treadle: Treadle) -> None:
    shown = treadle("--help").out
    assert all(f"\n  {verb} " in shown for verb in VERBS)


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "demo"])
def test_an_unknown_file_is_a_wrong_command(treadle: Treadle, verb: str) -> None:
    done = treadle(verb, "nowhere.onnx")
    assert done.code == 2
    assert "'nowhere.onnx' does not exist" in done.err


@pytest.mark.parametrize("verb", [v for v in VERBS if v != "demo"])
@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x0a\x12\xff", b"<ir_version: 10"])
def test_no_model_is_a_wrong_model(
    treadle: Treadle, verb: str, content: bytes, tmp_path: Path
) -> None:
    for name in ("bad.onnx", "bad.onnxtxt"):
        (tmp_path / name).write_bytes(content)
        done = treadle(verb, tmp_path / name)
        assert done.code == 1
        assert "CF0" in done.out + done.err
        assert "Traceback" not in done.out + done.err


def test_an_error_as_data(treadle: Treadle, folder: Path) -> None:
    done = treadle("inspect", folder / "broken.onnxtxt", "--json")
    assert done.code == 1
    error = done.data["error"]
    assert error["kind"] == "LoadError"
    assert [finding["code"] for finding in error["findings"]] == ["CF101"]


def test_as_a_module_without_a_traceback(folder: Path) -> None:
    command = [sys.executable, "-m", "treadle.cli", "explain", str(folder / "broken.onnxtxt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_script_is_the_group() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"treadle": "treadle.cli:main"}


def test_a_folder_that_cannot_be_written_to(treadle: Treadle, folder: Path) -> None:
    done = treadle(
        "run", folder / "newton.onnxtxt", "-i", "a=2", "--output", folder / "no" / "out.npz"
    )
    assert done.code == 2
    assert "No such file or directory" in done.err


def test_without_a_script() -> None:
    command = [sys.executable, "-m", "treadle", "--version"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown == f"treadle, version {__version__}\n"
