"""Port maps with numbers that are not port ids: their order counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tools.openvino.oracle import Oracle
from tools.openvino.sketch import Sketch, Weights, loop, write
from treadle.formats.openvino.records import PortEntry, PortMap

PAIR = [("f32", (2,)), ("f32", (2,))]
S = np.array([1, 2], np.float32)
NUMBERS = [(2, 3), (3, 2), (3, 4), (4, 3), (0, 1), (1, 0), (5, 6), (6, 5), (3, 9)]


def _doubled_and_turned(body: Sketch) -> tuple[int, int, int]:
    """A Parameter, and Results of twice that and of its opposite."""
    param = body.parameter("p", "f32", 2)
    double = body.layer("Add", [param, param], PAIR[:1])
    return param, body.result(double), body.result(body.layer("Negative", [double], PAIR[:1]))


def _loop(numbers: tuple[int, int], turned: bool, folder: Path) -> Path:
    weights = Weights()
    outer, inner = Sketch(weights), Sketch(weights)
    feeds = [outer.constant(np.array(2)), outer.constant(np.array(True))]
    param, double, opposite = _doubled_and_turned(inner)
    go = inner.result(inner.constant(np.array(True)))
    entries = [PortEntry(numbers[0], double), PortEntry(numbers[1], opposite)]
    condition = PortEntry(-1, go, "execution_condition")
    port_map = {
        "in": [PortEntry(2, param)],
        "out": [condition, *(entries[::-1] if turned else entries)],
    }
    made = loop(
        outer, inner, [*feeds, outer.parameter("s", "f32", 2)], PAIR, port_map, [(double, param)]
    )
    return _with_results(outer, made, folder)


def _branch(numbers: tuple[int, int], turned: bool, folder: Path) -> Path:
    weights = Weights()
    outer, sides = Sketch(weights), {"then": Sketch(weights), "else": Sketch(weights)}
    operands = [outer.constant(np.array(True)), outer.parameter("s", "f32", 2)]
    maps = {}
    for name, side in sides.items():
        param, double, opposite = _doubled_and_turned(side)
        entries = (PortEntry(numbers[0], double), PortEntry(numbers[1], opposite))
        given = entries[::-1] if turned else entries
        maps[f"{name}_port_map"] = PortMap((PortEntry(1, param),), given)
    bodies = {f"{name}_body": side.body() for name, side in sides.items()}
    made = outer.layer("If", operands, PAIR, "opset8", port_maps=maps, bodies=bodies)
    return _with_results(outer, made, folder)


def _with_results(outer: Sketch, made: int, folder: Path) -> Path:
    for place in range(2):
        outer.result((made, place), f"y{place}")
    return write(folder, outer)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize(("make", "twice"), [(_loop, 4 * S), (_branch, 2 * S)], ids=["Loop", "If"])
def test_outputs_come_in_the_order_of_their_numbers(make, twice, numbers, turned, tmp_path: Path):
    path = make(numbers, turned, tmp_path)
    found = treadle.InferenceSession(path, engines=["interp"]).run(None, {"s": S})
    wanted = [twice, -twice] if numbers[0] < numbers[1] else [-twice, twice]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("make", [_loop, _branch], ids=["Loop", "If"])
def test_openvino_says_the_same(make, oracle: Oracle, tmp_path: Path):
    for numbers in NUMBERS:
        path = make(numbers, True, tmp_path)
        wanted = treadle.InferenceSession(path, engines=["interp"]).run(None, {"s": S})
        (answer,) = oracle.ask(path, [{"s": S}])
        assert isinstance(answer, dict), answer
        np.testing.assert_array_equal([answer["y0"], answer["y1"]], wanted)
