"""The commands of the suite: selection, measurement, output, saving and targets."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import chart, columns, show
from benchmarks.__main__ import chosen, main, read
from benchmarks.columns import fault
from benchmarks.models import BENCHMARKS
from benchmarks.targets import targets
from benchmarks.timing import Row, interleave

SVG = "{http://www.w3.org/2000/svg}"
ROW = Row(
    "lstm_64_b1",
    "LSTM 64, batch 1",
    "recurrent",
    1_000_000,
    {"onnxruntime, 1 thread": 7.0, "onnxruntime, all threads": 6.0, "treadle": 1.0, "C": 0.5},
    {},
    0.2,
    3072,
)


def test_there_are_models_of_every_kind_with_an_aim():
    assert len(BENCHMARKS) >= 24
    assert len({made.kind for made in BENCHMARKS.values()}) >= 15


def test_words_choose_by_name_title_and_kind():
    assert [made.name for made in chosen(["GRU_128"])] == ["gru_128_b1", "gru_128_b4"]
    assert len(chosen([])) == len(BENCHMARKS)


def test_a_word_that_no_model_has_is_a_wrong_command(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["lstm", "nosuch"])
    assert stopped.value.code == 2
    assert "no model has nosuch; there are logistic, xorshift" in capsys.readouterr().err


def test_printed_figures_are_saved(tmp_path, capsys):
    root = Path(__file__).parents[2]
    figures = str(root / "benchmarks" / "figures.json")
    assert main(["--read", figures, "--markdown", "--json", str(tmp_path / "again.json")]) == 0
    assert read(tmp_path / "again.json") == read(root / "benchmarks" / "figures.json")
    assert capsys.readouterr().out.startswith("| model |")


def test_a_wrong_answer_is_reported_with_its_index():
    made = BENCHMARKS["logistic"]
    wanted = [np.array([1.0, 2.0], np.float32)]
    assert fault(made, wanted, wanted) == ""
    assert "[1] is 3.0" in fault(made, [np.array([1.0, 3.0], np.float32)], wanted)
    assert "float64" in fault(made, [np.array([1.0, 2.0])], wanted)
    assert "0 outputs" in fault(made, [], wanted)


def test_outliers_may_be_so_many_and_no_more():
    made = BENCHMARKS["mandelbrot"]
    wanted = np.zeros(1000, np.float32)
    one, many = wanted.copy(), wanted.copy()
    one[3], many[:9] = 1, 1
    assert fault(made, [one], [wanted]) == ""
    assert fault(made, [many], [wanted]) != ""


def test_ratios_are_to_treadle_and_onnxruntime_is_the_better_of_its_two():
    assert ROW.ratio("onnxruntime") == pytest.approx(6.0)
    assert ROW.ratio("C") == pytest.approx(0.5)
    assert ROW.ratio("JAX") is None


def test_targets_are_compared_with_figures():
    found = dict(targets([ROW]))
    assert found["least of all, LSTM 64, batch 1: 6, wanted 1"]
    assert not found["onnxruntime, mean: 6, wanted 30"]
    assert not found["C, mean: 0.5, wanted 0.85"]


def test_calls_are_interleaved():
    heard = []
    slow = {name: lambda name=name: (heard.append(name), time.sleep(0.005)) for name in "ab"}
    assert set(interleave(slow, 0.0)) == {"a", "b"}
    assert heard == ["a", "b"] * 3


def test_the_page_shows_the_table():
    page = show.markdown([ROW], {"processor": "some", "cores": "2"})
    assert "| LSTM 64, batch 1 | 6.00 | 1.00 | 0.500 |  | 6.00 | 200 | 3.0 |" in page


def test_the_pages_show_the_figures_that_were_saved():
    root = Path(__file__).parents[2]
    about, rows = read(root / "benchmarks" / "figures.json")
    page = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert show.markdown(rows, about) in page
    about_intel, rows_of_intel = read(root / "benchmarks" / "figures_intel.json")
    assert show.markdown(rows_of_intel, about_intel) in page
    assert "(benchmarks.svg)" in page
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert show.headlines(rows, about) in readme
    assert "(docs/speed.svg)" in readme
    chosen = [row for row in rows if row.name in show.HEADLINES]
    for picture, shown in (("benchmarks.svg", rows), ("speed.svg", chosen)):
        drawn = (root / "docs" / picture).read_text(encoding="utf-8")
        assert drawn == chart.svg(shown, about)


ABOUT = {"processor": "some processor", "cores": "2", "onnxruntime": "1.31.1"}


def drawn(*rows):
    """The texts of the chart, its bars by begin and width, and the begins of its marks."""
    root = ElementTree.fromstring(chart.svg(rows, ABOUT))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    rects = [(float(r.get("x")), float(r.get("width")), r) for r in root.iter(f"{SVG}rect")]
    bars = [(x, width) for x, width, rect in rects if rect.get("rx")]
    marks = [x for x, _, rect in rects if len(rect)]
    return texts, bars, marks


def test_the_chart_has_a_bar_and_marks_where_the_ratios_are():
    slow = replace(ROW, title="a < b", seconds={**ROW.seconds, "C": 60.0, "treadle": 0.06})
    texts, bars, marks = drawn(ROW, slow)
    assert texts.index("a < b") < texts.index("LSTM 64, batch 1")
    assert "some processor, 2 cores, onnxruntime 1.31.1" in texts
    assert "how many times faster than onnxruntime (1: as fast)" in texts
    # four decades, 0.1 to 1,000 or so: C is ten times slower than onnxruntime
    scale = chart.Scale.of([ROW, slow])
    assert bars[0] == pytest.approx((scale.at(1), scale.at(100) - scale.at(1)), abs=0.1)
    assert bars[1] == pytest.approx((scale.at(1), scale.at(6) - scale.at(1)), abs=0.1)
    assert marks == pytest.approx([scale.at(0.1) - 2, scale.at(12) - 2], abs=0.1)


def test_a_bar_below_1_is_drawn_below_1():
    slower = replace(ROW, seconds={**ROW.seconds, "treadle": 60.0})
    texts, [(begin, width)], _ = drawn(slower)
    scale = chart.Scale.of([slower])
    assert scale.low == -1
    assert "0.1" in texts
    assert (begin, begin + width) == pytest.approx((scale.at(0.1), scale.at(1)), abs=0.1)
    assert "░" in show.bars([slower])[0]


def test_code_is_weighed_as_explain_says_it():
    session = columns.treadle_session(BENCHMARKS["logistic"].make(20))
    assert columns.code_size(session) == 0
    session.run(None, BENCHMARKS["logistic"].make(20).feed)
    assert columns.code_size(session) > 0
    assert f" {columns.code_size(session)} bytes" in session.explain()


def test_a_model_is_measured_saved_and_read_again(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("benchmarks.__main__.BENCHMARKS", {"k": BENCHMARKS["triangle"]})
    file = tmp_path / "figures.json"
    assert main(["--seconds", "0", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert main(["--read", str(file)]) == 0
    assert "triangle, three loops" in printed
    assert show.HEADER in capsys.readouterr().out
