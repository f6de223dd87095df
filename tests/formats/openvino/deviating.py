"""Programs on which OpenVINO's CPU plugin deviates from its documentation.

Each is a function of the same name as its entry in deviations.toml; it writes a file and says what
to feed it. The last run is the one that deviates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.formats.openvino.fixtures import DATA, feeds
from tests.formats.openvino.programs import counting, slicing, swapping
from tools.openvino.sketch import WORDS, Sketch, Weights, loop, write
from treadle.formats.openvino.records import PortEntry

Feeds = Sequence[Mapping[str, np.ndarray]]
X = np.arange(16, dtype=np.float32).reshape(2, 8)
S = np.array([1], np.float32)
_COUNTS = "current_iteration"


class Program(NamedTuple):
    """A file, its runs, and whether one compiled model does them all."""

    path: Path
    feeds: Feeds
    keep: bool = False


def single(
    folder: Path, type_: str, version: str, word: str, inputs: Sequence[np.ndarray], **data: object
) -> Program:
    """One layer of these inputs; its output is y."""
    sketch = Sketch(Weights())
    given = [sketch.parameter(f"x{k}", WORDS[str(x.dtype)], *x.shape) for k, x in enumerate(inputs)]
    sketch.result(sketch.layer(type_, given, [(word, ())], version, data=data), "y")
    return Program(write(folder, sketch), [{f"x{k}": x for k, x in enumerate(inputs)}])


def stale_rows(folder: Path) -> Program:
    path = counting(folder, ("i64", ()), None)
    return Program(path, [{"n": np.array(n), "s": S} for n in (2, 0)], keep=True)


def stale_rows_inside(folder: Path) -> Program:
    name = "onnx_loop_nested_zero_inner_scan"
    return Program(DATA / f"{name}.xml", [feeds(name)[0].inputs])


def false_at_the_start(folder: Path) -> Program:
    return Program(counting(folder, 5, 10.0, start=False), [{"s": S}])


def start_of_a_slice(folder: Path) -> Program:
    slices = {"axis": 1, "start": 2, "end": -2, "stride": 1, "part_size": 1}
    stack = {"axis": 1, "start": 0, "end": -1, "stride": 1, "part_size": 1}
    return Program(write(folder, slicing("TensorIterator", slices, stack, 1)), [{"x": X}])


def states_that_swap(folder: Path) -> Program:
    feed = {name: np.array([k], np.float32) for k, name in enumerate("abcd")}
    return Program(swapping(folder), [feed])


def slices_without_a_trip_count(folder: Path) -> Program:
    both = {"axis": 1, "start": 0, "end": -1, "stride": 1, "part_size": 1}
    return Program(write(folder, slicing("Loop", both, both, 1)), [{"x": X}])


def trip_count_below_minus_one(folder: Path) -> Program:
    name = "onnx_loop_negative_M"
    return Program(DATA / f"{name}.xml", [feeds(name)[1].inputs])


def large_trip_count(folder: Path) -> Program:
    path = counting(folder, ("i64", ()), 10.0)
    return Program(path, [{"n": np.array(2**32 + 1), "s": S}])


def iteration_behind_a_constant(folder: Path) -> Program:
    weights = Weights()
    outer, inner = Sketch(weights), Sketch(weights)
    feeds = [outer.constant(np.array(2)), outer.constant(np.array(True))]
    feeds += [outer.parameter("s", "f32", 1), outer.constant(np.array([7], np.float32))]
    state, added = inner.parameter("s", "f32", 1), inner.parameter("k", "f32", 1)
    counter = inner.parameter("i", "i64", 1)
    after = inner.result(inner.layer("Add", [state, added], [("f32", (1,))]))
    go = inner.result(inner.constant(np.array(True)))
    port_map = {
        "in": [PortEntry(2, state), PortEntry(3, added), PortEntry(-1, counter, _COUNTS)],
        "out": [PortEntry(4, after), PortEntry(-1, go, "execution_condition")],
    }
    outer.result(loop(outer, inner, feeds, [("f32", (1,))], port_map, [(after, state)]), "y")
    return Program(write(folder, outer), [{"s": S}])


def slices_nothing_uses(folder: Path) -> Program:
    weights = Weights()
    outer, inner = Sketch(weights), Sketch(weights)
    feeds = [outer.parameter("s", "f32", 1), outer.parameter("x", "f32", 2, 8)]
    state, part = inner.parameter("s", "f32", 1), inner.parameter("p", "f32", 2, 1)
    after = inner.result(inner.layer("Add", [state, state], [("f32", (1,))]))
    port_map = {
        "in": [PortEntry(0, state), PortEntry(1, part, axis=1)],
        "out": [PortEntry(2, after)],
    }
    back = [(after, state)]
    made = loop(outer, inner, feeds, [("f32", (1,))], port_map, back, "TensorIterator")
    outer.result(made, "y")
    return Program(write(folder, outer), [{"s": S, "x": X}])


def comparison_above_2_24(folder: Path) -> Program:
    pair = [np.array([2**24 + k], np.int32) for k in (1, 0)]
    return single(folder, "Equal", "opset1", "boolean", pair)


def remainder_above_2_24(folder: Path) -> Program:
    pair = [np.array([value], np.int32) for value in (2**24 + 1, 2)]
    return single(folder, "FloorMod", "opset1", "i32", pair)


def sum_of_bytes(folder: Path) -> Program:
    pair = [np.array([value], np.uint8) for value in (250, 10)]
    return single(folder, "Add", "opset1", "u8", pair)


def gather_out_of_range(folder: Path) -> Program:
    sketch = Sketch(Weights())
    x, places = sketch.parameter("x", "f32", 1), sketch.parameter("i", "i64", 1)
    axis = sketch.constant(np.array(0))
    sketch.result(sketch.layer("Gather", [x, places, axis], [("f32", (1,))], "opset8"), "y")
    return Program(write(folder, sketch), [{"x": S, "i": np.array([7])}])


def nan_to_boolean(folder: Path) -> Program:
    nan = np.array([np.nan], np.float32)
    return single(folder, "Convert", "opset1", "boolean", [nan], destination_type="boolean")


def reduce_over_no_axes(folder: Path) -> Program:
    sketch = Sketch(Weights())
    x, axes = sketch.parameter("x", "f32", 2, 8), sketch.constant(np.zeros(0, np.int64))
    data = {"keep_dims": False}
    sketch.result(sketch.layer("ReduceSum", [x, axes], [("f32", (2, 8))], data=data), "y")
    return Program(write(folder, sketch), [{"x": X}])


def loop_of_constants(folder: Path) -> Program:
    weights = Weights()
    outer, inner, innermost = Sketch(weights), Sketch(weights), Sketch(weights)
    outer.parameter("s", "f32", 1)
    feeds = [outer.constant(np.array(-1)), outer.constant(np.array(True)), outer.constant(S)]
    counter, state = inner.parameter("i", "i64", 1), inner.parameter("p", "f32", 1)
    part, sum_ = innermost.parameter("x", "f32", 1), innermost.parameter("t", "f32", 1)
    total = innermost.result(innermost.layer("Add", [part, sum_], [("f32", (1,))]))
    slices = {
        "in": [PortEntry(0, part, axis=0, start=0, end=-1, stride=1, part_size=1),
               PortEntry(1, sum_)],
        "out": [PortEntry(2, total)],
    }  # fmt: skip
    back = [(total, sum_)]
    made = loop(inner, innermost, [state, state], [("f32", (1,))], slices, back, "TensorIterator")
    after = inner.result(made)
    go = inner.result(
        inner.layer("Less", [counter, inner.constant(np.array([2]))], [("boolean", (1,))])
    )
    port_map = {
        "in": [PortEntry(-1, counter, _COUNTS), PortEntry(2, state)],
        "out": [
            PortEntry(3, after, axis=0, start=0, end=-1, stride=1, part_size=1),
            PortEntry(-1, go, "execution_condition"),
        ],
    }
    outer.result(loop(outer, inner, feeds, [("f32", (-1,))], port_map, [(after, state)]), "y")
    return Program(write(folder, outer), [{"s": S}])


def roi_align_of_negatives(folder: Path) -> Program:
    inputs = [-np.ones((1, 1, 4, 4), np.float32), np.array([[0, 0, 3, 3]], np.float32)]
    data = {"pooled_h": 1, "pooled_w": 1, "sampling_ratio": 2, "spatial_scale": 1.0, "mode": "max"}
    return single(folder, "ROIAlign", "opset3", "f32", [*inputs, np.zeros(1, np.int32)], **data)


PROGRAMS: dict[str, Callable[[Path], Program]] = {
    make.__name__: make
    for make in (
        stale_rows,
        stale_rows_inside,
        false_at_the_start,
        start_of_a_slice,
        states_that_swap,
        slices_without_a_trip_count,
        trip_count_below_minus_one,
        large_trip_count,
        iteration_behind_a_constant,
        slices_nothing_uses,
        comparison_above_2_24,
        remainder_above_2_24,
        sum_of_bytes,
        gather_out_of_range,
        nan_to_boolean,
        reduce_over_no_axes,
        loop_of_constants,
        roi_align_of_negatives,
    )
}
