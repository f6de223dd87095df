"""The report file is written whole or not at all; its size and data."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

pytest.importorskip("igraph", reason="igraph, the extra `report`, is not installed")

import treadle
from tests.html_report.models import SMOOTH, chain


def data_of(path: Path) -> dict:
    text = path.read_text(encoding="utf-8")
    start = text.index('id="data">') + len('id="data">')
    return json.loads(text[start : text.index("</script>", start)])


def test_a_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    treadle.write_report(chain(100), target)
    text = target.read_text(encoding="utf-8")
    assert target.stat().st_size < 300_000
    assert "http://www.w3.org/2000/svg" in text  # the name of SVG, which nobody fetches
    assert text.count("http") == 1
    assert " src=" not in text.replace("src: `data:", "")


def test_the_page_describes_a_loop(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    treadle.write_report(SMOOTH, target)
    data = data_of(target)
    facts = dict(reversed(data["facts"]["main/loop_3"]))
    assert facts["runs"] == "3 times"
    assert facts["carries"].endswith("axis 0 grows, to T+2*i in iteration i")
    main, scan = data["blocks"][0], data["blocks"][1]
    assert [node["op"] for node in main["nodes"]] == ["Scan", "Sub", "Constant", "Loop"]
    kinds = [kind for kind, *_ in scan["drawing"]["vertices"]]
    assert kinds == ["param", "param", "node", "node", "node", "result", "result"]
    assert [edge[2] for edge in scan["drawing"]["edges"]] == ["h", "item", "sum", "n", "n", "o"]
    assert data["reasons"][data["engines"]["main/loop_3"]][0] == "jit"


def test_values_and_nan_are_there_with_feeds(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    feeds = {"x": np.float32([2, 3, -9]), "start": np.float32(1)}
    treadle.write_report(SMOOTH, target, feeds)
    data = data_of(target)
    assert data["series"]["main/scan_0.body/sum"]["times"] == 3
    assert data["nan"] == {
        "value": "main/scan_0.body/n", "step": "main/scan_0.body/log_2", "iterations": [2],
    }  # fmt: skip


def test_a_comparison_is_on_the_page(tmp_path: Path) -> None:
    other = SMOOTH.replace("Add (h, item)", "Sub (h, item)")
    feeds = {"x": np.float32([-2, 3, 9]), "start": np.float32(1)}
    found = treadle.compare(other, SMOOTH, feeds)
    treadle.write_report(other, tmp_path / "report.html", comparison=found)
    data = data_of(tmp_path / "report.html")
    assert data["comparison"]["path"] == "main/scan_0.body/sub_1"
    assert not data["comparison"]["agrees"]
    assert data["comparison"]["growth"]


def test_more_than_500_nodes_are_a_list(tmp_path: Path) -> None:
    treadle.write_report(chain(501), tmp_path / "report.html")
    assert "drawing" not in data_of(tmp_path / "report.html")["blocks"][0]


def test_a_model_that_cannot_be_run_has_a_page_with_its_findings(tmp_path: Path) -> None:
    wrong = SMOOTH.replace("Concat <axis = 0>", "Concat")
    treadle.write_report(wrong, tmp_path / "report.html")
    data = data_of(tmp_path / "report.html")
    assert "CF" in data["unplanned"]
    assert any(each["severity"] == "error" for each in data["findings"])


def test_a_failed_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(treadle.InputError, match="cannot be written"):
        treadle.write_report(SMOOTH, tmp_path / "none" / "report.html")
    with pytest.raises(treadle.TreadleError):
        treadle.write_report(SMOOTH, tmp_path / "report.html", {"x": np.float32([1])})
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(treadle.ConfigurationError, match=r"pip install 'treadle\[report\]'"):
        treadle.write_report(SMOOTH, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_bytes_that_are_no_text_are_on_the_page(tmp_path: Path) -> None:
    words = onnx.helper.make_tensor("w", onnx.TensorProto.STRING, [2], [b"a\x81\xff", b"b"])
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["w"], ["y"])], "g", [], [value("y", 8, [2])], [words]
    )
    target = tmp_path / "report.html"
    treadle.write_report(onnx.helper.make_model(graph, ir_version=8), target, feeds={})
    assert data_of(target)["blocks"]


def test_text_of_a_model_is_escaped(tmp_path: Path) -> None:
    model = treadle.load(SMOOTH)
    name = "</script><b>{{data}}"
    odd = replace(model, main=replace(model.main, name=name), producer="</script>")
    treadle.write_report(odd, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;/script&gt;&lt;b&gt;{{data}}" in text
    assert text.count("</script>") == 2
    assert data_of(tmp_path / "report.html")["title"] == name
