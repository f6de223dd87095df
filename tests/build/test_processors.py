"""Code for several processors in one library: a run uses the best code for its processor."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import treadle
from tests.build import models
from tests.build.host import COMPILER
from treadle import jit

EMULATOR = shutil.which("qemu-x86_64")
FEATURES = Path("/proc/cpuinfo")
IS_X86 = jit.host_target().triple.startswith("x86_64") and COMPILER is not None
pytestmark = pytest.mark.skipif(not IS_X86, reason="no C compiler for x86-64")
LEVELS = (2, 3, 4)
STAND_INS = "".join(
    f"long long scan_kernel_0_x86_64_v{level}{end}(void *slots) {{ return {level}; }}\n"
    for level in LEVELS
    for end in ("", "_bounded")
)
"""Kernels that give their level as the status of the run."""
ASKING = """
#include <stdio.h>
#include "scan.h"
int main(void) {
  int64_t x_shape[] = {0, 3}, first_shape[] = {3}, room[2][SCAN_RANK];
  float data[3] = {0};
  treadle_tensor in[] = {{data, x_shape, 2, 1}, {data, first_shape, 1, 1}};
  treadle_tensor out[] = {{data, room[0], 1, 1}, {data, room[1], 2, 1}};
  treadle_run run = {sizeof run};
  run.workspace = data;
  printf("%d %d", scan_run(in, out, &run), scan_run(in, out, &run));
  return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library for three processors, and two programs that call it."""
    made = tmp_path_factory.mktemp("processors")
    treadle.build(models.SCAN, made, name="scan", targets=["x86_64-linux"], cpu="v4,v2,v3")
    (made / "ask.c").write_text(f"{ASKING}{STAND_INS}")
    archive = made / "x86_64-linux/libscan.a"
    for source, program in (("ask.c", "ask"), ("test/main.c", "run")):
        command = [str(COMPILER), "-std=c99", str(made / source), str(archive), "-lm", "-o",
                   str(made / program)]  # fmt: skip
        subprocess.run(command, check=True)
    return made


def said(*command: str | Path) -> str:
    done = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
    return done.stdout


def test_the_best_processor_of_this_machine_is_chosen(folder: Path) -> None:
    features = set(FEATURES.read_text().split()) if FEATURES.exists() else set()
    wanted = 2 + ({"avx2", "fma", "bmi2"} <= features)
    wanted += {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"} <= features
    assert said(folder / "ask") == f"{wanted} {wanted}"
    assert said(folder / "run") == "scan: the outputs are right\n"


@pytest.mark.skipif(EMULATOR is None, reason="qemu-x86_64 is not here")
@pytest.mark.parametrize(("processor", "level"), [("Nehalem", 2), ("Haswell", 3)])
def test_a_lesser_processor_runs_its_own_code(folder: Path, processor: str, level: int) -> None:
    emulated = (str(EMULATOR), "-cpu", processor)
    assert said(*emulated, folder / "ask") == f"{level} {level}"
    assert said(*emulated, folder / "run") == "scan: the outputs are right\n"


def test_the_description_names_every_processor(folder: Path) -> None:
    (target,) = json.loads((folder / "scan.json").read_text())["targets"]
    assert target["processor"] == "x86-64-v2"
    assert target["better_processors"] == ["x86-64-v3", "x86-64-v4"]
