"""Whole jobs: each consists of commands that stand word for word on its page.

A job of `treadle` commands runs in this process; another is a script for bash, in which lines
between `python - <<'END'` and `END` are code of the page. A job is skipped where a module that it
`needs` is missing.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from treadle.cli import main
from treadle.cli.demo import measure

ROOT = Path(__file__).parents[2]
JOBS = sorted(Path(__file__).parent.glob("*.sh"))
PLUMBING = {"python - <<'END'", "END", ""}


def lines_of(job: Path) -> list[str]:
    """The commands of a job, and the code it gives to Python."""
    lines = job.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith(("# page: ", "# needs: "))]


def header(job: Path, word: str) -> str:
    """What the job says of itself: its `page`, or what it `needs`."""
    found = re.search(rf"^# {word}: (.*)$", job.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


JOBS_OF_TREADLE = [job for job in JOBS if all(x.startswith("treadle ") for x in lines_of(job))]
JOBS_OF_BASH = [job for job in JOBS if job not in JOBS_OF_TREADLE]


def test_there_are_eight() -> None:
    assert len(JOBS) == 8


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_its_commands_stand_on_its_page(job: Path) -> None:
    page = (ROOT / header(job, "page")).read_text(encoding="utf-8").splitlines()
    shown = {re.sub(r"^\$ ", "", line).split("     #")[0].rstrip() for line in page}
    assert [line for line in lines_of(job) if line not in shown | PLUMBING] == []


@pytest.mark.parametrize("job", JOBS_OF_TREADLE, ids=lambda job: job.stem)
def test_a_job_runs(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "SECONDS", 0.05)
    for command in lines_of(job):
        done = CliRunner().invoke(main, shlex.split(command)[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"


@pytest.mark.parametrize("job", JOBS_OF_BASH, ids=lambda job: job.stem)
def test_a_job_runs_in_bash(job: Path, tmp_path: Path) -> None:
    for module in filter(None, header(job, "needs").split(", ")):
        pytest.importorskip(module)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    commands = [line for line in lines_of(job) if not line.startswith("pip install")]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    imports = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(commands)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "PYTHONPATH": imports},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
