"""The C++ host of docs/building.md, compiled against onnxruntime's headers if they are installed.

onnxruntime's wheel has its library and no headers: TREADLE_ONNXRUNTIME_INCLUDE names the folder of
`onnxruntime_cxx_api.h`, of a release or of the repository (1.14 or later).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.build import models

COMPILER = shutil.which("c++")
FOLDERS = (os.environ.get("TREADLE_ONNXRUNTIME_INCLUDE", ""), "/usr/include/onnxruntime",
           "/usr/local/include/onnxruntime", "/usr/local/include")  # fmt: skip
INCLUDE = next((f for f in FOLDERS if f and (Path(f) / "onnxruntime_cxx_api.h").exists()), None)
PAGE = Path(__file__).parent.parent.parent / "docs/building.md"


def runtime() -> Path:
    """The shared library of onnxruntime's wheel."""
    spec = find_spec("onnxruntime")
    assert spec is not None
    assert spec.origin is not None
    return next((Path(spec.origin).parent / "capi").glob("libonnxruntime.so.*"))


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.skipif(INCLUDE is None, reason="onnxruntime's headers are not here")
def test_the_program_of_the_page(tmp_path: Path) -> None:
    (program,) = re.findall(r"```cpp\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "host.cpp").write_text(program)
    treadle.build(models.TOTALS, tmp_path / "operators", name="lstm", kind="ort")
    for name in ("libonnxruntime.so", "libonnxruntime.so.1"):
        (tmp_path / name).symlink_to(runtime())
    command = [str(COMPILER), "-std=c++17", "-Wall", "-Wextra", "-Werror", "-isystem", str(INCLUDE),
               "host.cpp", "-L.", "-lonnxruntime", "-Wl,-rpath,$ORIGIN", "-o", "host"]  # fmt: skip
    subprocess.run(command, check=True, cwd=tmp_path)
    said = subprocess.run(["./host"], check=True, cwd=tmp_path, capture_output=True, text=True)
    feeds = {"x": np.ones((5, 2, 4), np.float32), "first": np.zeros((2, 4), np.float32)}
    last = treadle.InferenceSession(models.TOTALS).run(["last"], feeds)[0]
    np.testing.assert_allclose(np.array(said.stdout.split(), float), last.ravel(), rtol=1e-5)
