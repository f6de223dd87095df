"""The large files that the loading benchmark generates have the stated sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from benchmarks.openvino_load import KINDS, main, write
from treadle.ir import walk


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_has_its_layers_and_runs(kind: str, tmp_path: Path) -> None:
    write(kind, 60, tmp_path / "m.xml")
    model = treadle.load(tmp_path / "m.xml")
    constants = 0 if kind == "one kind" else 14
    assert 40 <= constants + sum(1 for _ in walk(model)) <= 75
    session = treadle.InferenceSession(model, engines=["interp"])
    name = session.get_inputs()[0].name
    (found,) = session.run(None, {name: np.ones((2, 3), np.float32)})
    assert found.shape == (2, 3)


def test_the_command_measures_in_a_process_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--layers", "60", "--times", "1"]) in (0, 1)  # 1: a busy machine is slow
    assert capsys.readouterr().out.count("peak") == len(KINDS)
