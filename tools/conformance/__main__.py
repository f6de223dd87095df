"""The command line of `python -m tools.conformance`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.conformance.page import write_pages
from tools.conformance.reports import FOLDER
from tools.conformance.writing import write_kit

PARTIES = ("treadle", "treadle.interp", "onnxruntime", "onnx.reference", "openvino")


def main(arguments: list[str] | None = None) -> int:
    """Run the actions; the exit code is 1 if treadle is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.conformance", description=__doc__)
    parser.add_argument("action", choices=("write", "run", "page", "all"))
    parser.add_argument("kit", type=Path, nargs="?", help="the folder of the kit")
    given = parser.parse_args(arguments)
    if given.action != "all":
        return ACTIONS[given.action](given.kit or Path("conformance-kit"))
    with tempfile.TemporaryDirectory() as folder:
        kit = Path(folder) / "kit"
        return max([action(kit) for action in ACTIONS.values()])


def write(kit: Path) -> int:
    """Write the kit."""
    print(write_kit(kit), "folders of cases in", kit)
    return 0


def run(kit: Path) -> int:
    """Run all runtimes, each with the kit's own package in its own process."""
    codes = {
        party: subprocess.run(
            [sys.executable, "-m", "conformance", party], cwd=kit, check=False
        ).returncode
        for party in PARTIES
    }
    return max(code for party, code in codes.items() if party.startswith("treadle"))


def page(kit: Path) -> int:
    """Write the page and the reports."""
    write_pages(kit)
    subprocess.run(["ruff", "format", "--quiet", FOLDER], check=True)
    return 0


ACTIONS = {"write": write, "run": run, "page": page}

if __name__ == "__main__":
    sys.exit(main())
