"""Every IR file written by OpenVINO loads and gives the recorded outputs on every engine."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import onnxruntime
import pytest

import treadle
from tests.formats.openvino.fixtures import DATA, NAMES, differences, feeds

RANK_NOT_KNOWN = {"onnx_if_rank_differs"}
"""Branches of different rank: an output without a shape, which onnx's checker refuses."""


def _run(session: object, names: list[str], name: str) -> list[str]:
    found, state = [], {}
    for feed in feeds(name):
        got = dict(zip(names, session.run(None, feed.inputs | state), strict=True))  # type: ignore[attr-defined]
        state = {k.removesuffix(":next"): v for k, v in got.items() if k.endswith(":next")}
        found += differences(got, feed.outputs)
    return found


def test_there_are_39_of_them() -> None:
    assert len(NAMES) == 39
    assert sum(bool(feeds(name)) for name in NAMES) == 36


@pytest.mark.parametrize(
    "engines",
    [["interp"], None, ["onnxruntime", "interp"]],
    ids=["interp", "default", "onnxruntime"],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_gives_the_recorded_answers(name: str, engines: list[str] | None) -> None:
    session = treadle.InferenceSession(DATA / f"{name}.xml", engines=engines)
    names = [output.name for output in session.get_outputs()]
    assert _run(session, names, name) == []


@pytest.mark.parametrize("name", sorted(set(NAMES) - RANK_NOT_KNOWN))
def test_the_fixture_saved_as_onnx_agrees_in_onnxruntime(name: str, tmp_path: Path) -> None:
    target = tmp_path / "model.onnx"
    treadle.save(treadle.load(DATA / f"{name}.xml"), target, external_data=False)
    onnx.checker.check_model(str(target), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(target, options)
    names = [output.name for output in session.get_outputs()]
    assert _run(session, names, name) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_fixture_has_no_findings(name: str) -> None:
    found = [each for each in treadle.check(DATA / f"{name}.xml") if each.severity == "error"]
    assert found == []


@pytest.mark.parametrize("name", NAMES)
def test_declared_types_of_ports_are_not_needed(name: str, tmp_path: Path) -> None:
    text = (DATA / f"{name}.xml").read_text()
    bare = re.sub(r"\s*<dim>[^<]*</dim>", "", re.sub(r' precision="\w+"', "", text))
    if name.endswith("irv10"):  # IR 10 may leave a constant's type to its port
        bare = re.sub(r"\s*<dim>[^<]*</dim>", "", text)
    path = tmp_path / f"{name}.xml"
    path.write_text(bare)
    path.with_suffix(".bin").write_bytes((DATA / f"{name}.bin").read_bytes())
    session = treadle.InferenceSession(path, engines=["interp"])
    names = [output.name for output in session.get_outputs()]
    assert _run(session, names, name) == []
