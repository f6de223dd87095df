"""`treadle check` on many models: paths, exit codes, formats, baselines, settings, repairs."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treadle as library
from tests.cli.conftest import Treadle
from tests.cli.test_check import CROSSED, HIDES

ROOT = Path(__file__).parents[2]
FINE = '<ir_version: 10, opset_import: ["" : 21]>\ng (float x) => (float y) { y = Neg (x) }\n'


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with models in folders: one hides a name, one is no model, two are fine."""
    contents = {
        "models/fine.onnxtxt": FINE,
        "models/deep/hides.onnxtxt": HIDES,
        "models/deep/bad.onnx": "nothing",
        "models/.hidden/hides.onnxtxt": HIDES,
        "models/readme.txt": "no model",
        "models/settings.xml": "<settings/>",
        "other/fine.onnxtxt": FINE,
    }
    for name, content in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(done: Any) -> list[str]:
    return done.data["files"]


def test_a_folder_is_searched(treadle: Treadle) -> None:
    found = ["models/fine.onnxtxt", "models/deep/bad.onnx", "models/deep/hides.onnxtxt"]
    assert names(treadle("check", "models", "--json")) == found
    assert names(treadle("check", "models", "models/fine.onnxtxt", "--json")) == found


def test_globs_and_exclusions(treadle: Treadle) -> None:
    assert names(treadle("check", "*/fine.onnxtxt", "--json")) == [
        "models/fine.onnxtxt", "other/fine.onnxtxt",
    ]  # fmt: skip
    left = treadle("check", "models", "--exclude", "bad.*", "--exclude", "*/deep/h*", "--json")
    assert names(left) == ["models/fine.onnxtxt"]
    assert treadle("check", "models/fine.onnxtxt", "-", "--json", given=FINE.encode()).code == 0


def test_findings_of_many_models(treadle: Treadle) -> None:
    done = treadle("check", "models")
    assert done.code == 1
    assert 'CF103 error  line 4, column 46: "x" hides a value' in done.out
    assert "models/deep/bad.onnx\n  the model\n    CF001 error" in done.out
    assert done.out.endswith(
        "3 models, 1 without findings: 2 errors, 0 warnings, 0 pieces of advice\n"
    )
    assert "models/fine.onnxtxt" not in done.out


def test_no_model_at_all(treadle: Treadle, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = treadle("check", "empty")
    assert (done.code, "no model in empty" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("severity", "code"), [("error", 0), ("warning", 0), ("advice", 1)]
)  # fmt: skip
def test_fail_on(treadle: Treadle, severity: str, code: int) -> None:
    Path("crossed.onnxtxt").write_text(CROSSED.replace("Identity (c)", "Identity (c) z = Neg (a)"))
    assert treadle("check", "crossed.onnxtxt", "--fail-on", severity).code == code


def test_statistics(treadle: Treadle) -> None:
    done = treadle("check", "models", "--statistics")
    counts = [line.split("  ")[:3] for line in done.out.splitlines()[:2]]
    assert counts == [["1", "CF001 error", ""], ["1", "CF103 error", "--fix mends it"]]
    assert "deep" not in done.out


def test_github(treadle: Treadle) -> None:
    lines = treadle("check", "models", "--output-format", "github").out.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(
        "::error file=models/deep/hides.onnxtxt,line=4,col=46,title=CF103::main/loop_0.body: "
    )


def test_sarif_of_many(treadle: Treadle) -> None:
    (run,) = treadle("check", "models", "--output-format", "sarif").data["runs"]
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in run["results"]
    ]
    assert uris == ["models/deep/bad.onnx", "models/deep/hides.onnxtxt"]
    assert run["invocations"][0]["executionSuccessful"] is True


def test_a_model_beyond_a_limit_does_not_end_the_check_of_others(treadle: Treadle) -> None:
    done = treadle("check", "models", "--limit", "nodes=1", "--json")
    assert done.code == 1
    assert [each["kind"] for each in done.data["errors"]] == ["LoadLimitExceeded"]
    assert len(names(done)) == 3


def complaints(data: Any, schema: Any, at: str = "$") -> Iterator[str]:
    """What of JSON Schema's rules that the page uses the data break."""
    kinds = {
        "object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
        "null": type(None),
    }  # fmt: skip
    wanted = schema.get("type", [])
    wanted = wanted if isinstance(wanted, list) else [wanted]
    if wanted and not isinstance(data, tuple(kinds[name] for name in wanted)):
        yield f"{at} is no {wanted}"
        return
    if "const" in schema and data != schema["const"]:
        yield f"{at} is not {schema['const']}"
    if "enum" in schema and data not in schema["enum"]:
        yield f"{at} is none of {schema['enum']}"
    if "pattern" in schema and not re.search(schema["pattern"], data):
        yield f"{at} is not like {schema['pattern']}"
    yield from (f"{at} lacks {key}" for key in schema.get("required", ()) if key not in data)
    if isinstance(data, dict):
        known, other = schema.get("properties", {}), schema.get("additionalProperties", {})
        for key, item in data.items():
            if key not in known and other is False:
                yield f"{at} has {key}"
            else:
                yield from complaints(item, known.get(key, other or {}), f"{at}.{key}")
    if isinstance(data, list):
        for number, item in enumerate(data):
            yield from complaints(item, schema.get("items", {}), f"{at}[{number}]")


