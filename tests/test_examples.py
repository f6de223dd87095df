"""The examples run unchanged; those that need other packages run where these are installed."""

import importlib.util
import json
import runpy
from pathlib import Path

import pytest

import treadle

FOLDER = Path(__file__).parent.parent / "examples"
ALONE = ("kalman_filter", "repair_and_convert", "write_for_openvino")
SLOW = {"state_space": ("STEPS", "STEPS = 40")}
NEEDING = {"serve_decoder": "fastapi", "vad_stream": "silero_vad"}
NOTEBOOKS = ("first_loop", "two_models")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ALONE)
def test_an_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize("name", SLOW)
def test_a_long_example_runs_in_short(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    word, short = SLOW[name]
    lines = [short if line.startswith(f"{word} = ") else line for line in source.splitlines()]
    exec(compile("\n".join(lines), name, "exec"), {"__name__": "__main__"})
    assert "native code" in capsys.readouterr().out


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name: str) -> None:
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), name, "exec"), names)
    assert len(names) > 3


@pytest.mark.parametrize("name", NEEDING)
def test_an_example_that_needs_a_package_compiles(name: str) -> None:
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    compile(source, name, "exec")
    assert NEEDING[name].replace("_", "-") in source


@pytest.mark.skipif(not importlib.util.find_spec("silero_vad"), reason="needs silero-vad")
def test_speech_is_detected_in_a_stream(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["vad_stream.py"])
    runpy.run_path(str(FOLDER / "vad_stream.py"), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) == 93


@pytest.mark.skipif(not importlib.util.find_spec("fastapi"), reason="needs fastapi and httpx2")
def test_a_decoder_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastapi.testclient import TestClient

    from treadle.cli.demo.examples import examples

    (decoder,) = (each for each in examples() if each.name == "decoder")
    treadle.save(decoder.model, tmp_path / "decoder.onnx")
    monkeypatch.setenv("DECODER", str(tmp_path / "decoder.onnx"))
    served = runpy.run_path(str(FOLDER / "serve_decoder.py"))
    with TestClient(served["app"]) as client:
        answer = client.get("/decode", params={"first_token": 5, "limit": 3})
        assert (answer.status_code, len(answer.json()["tokens"])) == (200, 3)
        assert client.get("/decode", params={"first_token": 99}).status_code == 422


def test_the_page_lists_all_examples() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = {path.name for path in FOLDER.iterdir() if path.suffix in (".py", ".ipynb")}
    assert {name for name in files if f"[{name}]({name})" in page} == files
