"""Loops, scans and branches written as IR: the layers in the file, and their outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.formats.openvino.write.written import layers, net, only, run, text, write
from treadle.formats.openvino.records import Body, Layer

COUNT = "float s0, int64 M, bool go"
STACKING = """
    sf, ys = Loop <body = body (int64 i, bool c, float s) => (bool more, float next, float y)
    {
        limit = Constant <value_float = 20.0> ()
        one = Constant <value_float = 1.0> ()
        next = Add(s, one)
        y = Mul(s, s)
        more = Less(s, limit)
    }> (M, go, s0)"""
LOOP = text(COUNT, "float sf, float[n] ys", STACKING)
SCAN = """
    sf, ys = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_directions = [1],
        scan_input_axes = [-1], scan_output_axes = [1],
        body = body (float[2] s, float[2] x) => (float[2] next, float[2] y)
        {
            next = Add(s, x)
            y = Sub(x, s)
        }> (s0, xs)"""
NESTED = text(
    "float[2] s0, float[3, 4, 2] xs, float[2] k",
    "float[2] sf, float[3, 4, 2] ys",
    """
    sf, ys = Scan <num_scan_inputs = 1, body = outer (float[2] s, float[4, 2] rows)
        => (float[2] after, float[4, 2] made)
        {
            after, made = Scan <num_scan_inputs = 1, body = inner (float[2] t, float[2] x)
                => (float[2] next, float[2] y)
                { next = Add(t, x) y = Mul(next, k) }> (s, rows)
        }> (s0, xs)""",
)


def feeds_of_loop(trips: int, go: bool = True, start: float = 1.5) -> dict[str, np.ndarray]:
    return {"s0": np.array(start, np.float32), "M": np.array(trips), "go": np.array(go)}


def same(model: str, feeds: dict[str, np.ndarray], folder: Path) -> None:
    for one, two in zip(run(write(model, folder), feeds), run(model, feeds), strict=True):
        assert (one.shape, one.dtype) == (two.shape, two.dtype)
        np.testing.assert_allclose(one, two, 1e-6)


@pytest.mark.parametrize("trips", [-3, 0, 1, 2, 5, 100])
@pytest.mark.parametrize("go", [True, False])
def test_a_loop_runs_as_often_as_in_onnx(trips: int, go: bool, tmp_path: Path) -> None:
    same(LOOP, feeds_of_loop(trips, go), tmp_path)


def test_the_xml_of_a_loop(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    golden("openvino/loop.xml", write(LOOP, tmp_path).read_text())


def test_the_xml_of_a_branch(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    body = """
    y = If (c) <then_branch = then () => (float[2] a) { a = Add(x, z) },
                else_branch = other () => (float[2] b) { b = Mul(x, x) }>"""
    model = text("bool c, float[2] x, float[2] z", "float[2] y", body)
    golden("openvino/if.xml", write(model, tmp_path).read_text())
    for c in (True, False):
        feeds = {"c": np.array(c), "x": np.array([1, 2], "f"), "z": np.array([3, 4], "f")}
        same(model, feeds, tmp_path)


def test_the_xml_of_a_scan(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    model = text("float[2] s0, float[2, 3] xs", "float[2] sf, float[2, 3] ys", SCAN)
    golden("openvino/scan.xml", write(model, tmp_path).read_text())
    feeds = {"s0": np.ones(2, "f"), "xs": np.arange(6, dtype="f").reshape(2, 3)}
    same(model, feeds, tmp_path)


@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_a_scan_of_a_length_that_is_not_known(length: int, tmp_path: Path) -> None:
    model = text("float[2] s0, float[2, n] xs", "float[2] sf, float[2, n] ys", SCAN)
    body = net(model, tmp_path).body
    assert not layers(body, "TensorIterator")
    assert only(body, "Loop").port_maps["port_map"].inputs[0].axis is None
    feeds = {"s0": np.ones(2, "f"), "xs": np.arange(2 * length, dtype="f").reshape(2, length)}
    same(model, feeds, tmp_path)


def test_no_iterator_stands_in_another_one(tmp_path: Path, rng: np.random.Generator) -> None:
    outer = only(net(NESTED, tmp_path).body, "TensorIterator")
    assert not layers(outer.bodies["body"], "TensorIterator")
    assert len(layers(outer.bodies["body"], "Loop")) == 1
    feeds = {name: rng.normal(size=shape).astype("f")
             for name, shape in (("s0", 2), ("xs", (3, 4, 2)), ("k", 2))}  # fmt: skip
    same(NESTED, feeds, tmp_path)


def _ports(layer: Layer) -> list[int]:
    entries = [e for map_ in layer.port_maps.values() for e in map_.inputs]
    return [entry.external for entry in entries if entry.external >= 0]


def _controls(body: Body) -> list[Layer]:
    found = []
    for layer in body.layers:
        if layer.bodies:
            found.append(layer)
            found += [each for inner in layer.bodies.values() for each in _controls(inner)]
    return found


def test_every_parameter_of_a_body_has_a_port_of_its_own(tmp_path: Path) -> None:
    model = text(
        "int64 M, bool c, float[2] x",
        "float[2] sf",
        """
        sf = Loop <body = body (int64 i, bool go, float[2] s) => (bool go, float[2] next)
        {
            next = If (c) <then_branch = then () => (float[2] a) { a = Add(x, s) },
                           else_branch = other () => (float[2] b) { b = Sub(s, x) }>
        }> (M, "", x)""",
    )
    controls = _controls(net(model, tmp_path).body)
    assert [layer.type for layer in controls] == ["Loop", "If"]
    for layer in controls:
        ports = _ports(layer)
        assert len(ports) == len(set(ports))
        for body in layer.bodies.values():
            fed = {e.internal for map_ in layer.port_maps.values() for e in map_.inputs}
            assert {inner.id for inner in layers(body, "Parameter")} <= fed
    for trips in (0, 1, 2, 5):
        feeds = {"M": np.array(trips), "c": np.array(trips > 1), "x": np.array([1, 2], "f")}
        same(model, feeds, tmp_path)


def test_a_constant_trip_count_is_not_counted(tmp_path: Path) -> None:
    fixed = STACKING.replace("(M, go, s0)", '(three, "", s0)').replace(
        "sf, ys", "three = Constant <value = int64 {3}> () sf, ys"
    )
    counted, bare = (
        net(text(COUNT, "float sf, float[n] ys", body), tmp_path) for body in (STACKING, fixed)
    )
    assert len(only(counted.body, "Loop").back_edges) == 2
    assert layers(counted.body, "Slice")
    assert len(only(bare.body, "Loop").back_edges) == 1
    assert not layers(bare.body, "Slice")
    assert not layers(bare.body, "Maximum")


@pytest.mark.parametrize(("trip", "go"), [("0", "1"), ("-2", "1"), ("5", "0")])
def test_a_loop_that_never_runs_is_folded(trip: str, go: str, tmp_path: Path) -> None:
    start = f"m = Constant <value = int64 {{{trip}}}> () g = Constant <value = bool {{{go}}}> ()"
    model = text(
        "float s0", "float sf, float[n] ys", start + STACKING.replace("(M, go, s0)", "(m, g, s0)")
    )
    assert not layers(net(model, tmp_path).body, "Loop")
    same(model, {"s0": np.array(4, "f")}, tmp_path)


def test_a_branch_that_is_decided_is_its_block(tmp_path: Path) -> None:
    body = """
    shape = Shape(x)
    two = Constant <value_ints = [2]> ()
    equal = Equal(shape, two)
    y = If (equal) <then_branch = then () => (float[2] a) { a = Neg(x) },
                    else_branch = other () => (float[1, 2] b) { b = Unsqueeze(x, zero) }>"""
    model = text("float[2] x", "y", "zero = Constant <value_ints = [0]> ()" + body)
    written = net(model, tmp_path)
    assert [layer.type for layer in written.body.layers] == ["Parameter", "Negative", "Result"]
    same(model, {"x": np.array([1, 2], "f")}, tmp_path)


def test_a_large_trip_count_is_none(tmp_path: Path) -> None:
    start = "m = Constant <value = int64 {9223372036854775807}> ()"
    model = text("float s0", "float sf, float[n] ys", start + STACKING.replace("M, go", 'm, ""'))
    loop = only(net(model, tmp_path).body, "Loop")
    same(model, {"s0": np.array(17, "f")}, tmp_path)
    assert loop.back_edges


@pytest.mark.parametrize(
    "body", ["an = Identity(b) bn = Identity(a)", "an = Identity(k) bn = Add(a, b)"]
)
def test_values_that_a_body_passes_through_are_copied(body: str, tmp_path: Path) -> None:
    model = text(
        "int64 M, float[2] a0, float[2] b0, float[2] k",
        "float[2] af, float[2] bf",
        "af, bf = Loop <body = body (int64 i, bool go, float[2] a, float[2] b)"
        f' => (bool go, float[2] an, float[2] bn) {{ {body} }}> (M, "", a0, b0)',
    )
    inner = only(net(model, tmp_path).body, "Loop").bodies["body"]
    parameters = {layer.id for layer in layers(inner, "Parameter")}
    results = {layer.id for layer in layers(inner, "Result")}
    direct = [e for e in inner.edges if e.from_layer in parameters and e.to_layer in results]
    assert direct == []
    for trips in (0, 1, 2, 5):
        feeds = {name: np.array(value, "f") for name, value in
                 (("a0", [1, 2]), ("b0", [3, 4]), ("k", [5, 6]))}  # fmt: skip
        same(model, {"M": np.array(trips), **feeds}, tmp_path)


def test_views_of_values_that_a_loop_reads_are_of_copies(tmp_path: Path) -> None:
    """OpenVINO computes in place in a view's operand, even if the operand is invariant."""
    model = text(
        "int64 M, float[2] s0, float[2] k",
        "float[2] sf, float[n, 1, 2] ys",
        """
        zero = Constant <value_ints = [0]> ()
        sf, ys = Loop <body = body (int64 i, bool go, float[2] s)
            => (bool go, float[2] next, float[1, 2] y)
        {
            wide = Unsqueeze(k, zero)
            y = Add(wide, s)
            next = Neg(s)
        }> (M, "", s0)""",
    )
    inner = only(net(model, tmp_path).body, "Loop").bodies["body"]
    kinds = {layer.id: layer.type for layer in inner.layers}
    seen = [kinds[e.from_layer] for e in inner.edges if kinds[e.to_layer] == "Unsqueeze"]
    assert "Parameter" not in seen
    assert "Maximum" in seen
    for trips in (0, 1, 2, 5):
        feeds = {"s0": np.array([1, 2], "f"), "k": np.array([5, 6], "f")}
        same(model, {"M": np.array(trips), **feeds}, tmp_path)


