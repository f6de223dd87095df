"""Hand-written Loop, TensorIterator and If: every documented mode and port."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle
from tests.formats.openvino.programs import counting, slicing, swapping
from tools.openvino.sketch import Sketch, Weights, write
from treadle.formats.openvino.records import PortEntry, PortMap
from treadle.ir import Loop, walk

PAIRS_REVERSED = [6, 7, 4, 5, 2, 3, 0, 1]
X = np.arange(16, dtype=np.float32).reshape(2, 8)


def _answers(path: Path, feed: dict[str, Any], folder: Path) -> list[list[np.ndarray]]:
    """By interp, by the default engines, and by onnxruntime of our ONNX."""
    made = [treadle.InferenceSession(path, engines=e).run(None, feed) for e in (["interp"], None)]
    treadle.save(treadle.load(path), folder / "m.onnx")
    onnx.checker.check_model(str(folder / "m.onnx"), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    made.append(onnxruntime.InferenceSession(folder / "m.onnx", options).run(None, feed))
    return made


def _expect(path: Path, feed: dict[str, Any], wanted: Sequence[np.ndarray], folder: Path) -> None:
    for got in _answers(path, feed, folder):
        assert len(got) == len(wanted)
        for have, want in zip(got, wanted, strict=True):
            assert have.dtype == want.dtype
            np.testing.assert_allclose(have, want, rtol=1e-6)


def _stack(**rest: int) -> dict[str, int]:
    return {"axis": 1, "start": 0, "end": -1, **rest}


@pytest.mark.parametrize("type_", ["Loop", "TensorIterator"])
@pytest.mark.parametrize(
    ("slices", "part", "columns"),
    [
        ({"axis": 1}, 1, list(range(8))),
        ({"axis": -1}, 1, list(range(8))),
        ({"axis": 1, "start": 0, "end": -1, "stride": 1, "part_size": 1}, 1, list(range(8))),
        ({"axis": 1, "start": 2, "end": -2}, 1, [2, 3, 4, 5, 6]),
        ({"axis": 1, "start": 1, "end": 5}, 1, [1, 2, 3, 4]),
        ({"axis": 1, "start": -1, "end": 0, "stride": -1}, 1, [7, 6, 5, 4, 3, 2, 1, 0]),
        ({"axis": 1, "start": -3, "end": 1, "stride": -1}, 1, [5, 4, 3, 2, 1]),
        ({"axis": 1, "stride": 2, "part_size": 2}, 2, list(range(8))),
        ({"axis": 1, "start": -1, "end": 0, "stride": -2, "part_size": 2}, 2, PAIRS_REVERSED),
        ({"axis": 1, "stride": 4, "part_size": 2}, 2, [0, 1, 4, 5]),
        ({"axis": 1, "start": -1, "end": 0, "stride": -4, "part_size": 2}, 2, [6, 7, 2, 3]),
        ({"axis": 1, "stride": 2, "part_size": 1}, 1, [0, 2, 4, 6]),
    ],
)  # fmt: skip
def test_slices_of_a_tensor_iterator(
    type_: str, slices: dict[str, int], part: int, columns: list[int], tmp_path: Path
) -> None:
    sketch = slicing(type_, slices, _stack(stride=part, part_size=part), part)
    _expect(write(tmp_path, sketch), {"x": X}, [2 * X[:, columns]], tmp_path)


def test_an_output_may_be_concatenated_in_reverse(tmp_path: Path) -> None:
    stack = {"axis": 1, "start": -1, "end": 0, "stride": -2, "part_size": 2}
    sketch = slicing("TensorIterator", {"axis": 1, "stride": 2, "part_size": 2}, stack, 2)
    _expect(write(tmp_path, sketch), {"x": X}, [2 * X[:, [6, 7, 4, 5, 2, 3, 0, 1]]], tmp_path)
    stack = {"axis": -1, "start": -1, "end": 0, "stride": -1, "part_size": 1}
    sketch = slicing("TensorIterator", {"axis": 1}, stack, 1)
    _expect(write(tmp_path, sketch), {"x": X}, [2 * X[:, ::-1]], tmp_path)


@pytest.mark.parametrize(
    ("slices", "stack", "wanted"),
    [
        ({"axis": 1, "part_size": 2}, {}, "the parts of a slice overlap"),
        ({"axis": 1, "stride": 0}, {}, "stride 0"),
        ({"axis": 2}, {}, "axis 2 is out of range"),
        ({"axis": 1}, {"part_size": 2}, "gaps or overlaps"),
        ({"axis": 1}, {"start": 1}, "does not hold all its parts"),
    ],
)
def test_slices_that_make_no_sense_are_found(
    slices: dict[str, int], stack: dict[str, int], wanted: str, tmp_path: Path
) -> None:
    sketch = slicing("TensorIterator", slices, _stack() | stack, 1)
    with pytest.raises(treadle.TreadleError, match=wanted):
        treadle.load(write(tmp_path, sketch))


def _counted(start: float, iterations: int) -> list[np.ndarray]:
    steps = [start]
    for i in range(iterations):
        steps.append(steps[-1] + 1 + i)
    array = np.array(steps, np.float32)
    last = np.array([max(iterations - 1, 0)], np.int32)
    return [array[-1:], array[1:], last]


S = np.array([1], np.float32)


@pytest.mark.parametrize("trip", [0, 1, 2, 5])
def test_loops_with_a_trip_count(trip: int, tmp_path: Path) -> None:
    _expect(counting(tmp_path, trip, None), {"s": S}, _counted(1, trip), tmp_path)


@pytest.mark.parametrize("word", ["i32", "i64"])
@pytest.mark.parametrize("dims", [(), (1,)])
@pytest.mark.parametrize("trip", [0, 1, 3, -1, -5])
def test_a_trip_count_from_outside(
    word: str, dims: tuple[int, ...], trip: int, tmp_path: Path
) -> None:
    numpy = np.int32 if word == "i32" else np.int64
    path = counting(tmp_path, (word, dims), 30.0)
    iterations = 8 if trip < 0 else trip
    feed = {"n": np.full(dims, trip, numpy), "s": S}
    _expect(path, feed, _counted(1, iterations), tmp_path)


@pytest.mark.parametrize("trip", [-1, -7])
def test_while_without_a_trip_count(trip: int, tmp_path: Path) -> None:
    path = counting(tmp_path, trip, 10.0)
    (step,) = (v.step for v in walk(treadle.load(path)) if isinstance(v.step, Loop))
    assert step.trip is None
    _expect(path, {"s": S}, _counted(1, 4), tmp_path)


def test_do_while_runs_once_where_the_condition_is_false_after(tmp_path: Path) -> None:
    _expect(counting(tmp_path, 100, 0.0), {"s": S}, _counted(1, 1), tmp_path)


def test_a_condition_false_at_the_start_runs_no_iteration(tmp_path: Path) -> None:
    path = counting(tmp_path, 5, 10.0, start=False)
    _expect(path, {"s": S}, _counted(1, 0), tmp_path)


def test_states_swap_and_one_result_feeds_two(tmp_path: Path) -> None:
    path = swapping(tmp_path)
    feed = {
        name: np.array([value], np.float32)
        for name, value in zip("abcd", (1, 2, 10, 0), strict=True)
    }
    wanted = [np.array([value], np.float32) for value in (2, 1, 10 + 1 + 2 + 1)]
    _expect(path, feed, wanted, tmp_path)


def test_an_if_takes_ports_of_either_side(tmp_path: Path) -> None:
    weights = Weights()
    outer = Sketch(weights)
    feeds = [outer.parameter("c", "boolean", 1), outer.parameter("x", "f32", 2)]
    feeds.append(outer.parameter("y", "f32", 2))
    sides = {}
    for side, op in (("then", "Add"), ("else", "Subtract")):
        inner = Sketch(weights)
        params = [inner.parameter("p", "f32", 2), inner.parameter("q", "f32", 2)]
        made = inner.layer(op, params, [("f32", (2,))])
        sides[side] = (inner, params, [inner.result(params[1]), inner.result(made)])
    maps = {
        f"{side}_port_map": PortMap(
            tuple(PortEntry(1 + k, param) for k, param in enumerate(params)),
            # listed backwards: the ids say which output is which
            tuple(PortEntry(3 + k, results[k]) for k in (1, 0)),
        )
        for side, (_, params, results) in sides.items()
    }
    bodies = {f"{side}_body": inner.body() for side, (inner, _, _) in sides.items()}
    outputs = [("f32", (2,)), ("f32", (2,))]
    made = outer.layer("If", feeds, outputs, "opset8", port_maps=maps, bodies=bodies)
    outer.result((made, 0), "kept")
    outer.result((made, 1), "made")
    x, y = np.array([1, 2], np.float32), np.array([5, 7], np.float32)
    path = write(tmp_path, outer)
    for condition, wanted in ((True, x + y), (False, x - y)):
        feed = {"c": np.array([condition]), "x": x, "y": y}
        _expect(path, feed, [y, wanted], tmp_path)
