"""`treadle demo`: three models that agree with onnxruntime and can be saved."""

import re
from pathlib import Path

import numpy as np
import pytest

import treadle as library
from tests.cli.conftest import Treadle
from treadle.cli.demo import measure
from treadle.cli.output import wrapped


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SECONDS", 0.05)


def test_demo_in_words(treadle: Treadle) -> None:
    done = treadle("demo")
    assert done.code == 0
    for words in ("An LSTM written as Scan", "greedy decoder", "grows a sequence"):
        assert words in done.out
    assert done.out.count("the outputs are onnxruntime's") == 3
    assert len(re.findall(r": [\d,.]+ times (faster|slower) \(medians|: as fast", done.out)) == 3
    assert "treadle demo --save models" in done.out


def test_long_lines_wrap_into_their_last_column() -> None:
    text = "main/loop_1  Loop-21\n  runs      until it is found, at most limit times\n\nall of it"
    assert wrapped(text, 31) == (
        "main/loop_1  Loop-21\n  runs      until it is found,\n            at most limit times\n\n"
        "all of it"
    )
    assert wrapped("no room" + " " * 9 + "for a column", 24) == "no room         for a\ncolumn"


def test_demo_as_data(treadle: Treadle) -> None:
    data = treadle("demo", "--json").data
    assert [each["name"] for each in data] == ["lstm", "decoder", "prefixes"]
    assert all(each["agrees"] and each["seconds"]["treadle"] > 0 for each in data)
    tokens = data[1]["outputs"]["tokens"]
    assert 4 <= len(tokens) < 200
    assert tokens.index(0) == len(tokens) - 1


def test_saved_models_run(treadle: Treadle, tmp_path: Path) -> None:
    done = treadle("demo", "--save", tmp_path / "models")
    assert f"treadle explain {tmp_path}" in done.out
    for name in ("lstm", "decoder", "prefixes"):
        model = tmp_path / "models" / f"{name}.onnx"
        data = model.with_suffix(".npz")
        outputs = model.with_name(f"{name}_outputs.npz")
        done = treadle("run", model, "--input", data, "--assert-output", outputs)
        assert done.code == 0, done.err
        with np.load(data) as feeds:  # what is saved can be fed as it is
            assert library.InferenceSession(model).run(None, dict(feeds))
        assert treadle("check", model).code == 0
