"""The recorded outputs and deviations agree with the installed OpenVINO.

Left out with the reason where openvino is not installed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.formats.openvino.deviating import PROGRAMS, Program
from tests.formats.openvino.deviations import DEVIATIONS
from tests.formats.openvino.fixtures import DATA, NAMES, differences, feeds
from tools.openvino.oracle import Answer, Oracle
from treadle.formats import openvino

DEVIATING = {
    "onnx_loop_nested_zero_inner_scan": "stale_rows_inside",
    "onnx_loop_negative_M": "trip_count_below_minus_one",
}
"""Fixtures that show a deviation, of which it is."""


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(DEVIATING)))
def test_the_recorded_answers_are_those_of_openvino(
    name: str, oracle: Oracle, tmp_path: Path
) -> None:
    """Of the file as it was, and of what is written when its records are printed again."""
    again = tmp_path / f"{name}.xml"
    again.write_text(openvino.print_net(openvino.parse((DATA / f"{name}.xml").read_bytes())))
    again.with_suffix(".bin").write_bytes((DATA / f"{name}.bin").read_bytes())
    runs = feeds(name)
    for path in (DATA / f"{name}.xml", again):
        answers = oracle.ask(path, [run.inputs for run in runs], keep="state" in name)
        for run, answer in zip(runs, answers, strict=True):
            assert isinstance(answer, dict), answer
            assert differences(answer, run.outputs) == []


def test_every_deviation_has_its_program() -> None:
    assert list(PROGRAMS) == list(DEVIATIONS)


def _of_treadle(program: Program) -> Answer:
    session = treadle.InferenceSession(program.path, engines=["interp"])
    names = [output.name for output in session.get_outputs()]
    try:
        made = session.run(None, program.feeds[-1])
    except treadle.TreadleError as error:
        return str(error)
    return dict(zip(names, made, strict=True))


def _same(one: Answer, two: Answer) -> bool:
    if isinstance(one, str) or isinstance(two, str):
        return isinstance(one, str) and isinstance(two, str)
    return differences(one, two) == []


@pytest.mark.parametrize("name", PROGRAMS)
def test_openvino_still_deviates(name: str, oracle: Oracle, tmp_path: Path) -> None:
    program = PROGRAMS[name](tmp_path)
    answer = oracle.ask(program.path, program.feeds, keep=program.keep)[-1]
    known = DEVIATIONS[name]
    assert not _same(answer, _of_treadle(program)), (
        f"OpenVINO {oracle.version} no longer deviates: {known.case}, {known.openvino} "
        f"(seen in {known.seen}). Take [{name}] off deviations.toml and deviating.py."
    )


def test_a_crash_or_a_hang_is_an_answer(oracle: Oracle, tmp_path: Path) -> None:
    program = PROGRAMS["sum_of_bytes"](tmp_path)
    (late,) = oracle.ask(program.path, program.feeds, patience=0.0)
    assert late == "OpenVINO gave no answer in 0.0 seconds"
    (answer,) = oracle.ask(program.path, program.feeds)
    np.testing.assert_array_equal(answer["y"], [255])  # type: ignore[index, call-overload]
    (missing,) = oracle.ask(tmp_path / "no.xml", [{}])
    assert "no.xml" in str(missing)
