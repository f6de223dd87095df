"""Jobs from end to end: each is made of commands that stand word for word on the page it names."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from treadle.cli import main
from treadle.cli.demo import measure

ROOT = Path(__file__).parents[2]
JOBS = sorted(Path(__file__).parent.glob("*.sh"))


def page_and_commands(job: Path) -> tuple[str, list[str]]:
    head, *commands = job.read_text(encoding="utf-8").splitlines()
    assert head.startswith("# page: ")
    page = (ROOT / head.removeprefix("# page: ")).read_text(encoding="utf-8")
    return page, commands


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_its_commands_stand_on_its_page(job: Path) -> None:
    page, commands = page_and_commands(job)
    shown = {re.sub(r"^\$ ", "", line).split("     #")[0].strip() for line in page.splitlines()}
    assert [command for command in commands if command not in shown] == []


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_it_runs(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "SECONDS", 0.05)
    for command in page_and_commands(job)[1]:
        program, *arguments = shlex.split(command)
        assert program == "treadle"
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, f"{command}\n{done.output}"
