"""The command line of `python -m tools.site`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from tools.site import reference, stage

SOURCE = stage.ROOT / "build" / "site_source"


def main() -> int:
    """The exit code of Zensical; a warning is a failure."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("--stage", action="store_true", help="only what Zensical reads")
    given = parser.parse_args()
    started = time.monotonic()
    stage.stage(SOURCE)
    reference.write(SOURCE)
    if given.stage:
        return 0
    command = ["zensical", "build", "--strict", "--clean"]
    code = subprocess.run(command, cwd=stage.ROOT, check=False).returncode
    print(f"{time.monotonic() - started:.1f} s", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
