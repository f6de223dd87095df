"""Variables: between runs, between iterations, in branches, with initial values of every kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import treadle
from tools.openvino.oracle import Oracle
from tools.openvino.sketch import Sketch, Weights, loop, write
from treadle.errors import LoadError
from treadle.formats.openvino.records import PortEntry, PortMap

ONE = [("f32", (1,))]
ENGINES = [["interp"], None, ["onnxruntime", "interp"]]
VARIABLE = {"variable_id": "v", "variable_type": "f32", "variable_shape": "1"}


def _read(sketch: Sketch, start: int | None) -> int:
    return sketch.layer("ReadValue", [] if start is None else [start], ONE, "opset6", data=VARIABLE)


def _assign(sketch: Sketch, value: int) -> None:
    sketch.layer("Assign", [value], ONE, "opset6", data=VARIABLE)


def _ten(sketch: Sketch) -> int:
    return sketch.constant(np.array([10], np.float32))


def _plain(folder: Path, start: Callable[[Sketch, int], int | None]) -> Path:
    """y = v; v += x."""
    sketch = Sketch(Weights())
    x = sketch.parameter("x", "f32", 1)
    held = _read(sketch, start(sketch, x))
    _assign(sketch, sketch.layer("Add", [held, x], ONE))
    sketch.result(held, "y")
    return write(folder, sketch)


def _looped(folder: Path, start: Callable[[Sketch, int], int | None]) -> Path:
    """The same three times in a Loop; y is what v was each time."""
    outer = Sketch(Weights())
    inner = Sketch(outer.weights)
    feeds = [outer.constant(np.array(3)), outer.constant(np.array(True))]
    feeds.append(outer.parameter("x", "f32", 1))
    x = inner.parameter("p", "f32", 1)
    held = _read(inner, start(inner, x))
    _assign(inner, inner.layer("Add", [held, x], ONE))
    seen, go = inner.result(held), inner.result(inner.constant(np.array(True)))
    port_map = {
        "in": [PortEntry(2, x)],
        "out": [PortEntry(3, seen, axis=0), PortEntry(-1, go, "execution_condition")],
    }
    outer.result(loop(outer, inner, feeds, [("f32", (-1,))], port_map), "y")
    return write(folder, outer)


def _exponential(sketch: Sketch, x: int) -> int:
    return sketch.layer("Exp", [x], ONE)


def _branched(folder: Path) -> Path:
    """y = v; v += x where c holds, else v -= x."""
    outer = Sketch(Weights())
    feeds = [outer.parameter("c", "boolean", 1), outer.parameter("x", "f32", 1)]
    bodies, maps = {}, {}
    for side, op in (("then", "Add"), ("else", "Subtract")):
        inner = Sketch(outer.weights)
        x = inner.parameter("p", "f32", 1)
        held = _read(inner, _ten(inner))
        _assign(inner, inner.layer(op, [held, x], ONE))
        seen = inner.result(held)
        bodies[f"{side}_body"] = inner.body()
        maps[f"{side}_port_map"] = PortMap((PortEntry(1, x),), (PortEntry(2, seen),))
    made = outer.layer("If", feeds, ONE, "opset8", port_maps=maps, bodies=bodies)
    outer.result(made, "y")
    return write(folder, outer)


def _runs(path: Path, feeds: list[dict[str, np.ndarray]], engines: list[str] | None) -> list[float]:
    """What y is when every run is fed what the run before gave."""
    session = treadle.InferenceSession(path, engines=engines)
    names = [output.name for output in session.get_outputs()]
    state: dict[str, np.ndarray] = {}
    found: list[float] = []
    for feed in feeds:
        got = dict(zip(names, session.run(None, feed | state), strict=True))
        state = {k.removesuffix(":next"): v for k, v in got.items() if k.endswith(":next")}
        found += got["y"].tolist()
    return found


FEEDS = [{"x": np.array([k], np.float32)} for k in (1, 2, 3)]
E1 = float(np.exp(np.float32(1)))
CASES = {
    "constant": (lambda p: _plain(p, lambda s, x: _ten(s)), [10, 11, 13]),
    "nothing": (lambda p: _plain(p, lambda s, x: None), [0, 1, 3]),
    "computed": (lambda p: _plain(p, _exponential), [E1, E1 + 1, E1 + 3]),
    "loop": (
        lambda p: _looped(p, lambda s, x: _ten(s)),
        [10, 11, 12, 13, 15, 17, 19, 22, 25],
    ),
    "loop_computed": (
        lambda p: _looped(p, lambda s, x: x),
        [1, 2, 3, 4, 6, 8, 10, 13, 16],
    ),
}


@pytest.mark.parametrize("engines", ENGINES, ids=["interp", "default", "onnxruntime"])
@pytest.mark.parametrize("name", CASES)
def test_a_variable_keeps_its_value(name: str, engines: list[str] | None, tmp_path: Path) -> None:
    make, wanted = CASES[name]
    assert _runs(make(tmp_path), FEEDS, engines) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_openvino_keeps_the_same_state(name: str, oracle: Oracle, tmp_path: Path) -> None:
    make, wanted = CASES[name]
    answers = oracle.ask(make(tmp_path), FEEDS, keep=True)
    found = [value for answer in answers for value in answer["y"].tolist()]  # type: ignore[index, call-overload]
    assert found == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("engines", ENGINES, ids=["interp", "default", "onnxruntime"])
def test_both_branches_may_use_a_variable(engines: list[str] | None, tmp_path: Path) -> None:
    turns = (True, False, True)
    feeds = [feed | {"c": np.array([c])} for feed, c in zip(FEEDS, turns, strict=True)]
    assert _runs(_branched(tmp_path), feeds, engines) == [10, 11, 9]


def test_an_unread_variable_is_a_finding_with_its_line(tmp_path: Path) -> None:
    sketch = Sketch(Weights())
    x = sketch.parameter("x", "f32", 1)
    _assign(sketch, x)
    sketch.result(x, "y")
    with pytest.raises(LoadError, match=r"sketch\.xml:12.*nothing reads the variable v"):
        treadle.load(write(tmp_path, sketch))
