"""Results that memory does not hold are errors on every choice of engines, not attempts."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import treadle
from treadle import machine

MOST = 2**20
CASES = {
    "Resize": ('y = Resize <mode = "nearest"> (x, , , s)', (1, 1, 2, 2), [1, 1, 600, 600]),
    "Resize by scales": (
        'f = Cast <to = 1> (s) y = Resize <mode = "nearest"> (x, , f)', (1, 1, 2, 2),
        [1, 1, 300, 300],
    ),
    "Expand": ("y = Expand (x, s)", (1,), [600, 600]),
    "Tile": ("y = Tile (x, s)", (4,), [10**5]),
    "ConstantOfShape": ("y = ConstantOfShape <value = float[1] {1.0}> (s)", (1,), [600, 600]),
    "Range": ("r = Range (none, last, one) y = Cast <to = 1> (r)", (1,), [10**6]),
    "Range by a small step": (
        "f = Cast <to = 1> (last) d = Constant <value_float = 0.00001> ()"
        " z = Constant <value_float = 0.0> () y = Range (z, f, d)", (1,), [10],
    ),
    "OneHot": (
        "v = Constant <value_floats = [0.0, 1.0]> () k = Cast <to = 7> (x)"
        " y = OneHot (k, last, v)", (4,), [10**5],
    ),
    "Pad": ("y = Pad (x, s)", (2, 2), [300, 300, 300, 300]),
    "Pad along an axis": ("y = Pad (x, s, , one1)", (200, 2), [1000, 1000]),
    "CenterCropPad": ("y = CenterCropPad (x, s)", (4, 4), [600, 600]),
    "AffineGrid": ("y = AffineGrid (x, s)", (1, 2, 3), [1, 1, 600, 600]),
    "MaxUnpool": (
        "k = Cast <to = 7> (x) y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, k, s)",
        (1, 1, 2, 2), [1, 1, 600, 600],
    ),
    "HannWindow": ("y = HannWindow (last)", (1,), [10**6]),
}  # fmt: skip
SHAPES = {
    "constant": "s = Constant <value_ints = [{}]> ()",
    "input": "",
    "computed": "h = Sub (s0, one) s = Add (h, one)",
}


def model(body, given, numbers, shape):
    name = {"constant": "", "input": "s", "computed": "s0"}[shape]
    size = f", int64[{len(numbers)}] {name}" if name else ""
    source = f"""<ir_version: 10, opset_import: ["" : 20]>
        g (float[{",".join(map(str, given))}] x{size}) => (float y) {{
            one = Constant <value_int = 1> ()
            one1 = Constant <value_ints = [1]> ()
            none = Constant <value_int = 0> ()
            {SHAPES[shape].format(",".join(map(str, numbers)))}
            last = ReduceMax <keepdims = 0> (s)
            {body}
        }}"""
    return source, name


@pytest.fixture
def small_machine(monkeypatch):
    """A machine with a mebibyte of memory, for what asks how much there is."""
    monkeypatch.setattr(machine, "memory_of_machine", lambda: MOST)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("engines", [None, ("onnxruntime", "interp"), ("interp",)])
def test_sizes_that_memory_does_not_hold(small_machine, engines, case, shape):
    body, given, numbers = CASES[case]
    source, name = model(body, given, numbers, shape)
    feeds = {"x": np.ones(given, np.float32), **({name: np.array(numbers)} if name else {})}
    with pytest.raises(treadle.TreadleError, match="its result would have"):
        treadle.InferenceSession(source, engines=engines).run(None, feeds)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", [case for case in CASES if case != "Range by a small step"])
def test_sizes_that_it_holds_are_answered_alike(case, shape):
    body, given, numbers = CASES[case]
    source, name = model(body, given, numbers, shape)
    feeds = {"x": np.ones(given, np.float32), **({name: np.array(numbers)} if name else {})}
    found, wanted = (
        treadle.InferenceSession(source, engines=engines).run(None, feeds)[0]
        for engines in (("onnxruntime", "interp"), ("interp",))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", CASES)
def test_max_bytes_holds_for_sizes_that_values_determine(case, shape):
    body, given, numbers = CASES[case]
    source, name = model(body, given, numbers, shape)
    feeds = {"x": np.ones(given, np.float32), **({name: np.array(numbers)} if name else {})}
    session = treadle.InferenceSession(source)
    with pytest.raises(treadle.LimitExceeded, match="max_bytes"):
        session.run(None, feeds, treadle.RunOptions(max_bytes=MOST))


@pytest.mark.parametrize(("multiple", "is_counted"), [(2.0, False), (0.5, False), (90.0, True)])
def test_few_multiples_that_constants_determine_are_not_counted_in_a_run(
    planned, multiple, is_counted
):
    (region,) = planned(f"""g (float[1,a,b,c] x) => (float[1,d,e,f] y) {{
        one = Constant <value_floats = [1.0, 1.0]> ()
        many = Constant <value_floats = [{multiple}, {multiple}]> ()
        s = Concat <axis = 0> (one, many)
        y = Resize <mode = "nearest"> (x, , s) }}""").main.regions
    assert region.runnable is not None, region.reason
    ops = [node.op_type for node in onnx.load_from_string(region.runnable.exported.data).graph.node]
    assert ("Size" in ops) == is_counted