def test_json_is_as_the_schema_says(treadle: Treadle) -> None:
    schema = json.loads((ROOT / "docs" / "check.schema.json").read_text(encoding="utf-8"))
    data = treadle("check", "models", "--fix", "--output-dir", "out", "--json").data
    assert list(complaints(data, schema)) == []
    assert set(data) == set(schema["properties"])
    assert data["mended"]
    assert data["written"]
    assert list(complaints(data | {"version": 2}, schema)) == ["$.version is not 1"]


def test_a_baseline_hides_known_findings(treadle: Treadle) -> None:
    written = treadle("check", "models", "--baseline", "known.json", "--update-baseline")
    assert (written.code, written.err) == (0, "wrote known.json: 2 findings\n")
    again = treadle("check", "models", "--baseline", "known.json")
    assert (again.code, "2 findings known" in again.err) == (0, True)
    text = HIDES.replace("  y = Loop", "  k = Neg (x)\n  l = Neg (k)\n  y = Loop")
    Path("models/deep/hides.onnxtxt").write_text(text)
    assert "main/loop_2" in treadle("check", "models").out
    assert treadle("check", "models", "--baseline", "known.json").code == 0
    Path("models/deep/more.onnxtxt").write_text(HIDES)
    new = treadle("check", "models", "--baseline", "known.json", "--json")
    assert [each["file"] for each in new.data["findings"]] == ["models/deep/more.onnxtxt"]
    assert new.code == 1
    Path("models/deep/hides.onnxtxt").write_text(FINE)
    assert "1 more did not occur" in treadle("check", "models", "--baseline", "known.json").err


def test_paths_in_a_baseline_are_relative_to_it(treadle: Treadle, monkeypatch) -> None:
    treadle("check", "models", "--baseline", "known.json", "--update-baseline")
    monkeypatch.chdir("models")
    assert treadle("check", "deep", "--baseline", "../known.json").code == 0


@pytest.mark.parametrize("content", [None, "no json", "{}", '{"version": 9, "findings": []}'])
def test_invalid_baselines_are_errors(treadle: Treadle, content: str | None) -> None:
    if content is not None:
        Path("known.json").write_text(content)
    assert treadle("check", "models", "--baseline", "known.json").code == 2


def test_settings_of_the_project(treadle: Treadle, monkeypatch) -> None:
    Path("pyproject.toml").write_text('[tool.treadle]\npaths = ["models"]\nselect = ["CF1"]\n')
    done = treadle("check", "--json")
    assert [each["code"] for each in done.data["findings"]] == ["CF103"]
    monkeypatch.chdir("other")
    assert names(treadle("check", "--json"))[0] == "../models/fine.onnxtxt"
    assert treadle("check", "--select", "CF2").code == 0
    Path("treadle.toml").write_text('ignore = ["CF"]\n')
    assert treadle("check", "../models").code == 0
    other = Path("other.toml")
    other.write_text('output-format = "json"\nfor = ["openvino"]\n')
    assert treadle("check", "fine.onnxtxt", "--config", other).data["findings"] == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('selct = ["CF1"]', 'no setting "selct", did you mean "select"?'),
        ('select = "CF1"', "wanted a list of strings"),
        ('fail-on = ["error"]', "wanted a string"),
        ('fail-on = "nothing"', "'nothing' is not one of"),
        ('select = ["XY"]', "no rule's code starts with XY"),
        ("select = [", "is no TOML"),
    ],
)
def test_settings_that_are_wrong(treadle: Treadle, content: str, told: str) -> None:
    Path("treadle.toml").write_text(content)
    done = treadle("check", "models")
    assert (done.code, told in done.err) == (2, True), done.err


def test_several_models_are_fixed_into_a_folder(treadle: Treadle) -> None:
    done = treadle("check", "models", "--fix", "--output-dir", "out")
    assert done.code == 1  # bad.onnx is no model
    assert "wrote out/deep/hides.onnxtxt, 1 mended" in done.out
    assert library.check("out/deep/hides.onnxtxt") == []
    assert Path("models/deep/hides.onnxtxt").read_text() == HIDES
    assert not Path("out/deep/bad.onnx").exists()


def test_in_place_only_fixed_models_are_written(treadle: Treadle) -> None:
    before = Path("models/fine.onnxtxt").stat().st_mtime_ns
    assert treadle("check", "--fix", "--in-place", "models").code == 1
    assert library.check("models/deep/hides.onnxtxt") == []
    assert Path("models/fine.onnxtxt").stat().st_mtime_ns == before


def test_a_diff_writes_nothing(treadle: Treadle) -> None:
    done = treadle("check", "models", "--diff", "--ignore", "CF")
    assert done.code == 1
    assert "+    body(iteration i: int64[], condition c: bool[], carried x_inner" in done.out
    assert Path("models/deep/hides.onnxtxt").read_text() == HIDES
    assert treadle("check", "models/fine.onnxtxt", "--diff").code == 0


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--fix",), "--fix needs a place"),
        (("--fix", "one.onnx"), "is one file, and there are 3 models"),
        (("--in-place",), "need --fix"),
        (("--fix", "--in-place", "--output-dir", "out"), "not both"),
        (("--update-baseline",), "needs --baseline FILE"),
    ],
)
def test_incomplete_commands_are_errors(treadle: Treadle, flags, told: str) -> None:
    done = treadle("check", "models", *flags)
    assert (done.code, told in done.err) == (2, True), done.err


def test_models_with_the_same_target_file_are_an_error(treadle: Treadle) -> None:
    done = treadle("check", "models", "other", "--fix", "--output-dir", "out")
    assert done.code == 2
    assert "would both be out/fine.onnxtxt" in done.err
    assert not Path("out").exists()