def test_unread_steps_are_not_written(tmp_path: Path) -> None:
    model = text(
        "int64 M, float[2] x",
        "float[2] sf",
        """
        sf, unread, rows = Loop <body = body (int64 i, bool go, float[2] s, float[2] t)
            => (bool go, float[2] next, float[2] other, float[2] row)
        {
            next = Add(s, x)
            other = Exp(t)
            row = Sin(t)
        }> (M, "", x, x)
        list = SequenceConstruct(rows)""",
    )
    loop = only(net(model, tmp_path).body, "Loop")
    assert len(loop.outputs) == 1
    assert not layers(loop.bodies["body"], "Exp")


def test_scan_8_is_a_loop_around_a_loop(tmp_path: Path, rng: np.random.Generator) -> None:
    model = """<ir_version: 4, opset_import: ["" : 8]>
    g (int64[2] lens, float[2, 1] s0, float[2, 3, 1] xs) => (float[2, 1] sf, float[2, 3, 1] ys)
    {
        sf, ys = Scan <num_scan_inputs = 1, body = body (float[1] s, float[1] x)
            => (float[1] next, float[1] y) { next = Add(s, x) y = Identity(next) }> (lens, s0, xs)
    }"""
    feeds = {
        "s0": rng.normal(size=(2, 1)).astype("f"),
        "xs": rng.normal(size=(2, 3, 1)).astype("f"),
    }
    same(model, {"lens": np.array([2, 3]), **feeds}, tmp_path)
