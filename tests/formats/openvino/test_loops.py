"""Loop, TensorIterator and If by hand: every mode and port the documentation names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import treadle
from tests.formats.openvino.sketch import Sketch, Weights, loop, write
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


def _doubling(weights: Weights, word: str, *dims: int) -> tuple[Sketch, int, int, int]:
    """A body that doubles its parameter: the sketch, the Parameter, the Results."""
    inner = Sketch(weights)
    part = inner.parameter("part", word, *dims)
    twice = inner.layer("Add", [part, part], [(word, dims)])
    value = inner.result(twice)
    go = inner.result(inner.constant(np.array(True)))
    return inner, part, value, go


def _slicing(type_: str, slices: dict[str, int], stack: dict[str, int], part: int) -> Sketch:
    weights = Weights()
    outer = Sketch(weights)
    x = outer.parameter("x", "f32", 2, 8)
    inner, param, value, go = _doubling(weights, "f32", 2, part)
    feeds, first = [x], 0
    out = [PortEntry(first + 1, value, **stack)]
    if type_ == "Loop":
        trip = outer.constant(np.array(-1, np.int32))
        feeds, first = [trip, outer.constant(np.array(True)), x], 2
        out = [PortEntry(first + 1, value, **stack), PortEntry(-1, go, "execution_condition")]
    port_map = {"in": [PortEntry(first, param, **slices)], "out": out}
    made = loop(outer, inner, feeds, [("f32", (2, -1))], port_map, type_=type_)
    outer.result(made, "y")
    return outer


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
def test_slices(
    type_: str, slices: dict[str, int], part: int, columns: list[int], tmp_path: Path
) -> None:
    sketch = _slicing(type_, slices, _stack(stride=part, part_size=part), part)
    _expect(write(tmp_path, sketch), {"x": X}, [2 * X[:, columns]], tmp_path)


def test_an_output_may_be_concatenated_in_reverse(tmp_path: Path) -> None:
    stack = {"axis": 1, "start": -1, "end": 0, "stride": -2, "part_size": 2}
    sketch = _slicing("TensorIterator", {"axis": 1, "stride": 2, "part_size": 2}, stack, 2)
    _expect(write(tmp_path, sketch), {"x": X}, [2 * X[:, [6, 7, 4, 5, 2, 3, 0, 1]]], tmp_path)
    stack = {"axis": -1, "start": -1, "end": 0, "stride": -1, "part_size": 1}
    sketch = _slicing("TensorIterator", {"axis": 1}, stack, 1)
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
    sketch = _slicing("TensorIterator", slices, _stack() | stack, 1)
    with pytest.raises(treadle.TreadleError, match=wanted):
        treadle.load(write(tmp_path, sketch))


def _counting(
    tmp_path: Path, trip: tuple[str, tuple[int, ...]] | int, limit: float | None, start: bool = True
) -> Path:
    """s += 1 + i while s < limit; gives s, its steps, and the last i, which no back edge keeps."""
    weights = Weights()
    outer, inner = Sketch(weights), Sketch(weights)
    if isinstance(trip, int):
        count = outer.constant(np.array(trip, np.int64))
    else:
        count = outer.parameter("n", trip[0], *trip[1])
    go = outer.constant(np.array([start]))
    first = outer.parameter("s", "f32", 1)
    i = inner.parameter("i", "i32", 1)
    s = inner.parameter("s", "f32", 1)
    step = inner.layer("Convert", [i], [("f32", (1,))], data={"destination_type": "f32"})
    more = inner.layer("Add", [step, inner.constant(np.array([1], np.float32))], [("f32", (1,))])
    after = inner.layer("Add", [s, more], [("f32", (1,))])
    if limit is None:
        keep = inner.constant(np.array([True]))
    else:
        bound = inner.constant(np.array([limit], np.float32))
        keep = inner.layer("Less", [after, bound], [("boolean", (1,))])
    results = [inner.result(keep), inner.result(after), inner.result(i)]
    port_map = {
        "in": [PortEntry(-1, i, "current_iteration"), PortEntry(2, s)],
        "out": [
            PortEntry(3, results[1]),
            PortEntry(4, results[1], axis=0),
            PortEntry(5, results[2]),
            PortEntry(-1, results[0], "execution_condition"),
        ],
    }
    outputs = [("f32", (1,)), ("f32", (-1,)), ("i32", (1,))]
    made = loop(outer, inner, [count, go, first], outputs, port_map, [(results[1], s)])
    for k, name in enumerate(("final", "steps", "last")):
        outer.result((made, k), name)
    return write(tmp_path, outer)


def _counted(start: float, iterations: int) -> list[np.ndarray]:
    steps = [start]
    for i in range(iterations):
        steps.append(steps[-1] + 1 + i)
    array = np.array(steps, np.float32)
    last = np.array([max(iterations - 1, 0)], np.int32)
    return [array[-1:], array[1:], last]


S = np.array([1], np.float32)


@pytest.mark.parametrize("trip", [0, 1, 2, 5])
def test_for(trip: int, tmp_path: Path) -> None:
    _expect(_counting(tmp_path, trip, None), {"s": S}, _counted(1, trip), tmp_path)


@pytest.mark.parametrize("word", ["i32", "i64"])
@pytest.mark.parametrize("dims", [(), (1,)])
@pytest.mark.parametrize("trip", [0, 1, 3, -1, -5])
def test_a_trip_count_from_outside(
    word: str, dims: tuple[int, ...], trip: int, tmp_path: Path
) -> None:
    numpy = np.int32 if word == "i32" else np.int64
    path = _counting(tmp_path, (word, dims), 30.0)
    iterations = 8 if trip < 0 else trip
    feed = {"n": np.full(dims, trip, numpy), "s": S}
    _expect(path, feed, _counted(1, iterations), tmp_path)


@pytest.mark.parametrize("trip", [-1, -7])
def test_while_without_a_trip_count(trip: int, tmp_path: Path) -> None:
    path = _counting(tmp_path, trip, 10.0)
    (step,) = (v.step for v in walk(treadle.load(path)) if isinstance(v.step, Loop))
    assert step.trip is None
    _expect(path, {"s": S}, _counted(1, 4), tmp_path)


def test_do_while_runs_once_where_the_condition_is_false_after(tmp_path: Path) -> None:
    _expect(_counting(tmp_path, 100, 0.0), {"s": S}, _counted(1, 1), tmp_path)


def test_a_condition_false_at_the_start_runs_nothing(tmp_path: Path) -> None:
    path = _counting(tmp_path, 5, 10.0, start=False)
    _expect(path, {"s": S}, _counted(1, 0), tmp_path)


def test_states_swap_and_one_result_feeds_two(tmp_path: Path) -> None:
    weights = Weights()
    outer, inner = Sketch(weights), Sketch(weights)
    feeds = [outer.constant(np.array(3)), outer.constant(np.array(True))]
    feeds += [outer.parameter(name, "f32", 1) for name in "abcd"]
    params = [inner.parameter(f"p_{name}", "f32", 1) for name in "abcd"]
    total = inner.layer("Add", [params[2], params[0]], [("f32", (1,))])
    results = [inner.result(params[1]), inner.result(params[0]), inner.result(total)]
    go = inner.result(inner.constant(np.array(True)))
    port_map = {
        "in": [PortEntry(2 + k, param) for k, param in enumerate(params)],
        "out": [PortEntry(6 + k, result) for k, result in enumerate(results)]
        + [PortEntry(-1, go, "execution_condition")],
    }
    back = [(results[0], params[0]), (results[1], params[1])]
    back += [(results[2], params[2]), (results[2], params[3])]
    made = loop(outer, inner, feeds, [("f32", (1,))] * 3, port_map, back)
    for k in range(3):
        outer.result((made, k), f"y{k}")
    feed = {
        name: np.array([value], np.float32)
        for name, value in zip("abcd", (1, 2, 10, 0), strict=True)
    }
    wanted = [np.array([value], np.float32) for value in (2, 1, 10 + 1 + 2 + 1)]
    _expect(write(tmp_path, outer), feed, wanted, tmp_path)


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
