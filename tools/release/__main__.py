"""Builds and tries a release: python -m tools.release build|smoke.

`build` makes wheel and sdist in dist/, checks them with twine, and that the version is the tag's
and the changelog's, and the wheel within its budget; links and urls are looked at with an address
and without. `smoke` installs the wheel into a new environment and uses it, with no source in reach.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
MOST_WHEEL_BYTES = 2 * 2**20
ADDRESS = "https://example.org/somebody/treadle"
SMOKE = """
import pathlib, sys, numpy as np, treadle
assert "site-packages" in treadle.__file__, treadle.__file__
session = treadle.InferenceSession("models/decoder.onnx")
feeds = dict(np.load("models/decoder.npz"))
wanted = np.load("models/decoder_outputs.npz")
for name, value in zip(("tokens", "h_last"), session.run(None, feeds), strict=True):
    np.testing.assert_allclose(value, wanted[name], rtol=1e-5, atol=1e-6)
assert "jit" in session.explain()
assert (pathlib.Path(treadle.__file__).parent / "py.typed").exists()
print("treadle", treadle.__version__, "runs on Python", sys.version.split()[0])
"""
VERBS = (
    ("--version",),
    ("demo", "--save", "models"),
    ("check", "models", "--statistics"),
    ("run", "models/lstm.onnx", "--input", "models/lstm.npz",
     "--assert-output", "models/lstm_outputs.npz"),
    ("convert", "models/lstm.onnx", "-o", "lstm.xml"),
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked; raises where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("action", choices=("build", "smoke"))
    parser.add_argument("--tag", help="with build: the tag, which must be v and the version")
    options = parser.parse_args(arguments)
    if options.action == "build":
        build(options.tag)
    else:
        smoke()
    return 0


def build(tag: str | None) -> None:
    """Make wheel and sdist, and check them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT))
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(DIST.iterdir())))
    (wheel,) = DIST.glob("*.whl")
    found = metadata(wheel)
    check_version(found["Version"], tag)
    check_size(wheel)
    check_links(found, settings()["repository"])
    with tempfile.TemporaryDirectory() as folder:
        check_links(metadata(built_with_address(Path(folder))), ADDRESS)
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.2f} MB, metadata and links are right")


def settings() -> dict[str, str]:
    """What pyproject.toml says of the repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return project["tool"]["hatch"]["metadata"]["hooks"]["custom"]


def metadata(wheel: Path) -> Message:
    """The METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def check_version(version: str, tag: str | None) -> None:
    """The version is the tag's, and has a section in the changelog."""
    expect(tag is None or tag == f"v{version}", f"the tag is {tag}, the version {version}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    expect(f"\n## {version}" in changelog, f"CHANGELOG.md has no section {version}")


def check_size(wheel: Path) -> None:
    """The wheel is within its budget."""
    size = wheel.stat().st_size
    expect(size <= MOST_WHEEL_BYTES, f"{wheel.name} has {size} bytes, budget {MOST_WHEEL_BYTES}")


def check_links(found: Message, address: str) -> None:
    """With an address every link is absolute and there are urls; without, neither."""
    urls = found.get_all("Project-URL") or []
    links = re.findall(r"\]\(([^)#]+)", str(found.get_payload()))
    expect(bool(links), "the page has no links")
    relative = [link for link in links if not link.startswith("https://")]
    if address:
        expect(not relative, f"with an address, links are relative: {relative}")
        expect(all(address in url for url in urls) and len(urls) > 3, f"the urls are {urls}")
    else:
        expect(not urls and bool(relative), f"without an address there are urls: {urls}")


def built_with_address(folder: Path) -> Path:
    """A wheel of a copy of the sources in which the address is set."""
    copy = folder / "copy"
    left_out = shutil.ignore_patterns(".*", "tests", "benchmarks", "dist", "build", "__pycache__")
    shutil.copytree(ROOT, copy, ignore=left_out)
    project = copy / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    changed = re.sub(r'(?m)^repository = "[^"]*"', f'repository = "{ADDRESS}"', text)
    project.write_text(changed, encoding="utf-8")
    command = (sys.executable, "-m", "build", "--no-isolation", "--wheel")
    run(*command, "--outdir", str(folder), str(copy), quiet=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def smoke() -> None:
    """Install the wheel into a new environment, and use it there."""
    (wheel,) = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "env"), with_pip=True)
        scripts = Path(folder, "env", "Scripts" if sys.platform == "win32" else "bin")
        python = str(scripts / "python")
        run(python, "-m", "pip", "install", "--quiet", str(wheel))
        for words in VERBS:
            run(str(scripts / "treadle"), *words, folder=folder, quiet=True)
        run(python, "-c", SMOKE, folder=folder)


def run(*command: str, folder: str | None = None, quiet: bool = False) -> None:
    """Run a command; what it prints is told where it fails."""
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=alone,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
        text=True,
        check=False,
    )
    told = f":\n{done.stdout}" if quiet else ""
    expect(done.returncode == 0, f"{' '.join(command[:4])} ended with {done.returncode}{told}")


def expect(condition: bool, problem: str) -> None:
    """End with the problem unless the condition holds."""
    if not condition:
        sys.exit(problem)


if __name__ == "__main__":
    sys.exit(main())
