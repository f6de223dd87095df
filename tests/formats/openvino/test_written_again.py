"""IR to ONNX and back to IR: treadle and OpenVINO still give the recorded outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

import treadle
from tests.formats.openvino.fixtures import DATA, NAMES, differences, feeds
from tools.openvino.oracle import Oracle
from treadle.errors import Unsupported

RANK_DIFFERS = "onnx_if_rank_differs"
"""Branches of different rank, which OpenVINO refuses in the file itself too."""
REST = sorted(set(NAMES) - {RANK_DIFFERS})


def _again(name: str, folder: Path) -> Path:
    treadle.save(treadle.load(DATA / f"{name}.xml"), folder / "model.onnx")
    treadle.save(treadle.load(folder / "model.onnx"), folder / "again.xml")
    return folder / "again.xml"


@pytest.mark.parametrize("name", REST)
def test_models_written_again_have_the_recorded_outputs(name: str, tmp_path: Path) -> None:
    session = treadle.InferenceSession(_again(name, tmp_path), engines=["interp"])
    names = [output.name for output in session.get_outputs()]
    state: dict[str, object] = {}
    for run in feeds(name):
        got = dict(zip(names, session.run(None, run.inputs | state), strict=True))
        state = {k.removesuffix(":next"): v for k, v in got.items() if k.endswith(":next")}
        assert differences(got, run.outputs) == []


@pytest.mark.parametrize("name", REST)
def test_openvino_answers_the_same(name: str, oracle: Oracle, tmp_path: Path) -> None:
    runs = feeds(name)
    path = _again(name, tmp_path)
    answers = oracle.ask(path, [run.inputs for run in runs], keep="state" in name)
    for run, answer in zip(runs, answers, strict=True):
        assert isinstance(answer, dict), answer
        assert differences(answer, run.outputs) == []


def test_branches_of_different_rank_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="OpenVINO wants one rank of both branches"):
        _again(RANK_DIFFERS, tmp_path)
