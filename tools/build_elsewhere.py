"""Runs every model of a folder in one program: aarch64 under qemu, or wasm32 in node.

    python -m tools.build_elsewhere FOLDER --target aarch64-linux|wasm32

Needs the ziglang package, and `qemu-aarch64` or `node`; where one is absent it says so and stops.
"""

from __future__ import annotations

import argparse
import base64
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import treadle
from tools.build_models import cases, session_of

_ZIG = [sys.executable, "-m", "ziglang", "cc"]
_RUNNERS = {"aarch64-linux": "qemu-aarch64", "wasm32": "node"}
_DRIVER = """\
#include <stdio.h>
{declared}
int main(void) {{
  int failures = 0;
{calls}
  printf("%d of {count} right\\n", {count} - failures);
  return failures != 0;
}}
"""


def main() -> int:
    """Build all, run all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", choices=sorted(_RUNNERS), default="wasm32")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    runner = shutil.which(_RUNNERS[asked.target])
    if runner is None or find_spec("ziglang") is None:
        print(f"skipped: {_RUNNERS[asked.target]} or the ziglang package is not here")
        return 0
    with tempfile.TemporaryDirectory() as room:
        built = dict(_built(asked.folder, asked.target, Path(room), asked.only))
        run = _on_arm if asked.target == "aarch64-linux" else _in_node
        return run(built, runner, Path(room))


def _built(folder: Path, target: str, room: Path, only: str) -> Any:
    for name, model, feeds in cases(folder):
        if only not in name:
            continue
        try:
            expected = session_of(model).run(None, dict(feeds))
            built = treadle.build(
                model, room / name, name=name, targets=[target], data=feeds,
                link=target == "wasm32",
            )  # fmt: skip
        except treadle.TreadleError as error:
            print(f"{name:42} left out: {str(error).splitlines()[-1].strip()[:80]}", flush=True)
            continue
        yield name, (built, feeds, expected)


def _on_arm(built: Mapping[str, Any], runner: str, room: Path) -> int:
    """One program of all test programs, whose main functions get other names."""
    sources, archives = [], []
    for name, (made, _, _) in built.items():
        paths = {path.suffix: path for path in made.files}
        compiled = room / f"{name}.o"
        command = [*_ZIG, "-target", "aarch64-linux-musl", "-O1", f"-Dmain=test_{name}", "-c",
                   str(paths[".c"]), "-o", str(compiled)]  # fmt: skip
        subprocess.run(command, check=True)
        sources.append(str(compiled))
        archives.append(str(paths[".a"]))
    driver = room / "driver.c"
    declared = "\n".join(f"int test_{name}(void);" for name in built)
    calls = "\n".join(f"  failures += test_{name}();" for name in built)
    driver.write_text(_DRIVER.format(declared=declared, calls=calls, count=len(built)))
    program = room / "program"
    command = [*_ZIG, "-target", "aarch64-linux-musl", "-static", str(driver), *sources, *archives,
               "-lm", "-o", str(program)]  # fmt: skip
    subprocess.run(command, check=True)
    return subprocess.run([runner, str(program)], check=False).returncode


def _in_node(built: Mapping[str, Any], runner: str, room: Path) -> int:
    listed = []
    for name, (made, feeds, expected) in built.items():
        folder = next(path for path in made.files if path.suffix == ".json").parent
        data = json.loads((folder / f"{name}.json").read_text())["kernels"][0]
        inputs = [_array(each["name"], feeds[each["name"]]) for each in data["inputs"]]
        outputs = [
            _array(o["name"], each) for o, each in zip(data["outputs"], expected, strict=True)
        ]
        module = folder / "wasm32" / f"{name}.mjs"
        listed.append({"name": name, "module": str(module),
                       "wasm": str(module.with_suffix(".wasm")),
                       "inputs": inputs, "outputs": outputs})  # fmt: skip
    path = room / "cases.json"
    path.write_text(json.dumps(listed))
    script = Path(__file__).with_name("wasm_cases.mjs")
    return subprocess.run([runner, str(script), str(path)], check=False).returncode


def _array(name: str, array: Any) -> dict[str, Any]:
    own = np.ascontiguousarray(array)
    data = base64.b64encode(own.tobytes()).decode()
    return {"name": name, "dtype": str(own.dtype), "shape": list(np.shape(array)), "data": data}


if __name__ == "__main__":
    sys.exit(main())
