"""Small IR programs, shared by the tests of loops and of the oracle."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tools.openvino.sketch import Sketch, Weights, loop, write
from treadle.formats.openvino.records import PortEntry


def _doubling(weights: Weights, word: str, *dims: int) -> tuple[Sketch, int, int, int]:
    """A body that doubles its parameter: the sketch, the Parameter, the Results."""
    inner = Sketch(weights)
    part = inner.parameter("part", word, *dims)
    twice = inner.layer("Add", [part, part], [(word, dims)])
    value = inner.result(twice)
    go = inner.result(inner.constant(np.array(True)))
    return inner, part, value, go


def slicing(type_: str, slices: dict[str, int], stack: dict[str, int], part: int) -> Sketch:
    """Parts of x doubled and put together again."""
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


def counting(
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


def swapping(folder: Path) -> Path:
    """A body whose first two Parameters change places; a third Result feeds two of them."""
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
    return write(folder, outer)
