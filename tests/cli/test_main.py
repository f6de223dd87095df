"""All commands: help with an example, exit codes, errors without a traceback."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import Treadle
from treadle import __version__, checks
from treadle.cli.check import RUNTIMES
from treadle.cli.main import GROUPS
from treadle.cli.main import __file__ as verb_file

ROOT = Path(__file__).parent.parent.parent
VERBS = sorted(verb for verbs in GROUPS.values() for verb in verbs)
WITHOUT_MODEL = {"cache", "compare", "completion", "demo", "map", "surgery"}
READERS = [verb for verb in VERBS if verb not in WITHOUT_MODEL]
MORE = {"reduce": ("--check", "false", "-o", "never-made"), "report": ("-o", "never-made.html")}
"""What a verb wants besides a model."""
HEAVY = {"llvmlite", "ml_dtypes", "numpy", "onnx", "onnxruntime", "rich"}
IMPORTED = """
import sys
sys.argv[0] = "treadle"
from treadle.cli import main
try:
    main(prog_name="treadle")
finally:
    print("imported", *sys.modules, file=sys.stderr)
"""


def test_every_verb_is_in_one_group() -> None:
    folder = Path(verb_file).parent
    made = [path for path in folder.rglob("*.py") if "cls=Verb" in path.read_text(encoding="utf-8")]
    names = [path.parent.name if path.name == "command.py" else path.stem for path in made]
    assert sorted(name.replace("_", "-") for name in names) == VERBS


def imported_by(*arguments: str, **variables: str) -> tuple[str, set[str]]:
    """What a command prints, and the modules it has imported by then."""
    command = [sys.executable, "-c", IMPORTED, *arguments]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return done.stdout, set(done.stderr.split("imported ")[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [("--version",), ("--help",), ("completion", "bash"), ("check", "--help")],
    ids=" ".join,
)
def test_a_command_that_reads_no_model_imports_no_heavy_package(arguments: tuple[str, ...]) -> None:
    printed, modules = imported_by(*arguments)
    assert printed
    assert modules & HEAVY == set()


@pytest.mark.parametrize(("words", "completed"), [("", "inspect"), *((v, "--json") for v in VERBS)])
def test_completing_a_word_imports_no_heavy_package(words: str, completed: str) -> None:
    if words in ("completion", "debug", "surgery"):
        completed = "--help"
    typed = f"treadle {words} -" if words else "treadle "
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    printed, modules = imported_by(_TREADLE_COMPLETE="bash_complete", **asked)
    assert f"plain,{completed}" in printed.splitlines()
    assert modules & HEAVY == set(), "import these in the function of the verb that needs them"


def test_completion_prints_a_script_for_each_shell(treadle: Treadle) -> None:
    for shell in ("bash", "zsh", "fish"):
        script = treadle("completion", shell).out
        assert f"_TREADLE_COMPLETE={shell}_complete" in script
    assert treadle("completion", "tcsh").code == 2


def test_the_names_of_runtimes_are_those_of_the_rules() -> None:
    assert tuple(checks.RUNTIMES) == RUNTIMES


def test_version(treadle: Treadle) -> None:
    assert treadle("--version").out == f"treadle, version {__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_and_json(treadle: Treadle, verb: str) -> None:
    shown = treadle(verb, "--help").out
    assert "Example:" in shown
    assert f"$ treadle {verb}" in shown
    assert ("--json" in shown) == (verb not in ("completion", "debug", "surgery"))


def test_help_lists_every_verb(treadle: Treadle) -> None:
    shown = treadle("--help").out
    assert all(f"\n  {verb} " in shown for verb in VERBS)
    assert all(f"\n{group}:\n" in shown for group in GROUPS)


@pytest.mark.parametrize("verb", READERS)
def test_an_unknown_file_is_a_wrong_command(treadle: Treadle, verb: str) -> None:
    done = treadle(verb, "nowhere.onnx", *MORE.get(verb, ()))
    assert done.code == 2
    assert "'nowhere.onnx' does not exist" in done.err


@pytest.mark.parametrize("verb", READERS)
@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x0a\x12\xff", b"<ir_version: 10"])
def test_no_model_is_a_wrong_model(
    treadle: Treadle, verb: str, content: bytes, tmp_path: Path
) -> None:
    for name in ("bad.onnx", "bad.onnxtxt"):
        (tmp_path / name).write_bytes(content)
        more = MORE.get(verb, ())
        done = treadle(verb, tmp_path / name, *more, TREADLE_CACHE_DIR=str(tmp_path / "cache"))
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
