"""`treadle check`: output, selection of rules, repairs, explanations."""

import json
from pathlib import Path

import pytest

import treadle as library
from tests.cli.conftest import Treadle

HIDES = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 M, float x) => (float y)
{
  y = Loop <body = b (int64 i, bool c, float x) => (c, e) { e = Relu (x) }> (M, "", x)
}
"""
CROSSED = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float x) => (float y, float k, int64[N] ys) {
  y, k, ys = Loop (n, "", x, x) <body = b (int64 i, bool c, float a, float d)
    => (bool go, float d, float a, int64 i) { go = Identity (c) }>
}
"""


@pytest.fixture
def hides(tmp_path: Path) -> Path:
    path = tmp_path / "hides.onnxtxt"
    path.write_text(HIDES)
    return path


def test_findings_are_printed(treadle: Treadle, hides: Path) -> None:
    done = treadle("check", hides)
    assert done.code == 1
    assert done.out.splitlines()[:4] == [
        "main/loop_0.body",
        '  CF103 error  line 4, column 46: "x" hides a value of that name outside; the inner one is'
        " used",
        '    rename it, for instance to "x_inner"',
        "    see IR.md, Names Within a Graph",
    ]


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (("--select", "CF2"), 0),
        (("--select", "CF1,CF2"), 1),
        (("--ignore", "CF103"), 0),
        (("--ignore", "cf2"), 1),
        (("--select", "CF1", "--ignore", "CF103"), 0),
    ],
)
def test_select_and_ignore(treadle: Treadle, hides: Path, flags, code: int) -> None:
    assert treadle("check", hides, *flags).code == code


def test_unknown_codes_are_an_error(treadle: Treadle, hides: Path) -> None:
    done = treadle("check", hides, "--select", "CF103,XY1")
    assert done.code == 2
    assert "no rule's code starts with XY1" in done.err
    assert treadle("check", "--explain", "CF999").code == 2
    assert treadle("check").code == 2


def test_json(treadle: Treadle, hides: Path) -> None:
    (finding,) = treadle("check", hides, "--json").data["findings"]
    assert (finding["line"], finding["column"]) == (4, 46)
    assert finding["clause"] == "IR.md, Names Within a Graph"


def test_sarif(treadle: Treadle, hides: Path) -> None:
    done = treadle("check", hides, "--sarif")
    assert done.code == 1
    (run,) = done.data["runs"]
    assert done.data["version"] == "2.1.0"
    assert run["tool"]["driver"]["name"] == "treadle"
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert (rule["id"], result["ruleId"], result["ruleIndex"]) == ("CF103", "CF103", 0)
    assert (result["level"], rule["defaultConfiguration"]) == ("error", {"level": "error"})
    (location,) = result["locations"]
    assert location["physicalLocation"]["region"] == {"startLine": 4, "startColumn": 46}
    assert location["physicalLocation"]["artifactLocation"]["uri"].endswith("/hides.onnxtxt")
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "main/loop_0.body"


def test_sarif_of_a_model_without_findings(treadle: Treadle, folder: Path) -> None:
    done = treadle("check", folder / "newton.onnxtxt", "--sarif")
    assert (done.code, done.data["runs"][0]["results"]) == (0, [])


def test_fix(treadle: Treadle, hides: Path, tmp_path: Path) -> None:
    target = tmp_path / "mended.onnx"
    done = treadle("check", hides, "--fix", target)
    assert done.code == 0
    assert 'CF103 main/loop_0.body: renamed "x" to "x_inner"' in done.out
    assert library.check(target) == []
    data = treadle("check", hides, "--fix", target, "--json").data
    assert data["mended"][0]["code"] == "CF103"
    assert data["findings"] == []


def test_fix_of_a_model_that_cannot_be_loaded(treadle: Treadle, folder: Path) -> None:
    done = treadle("check", folder / "broken.onnxtxt", "--fix", folder / "mended.onnx")
    assert done.code == 1
    assert "CF101" in done.err
    assert not (folder / "mended.onnx").exists()


def test_findings_of_runtimes(treadle: Treadle, tmp_path: Path) -> None:
    path, target = tmp_path / "crossed.onnxtxt", tmp_path / "mended.onnxtxt"
    path.write_text(CROSSED)
    assert treadle("check", path).code == 0
    both = ("--for", "onnxruntime", "--for", "openvino")
    found = treadle("check", path, *both, "--json").data["findings"]
    assert [each["code"] for each in found] == ["CF804", "CF853", "CF856"]
    assert found[0]["clause"] == "measured on onnxruntime 1.31.1 and 1.32.0, CPU"
    left = treadle("check", path, *both, "--fix", target, "--json").data
    assert [each["code"] for each in left["findings"]] == ["CF856"]
    feeds = {"n": 3, "x": 1.5}
    before, after = (library.InferenceSession(p, engines=["interp"]).run(None, feeds)
                     for p in (path, target))  # fmt: skip
    assert [a.tolist() for a in before] == [b.tolist() for b in after]


def test_explain(treadle: Treadle) -> None:
    done = treadle("check", "--explain", "cf104")
    assert done.code == 0
    assert done.out.startswith("CF104 error that stops a session: An outer value returned directly")
    for part in ("Bad:", "Mended:", "p = Identity (x)", 'returns the outer value "x" directly'):
        assert part in done.out


def test_an_unknown_runtime() -> None:
    with pytest.raises(library.TreadleError, match=r"tensorrt.*known: onnxruntime"):
        library.check(HIDES, portable=["tensorrt"])


def test_sarif_is_plain_data(treadle: Treadle, hides: Path) -> None:
    assert json.loads(treadle("check", hides, "--sarif").out)["$schema"].endswith("2.1.0.json")


DEEP = "[" * 100_000
SETTINGS = {
    "deep": ("--config", f"select = {DEEP}", "is no TOML"),
    "endless": ("--config", Path("/dev/zero"), "goes on after"),
    "deep baseline": ("--baseline", f'{{"version": 1, "findings": {DEEP}', "is not a baseline"),
    "endless baseline": ("--baseline", Path("/dev/zero"), "goes on after"),
    "infinite count": (
        "--baseline",
        '{"version": 1, "findings": '
        '[{"file": "a", "code": "b", "path": "c", "values": [], "count": 1e999}]}',
        "is not a baseline",
    ),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_and_baselines_that_are_none(
    treadle: Treadle, folder: Path, tmp_path: Path, case: str
) -> None:
    option, content, told = SETTINGS[case]
    file = tmp_path / "given.toml"
    if isinstance(content, Path):
        file.symlink_to(content)
    else:
        file.write_text(content)
    done = treadle("check", folder / "newton.onnxtxt", option, file)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize("error", [MemoryError(), RecursionError("deep"), LookupError("a bug")])
def test_an_error_while_options_are_read_is_told_in_a_line(
    treadle: Treadle, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.delenv("TREADLE_DEBUG", raising=False)
    monkeypatch.setattr("treadle.cli.checking.settings.read_settings", fail)
    done = treadle("check", folder / "newton.onnxtxt")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.startswith("Error: ")
