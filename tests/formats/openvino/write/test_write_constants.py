"""Loops over constants are written so that OpenVINO does not evaluate them at compile time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.formats.openvino.write.written import net, run, text, write
from tools.openvino.oracle import Oracle
from treadle.formats.openvino.records import Body, Layer

IF = """n = ReduceSum <keepdims = 0> (p) z = Constant <value = float {0}> () c = Greater(n, z)
    q = If (c) <then_branch = then () => (float[1] a) { a = Add(p, p) },
                else_branch = other () => (float[1] b) { b = Neg(p) }>"""
SCAN = """xs = Concat <axis = 0> (p, p)
    q = Scan <num_scan_inputs = 1, body = sum (float[1] s, float x) => (float[1] t)
        { t = Add(s, x) }> (p, xs)"""
LOOP = """s = Constant <value = float[1] {1}> ()
    last, OUT = Loop <body = body (int64 i, bool go, float[1] p)
        => (bool on, float[1] q, float[1] r)
        { two = Constant <value_int = 2> () on = Less(i, two) BODY r = Identity(q) }> ("", "", s)"""
PLACES = {
    "main": "LOOP y = Sub(rows, x)",
    "branch": """zero = Constant <value = float[1] {0}> () above = Greater(x, zero)
        w = If (above) <then_branch = then () => (float[k, 1] rows) { LOOP },
                        else_branch = other () => (float[m, 1] none)
                            { none = Constant <value = float[1, 1] {5}> () }>
        y = Sub(w, x)""",
    "body": """three = Constant <value_int = 3> ()
        end = Loop <body = outer (int64 j, bool k, float[1] acc) => (bool l, float[1] more)
            { l = Identity(k) LOOP t = ReduceSum <keepdims = 0> (rows) more = Add(acc, t) }>
            (three, "", x)
        y = Sub(end, x)""",
}


def _model(place: str, inside: str) -> str:
    loop = LOOP.replace("OUT", "rows").replace("BODY", inside)
    return text("float[1] x", "y", PLACES[place].replace("LOOP", loop))


@pytest.mark.parametrize("inside", [IF, SCAN], ids=["If", "Scan"])
@pytest.mark.parametrize("place", PLACES)
def test_openvino_runs_folded_constants(
    place: str, inside: str, oracle: Oracle, tmp_path: Path
) -> None:
    model, feeds = _model(place, inside), {"x": np.array([2], np.float32)}
    path, wanted = write(model, tmp_path), run(_model(place, inside), feeds)
    np.testing.assert_array_equal(run(path, feeds)[0], wanted[0])
    for answer in oracle.ask(path, [feeds, feeds]):
        assert isinstance(answer, dict), answer
        np.testing.assert_array_equal(answer["y"], wanted[0])


@pytest.mark.parametrize(("inside", "count"), [(IF, 0), (SCAN, 0), ("q = Neg(p)", 1)])
@pytest.mark.parametrize("place", PLACES)
def test_only_those_without_control_flow_inside_keep_their_constants(
    place: str, inside: str, count: int, tmp_path: Path
) -> None:
    assert len(_loops_of_constants(net(_model(place, inside), tmp_path).body)) == count


def _loops_of_constants(body: Body) -> list[Layer]:
    layers = {layer.id: layer for layer in body.layers}
    fed: dict[int, set[str]] = {}
    for edge in body.edges:
        fed.setdefault(edge.to_layer, set()).add(layers[edge.from_layer].type)
    found = [each for each in body.layers if each.type == "Loop" and fed[each.id] == {"Const"}]
    for layer in body.layers:
        for inner in layer.bodies.values():
            found += _loops_of_constants(inner)
    return found
