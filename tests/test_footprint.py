"""The cost of treadle: seconds to import and megabytes to install, as in docs/footprint.md."""

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import treadle

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "footprint.md").read_text(encoding="utf-8")
SECONDS = {
    "import treadle": 0.1,
    "from treadle.cli import main": 0.6,
    "import treadle; treadle.InferenceSession": 2.0,
}
"""Processor seconds of a statement in a new process, on a busy machine."""
WHEEL_MB, DEPENDENCIES_MB, EACH_MB = 2.0, 450.0, 200.0
NAME = re.compile(r"[A-Za-z0-9._-]+")


def needed(package: str) -> set[str]:
    """The packages that installing this one brings, extras left out."""
    found, pending = set(), [package]
    while pending:
        for line in metadata.requires(pending.pop()) or ():
            name = normal(line)
            if "extra ==" in line or name in found or not is_installed(name):
                continue
            found.add(name)
            pending.append(name)
    return found


def normal(line: str) -> str:
    """The name of a requirement, as all write it."""
    match = NAME.match(line)
    assert match is not None
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def megabytes(package: str) -> float:
    """What the files of an installed package take, compiled Python left out."""
    files = metadata.files(package) or ()
    kept = (Path(str(file.locate())) for file in files if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in kept if path.is_file()) / 2**20


def direct() -> list[str]:
    """The packages that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [normal(line) for line in project["dependencies"]]


@pytest.mark.parametrize("statement", SECONDS)
def test_importing_stays_within_its_budget(statement: str) -> None:
    timed = (
        f"import json, time\nt = time.process_time()\n{statement}\nprint(time.process_time() - t)"
    )
    command = [sys.executable, "-c", timed]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    assert min(json.loads(done.stdout) for done in runs) < SECONDS[statement]


def test_the_wheel_stays_within_its_budget(tmp_path: Path) -> None:
    source = Path(treadle.__file__).parent
    with zipfile.ZipFile(tmp_path / "wheel.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in source.rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(source))
    assert (tmp_path / "wheel.zip").stat().st_size < WHEEL_MB * 2**20


def test_dependencies_stay_within_their_budgets() -> None:
    sizes = {name: megabytes(name) for name in direct()}
    others = set().union(*map(needed, direct())) - set(sizes)
    assert all(f"| {name} |" in PAGE for name in sizes), sizes
    assert max(sizes.values()) < EACH_MB, sizes
    total = sum(sizes.values()) + sum(map(megabytes, others))
    assert total < DEPENDENCIES_MB, sizes
