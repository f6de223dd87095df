"""Benchmarks with real processes and calls: they report slower, refused and different results."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import parser

import treadle
from treadle.bench import Timing, WarmCalls
from treadle.bench.warm import warm_calls
from treadle.cli.main import main

SCAN = """<ir_version: 8, opset_import: ["" : 17]>
main (float[T, 2] x, float[2] h0) => (float[2] h) {
    h = Scan <num_scan_inputs = 1, body = step (float[2] s, float[2] item) => (float[2] n) {
        a = Add(s, item)
        n = Tanh(a)
    }>(h0, x)
}"""


def test_the_command_times_treadle_and_onnxruntime(tmp_path: Path) -> None:
    path = tmp_path / "scan.onnx"
    path.write_bytes(parser.parse_model(SCAN).SerializeToString())
    given = ["bench", str(path), "--random", "--dim", "T=50", "--seconds", "0.02", "--json"]
    ran = CliRunner().invoke(main, given, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    told = json.loads(ran.stdout)
    treadle_, onnxruntime = told["timings"]
    assert (treadle_["name"], onnxruntime["name"]) == ("treadle", "onnxruntime")
    assert treadle_["cold"]["compiling"] > 0
    assert onnxruntime["cold"]["compiling"] == 0
    assert onnxruntime["cached"] is None
    for each in (treadle_, onnxruntime):
        assert (each["differs"], each["why_not"]) == ("", "")
        assert min(each["cold"]["load"], each["warm"]["median"]) > 0


def test_who_refuses_the_model_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = import_module("treadle.bench.benchmark")
    monkeypatch.setattr(benchmark, "_with_starts", lambda timing, *_: timing)
    newer = SCAN.replace("17]", "99]")
    with pytest.raises(treadle.TreadleError):
        treadle.bench(newer, {}, seconds=0.01)
    text = """<ir_version: 8, opset_import: ["" : 17]>
    main (float[n] x) => (float[n] y) { y = LayerNorm(x) }"""
    with pytest.raises(treadle.TreadleError):
        treadle.bench(text, {"x": np.ones(2, np.float32)}, seconds=0.01)
    found = treadle.bench(
        SCAN, {"x": np.ones((3, 2), np.float32), "h0": np.zeros(2, np.float32)},
        against=("interp", "jit"), seconds=0.01,
    )  # fmt: skip
    assert [timing.name for timing in found.timings] == ["treadle", "interp", "jit"]
    assert "times slower" in str(found) or "as fast" in str(found)
    assert repr(found) == "<Benchmark of the model: treadle, interp, jit>"


def test_contenders_have_names() -> None:
    with pytest.raises(treadle.InputError, match="tensorrt"):
        treadle.bench(SCAN, {}, against="tensorrt")


def test_calls_come_in_turn_and_slow_ones_less_often() -> None:
    order: list[str] = []

    def called(name: str, seconds: float):
        def call(feeds: Mapping[str, object]) -> list[object]:
            order.append(name)
            end = _now() + seconds
            while _now() < end:
                pass
            return []

        return call

    found = warm_calls({"quick": called("quick", 1e-5), "slow": called("slow", 2e-3)}, {}, 0.04)
    assert order[:4] == ["quick", "slow", "quick", "slow"]
    assert found["quick"].count > found["slow"].count >= 5
    assert found["slow"].median >= 2e-3


def _now() -> float:
    import time

    return time.perf_counter()


def test_percentiles() -> None:
    assert WarmCalls.of([3, 1, 2, 5, 4]) == WarmCalls(3, 1, 5, 5)
    assert Timing("x").warm is None
