"""Operators built for onnxruntime, run in plain onnxruntime."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle
from tests.build import models
from tests.build.host import COMPILER

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")


def session_of(folder: Path, name: str, threads: int = 1) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.register_custom_ops_library(str(next(folder.glob("*/*_operators.so"))))
    path = str(folder / f"{name}.onnx")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def expect_same(source: str, session: onnxruntime.InferenceSession, feeds: dict[str, Any]) -> None:
    found, wanted = session.run(None, feeds), treadle.InferenceSession(source).run(None, feeds)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def grow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grow")
    treadle.build(models.GROW, folder, name="grow", kind="ort")
    return folder


@pytest.mark.parametrize("limit", [0, 1, 2, 100_000])
def test_results_of_unknown_length(grow: Path, limit: int) -> None:
    feeds = {"limit": np.array(limit), "start": np.arange(4, dtype=np.float32)}
    expect_same(models.GROW, session_of(grow, "grow"), feeds)


def test_four_threads_run_one_session(grow: Path) -> None:
    session = session_of(grow, "grow")
    feeds = [{"limit": np.array(k), "start": np.full(4, k, np.float32)} for k in range(4)]
    wanted = [session.run(None, each)[0] for each in feeds]
    wrong: list[int] = []

    def run(k: int) -> None:
        found = [session.run(None, feeds[k])[0] for _ in range(100)]
        wrong.extend(k for each in found if not np.array_equal(each, wanted[k]))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_data_outside_the_declared_shapes_runs_the_original_model(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    shapes = {"x": (None, 2, 4), "first": (2, 4)}
    built = treadle.build(models.BATCH, tmp_path, name="batch", kind="ort", inputs=shapes)
    assert built.kernels == ("float32[n0, 2, 4], float32[2, 4]",)
    session = session_of(tmp_path, "batch")
    for length, batch in ((0, 2), (1, 2), (5, 2), (5, 3), (2, 1)):
        x = rng.standard_normal((length, batch, 4)).astype(np.float32)
        expect_same(models.BATCH, session, {"x": x, "first": np.ones((batch, 4), np.float32)})


def test_operators_of_the_original_model_take_extents_of_the_run(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    treadle.build(models.MEASURED, tmp_path, name="m", kind="ort", inputs={"x": (None, 2, 4)})
    session = session_of(tmp_path, "m")
    for length, batch in ((5, 2), (5, 3), (1, 7), (2, 1)):
        x = rng.standard_normal((length, batch, 4)).astype(np.float32)
        expect_same(models.MEASURED, session, {"x": x})


def test_several_kernels_are_chosen_by_shape(tmp_path: Path, rng: np.random.Generator) -> None:
    shapes = [{"x": (None, size, 4)} for size in (1, 2, "B")]
    built = treadle.build(
        models.MEASURED, tmp_path, name="m", kind="ort", inputs=shapes, fallback=False
    )
    assert len(built.kernels) == 3
    session = session_of(tmp_path, "m")
    for length, batch in ((5, 2), (5, 3), (0, 7), (2, 1)):
        x = rng.standard_normal((length, batch, 4)).astype(np.float32)
        expect_same(models.MEASURED, session, {"x": x})


def operators_of(path: Path) -> list[str]:
    """The operators of a model, those of bodies behind the step they belong to."""

    def walk(graph: onnx.GraphProto) -> list[str]:
        found = []
        for node in graph.node:
            found.append(node.op_type)
            for attribute in node.attribute:
                found += walk(attribute.g) if attribute.type == onnx.AttributeProto.GRAPH else []
        return found

    return walk(onnx.load(path).graph)


def test_a_native_loop_in_a_branch_of_onnxruntime(tmp_path: Path, rng: np.random.Generator) -> None:
    treadle.build(models.NESTED, tmp_path, name="nested", kind="ort")
    assert "nested_0" in operators_of(tmp_path / "nested.onnx")
    session = session_of(tmp_path, "nested")
    for up in (True, False):
        for length in (0, 1, 4):
            feeds = {
                "up": np.array(up),
                "x": rng.standard_normal((length, 3)).astype(np.float32),
                "image": rng.standard_normal((1, 1, 4, 4)).astype(np.float32),
                "scale": np.array([1, 2, 3], np.float32),
            }
            expect_same(models.NESTED, session, feeds)


def test_a_native_loop_in_a_body_of_onnxruntime(tmp_path: Path, rng: np.random.Generator) -> None:
    treadle.build(models.INNER, tmp_path, name="inner", kind="ort", fallback=False)
    assert operators_of(tmp_path / "inner.onnx").count("Loop") == 1
    assert "Scan" not in operators_of(tmp_path / "inner.onnx")
    session = session_of(tmp_path, "inner")
    for trips in (0, 1, 2, 5):
        feeds = {
            "n": np.array(trips),
            "x": rng.standard_normal((trips, 3)).astype(np.float32),
            "image": np.ones((1, 1, 2, 2), np.float32),
        }
        expect_same(models.INNER, session, feeds)


def test_a_model_whose_shapes_are_certain_is_one_operator(tmp_path: Path) -> None:
    treadle.build(models.SCAN, tmp_path, name="scan", kind="ort")
    assert operators_of(tmp_path / "scan.onnx") == ["scan_0"]


def test_a_scan_of_opset_8(tmp_path: Path, rng: np.random.Generator) -> None:
    treadle.build(models.OLD, tmp_path, name="old", kind="ort")
    session = session_of(tmp_path, "old")
    for batch, length in ((1, 1), (2, 3), (3, 2)):
        x = rng.standard_normal((batch, length)).astype(np.float32)
        expect_same(models.OLD, session, {"s0": np.ones(batch, np.float32), "x": x})


def test_the_reason_of_failing_without_the_original_model(tmp_path: Path) -> None:
    shapes = {"x": (None, 2, 4), "first": (2, 4)}
    treadle.build(models.BATCH, tmp_path, name="b", kind="ort", inputs=shapes, fallback=False)
    operators = [node.op_type for node in onnx.load(tmp_path / "b.onnx").graph.node]
    assert operators == ["b_0"]
    session = session_of(tmp_path, "b")
    feeds = {"x": np.ones((5, 3, 4), np.float32), "first": np.ones((3, 4), np.float32)}
    with pytest.raises(Exception, match="no kernel of this library fits"):
        session.run(None, feeds)


def test_onnxruntimes_threads_share_the_work(tmp_path: Path, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 384, 384)).astype(np.float32) / 99
    feeds = {"x": x, "first": np.ones((64, 384), np.float32)}
    treadle.build(models.WIDE, tmp_path, name="wide", kind="ort")
    alone, together = (session_of(tmp_path, "wide", threads) for threads in (1, 4))
    expect_same(models.WIDE, together, feeds)
    assert np.array_equal(alone.run(None, feeds)[0], together.run(None, feeds)[0])


def test_two_models_in_one_session_options_do_not_collide(grow: Path, tmp_path: Path) -> None:
    treadle.build(models.SCAN, tmp_path, name="grow", kind="ort")
    one, other = (
        {each.domain for each in onnx.load(folder / "grow.onnx").opset_import} - {""}
        for folder in (grow, tmp_path)
    )
    assert one != other
    first, second = session_of(grow, "grow"), session_of(tmp_path, "grow")
    expect_same(
        models.SCAN, second, {"x": np.ones((2, 3), np.float32), "first": np.ones(3, np.float32)}
    )
    feeds = {"limit": np.array(3), "start": np.zeros(4, np.float32)}
    expect_same(models.GROW, first, feeds)


def test_a_model_without_a_native_region_is_refused(tmp_path: Path) -> None:
    head = '<ir_version: 10, opset_import: ["" : 21]>'
    model = f"{head} m (float[2] x) => (float[2] y) {{ y = Neg (x) }}"
    with pytest.raises(treadle.Unsupported, match="no part of the model can be an operator"):
        treadle.build(model, tmp_path / "out", kind="ort")
    with pytest.raises(treadle.InputError, match="there is none for wasm32"):
        treadle.build(models.SCAN, tmp_path / "out", kind="ort", targets=["wasm32"])
    assert not list(tmp_path.iterdir())


def test_building_twice_gives_the_same_bytes(grow: Path, tmp_path: Path) -> None:
    built = treadle.build(models.GROW, tmp_path, name="grow", kind="ort")
    for path in built.files:
        assert path.read_bytes() == (grow / path.relative_to(tmp_path)).read_bytes(), path.name
