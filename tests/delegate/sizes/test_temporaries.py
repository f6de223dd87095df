"""Memory that kernels of onnxruntime fill beside their results: foreseen, and never attempted."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest

import treadle
from treadle import machine
from treadle.delegate.workarounds.temporaries import temporary_bytes
from treadle.ir import walk_block

MOST = 2**20
FLOAT, BYTE = np.float32, np.uint8
CASES = {
    "ConvInteger": (
        "y = ConvInteger (x, w)",
        {"x": (BYTE, (1, 2, 500, 500)), "w": (BYTE, (1, 2, 17, 17))},
    ),
    "ConvTranspose": (
        "y = ConvTranspose (x, w)",
        {"x": (FLOAT, (1, 1, 200, 200)), "w": (FLOAT, (1, 2, 15, 15))},
    ),
    "DeformConv": (
        "y = DeformConv (x, w, o)",
        {"x": (FLOAT, (1, 4, 120, 120)), "w": (FLOAT, (1, 4, 9, 9)),
         "o": (FLOAT, (1, 162, 112, 112))},
    ),
    "NonZero": ("y = NonZero (x)", {"x": (FLOAT, (1000, 3000))}),
    "QLinearConv": (
        "s = Constant <value_float = 0.5> () z = Constant <value = uint8 {0}> ()"
        " y = QLinearConv (x, s, z, w, s, z, s, z)",
        {"x": (BYTE, (1, 1, 300, 300)), "w": (BYTE, (1, 1, 17, 17))},
    ),
    "Unique": ("y, i, v, c = Unique (x)", {"x": (FLOAT, (1000000,))}),
}  # fmt: skip
MEASURED = """
import re, sys
import numpy as np, onnxruntime
def peak(): return 1024 * int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])
feed = {name: each for name, each in np.load(sys.argv[2]).items()}
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
before = peak()
results = session.run(None, feed)
print(peak() - before - sum(each.nbytes for each in results))
"""


def text(case):
    body, inputs = CASES[case]
    named = {FLOAT: "float", BYTE: "uint8"}
    given = ", ".join(
        f"{named[dtype]}[{','.join(f'{name}{k}' for k in range(len(shape)))}] {name}"
        for name, (dtype, shape) in inputs.items()
    )
    ends = {"ConvInteger": "int32", "NonZero": "int64", "QLinearConv": "uint8"}
    rank = {"NonZero": 2, "Unique": 1}.get(case, 4)
    extents = ",".join(f"y{k}" for k in range(rank))
    return f"""<ir_version: 10, opset_import: ["" : 22]>
        g ({given}) => ({ends.get(case, "float")}[{extents}] y) {{ {body} }}"""


def feed_of(case, random):
    shapes = {name: (dtype, shape) for name, (dtype, shape) in CASES[case][1].items()}
    return {
        name: (random.permutation(int(np.prod(shape))) % 2**23 + 1).reshape(shape).astype(dtype)
        for name, (dtype, shape) in shapes.items()
    }


def leaf_of(model):
    block = treadle.load(model).main
    return next(visit.step for visit in walk_block(block) if visit.step.op != "Constant")


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory is read from /proc")
@pytest.mark.parametrize("case", CASES)
def test_the_bound_holds_what_onnxruntime_fills(tmp_path, rng, case):
    model, feed = onnx.parser.parse_model(text(case)), feed_of(case, rng)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(tmp_path / "feed.npz", **feed)
    command = [sys.executable, "-c", MEASURED, tmp_path / "m.onnx", tmp_path / "feed.npz"]
    filled = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    step = leaf_of(model)
    operands = [feed[v.name].shape if v.name in feed else () for v in step.operands]
    result = treadle.InferenceSession(model).run(None, feed)[0].shape
    bound = temporary_bytes(step, operands, result)
    assert filled <= 1.05 * bound + 2**24
    assert bound <= 8 * max(filled, 2**24)


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(machine, "memory_of_machine", lambda: MOST)


INDICES = """<ir_version: 10, opset_import: ["" : 22]>
    g (float[n, m] x) => (int64[2, k] y) { y = NonZero (x) }"""
DISTINCT = """<ir_version: 10, opset_import: ["" : 22]>
    g (float[n] x) => (float[k] y, int64[n] v) { y, i, v = Unique (x) }"""
ENGINES = [None, ("onnxruntime", "interp"), ("interp",)]


@pytest.mark.parametrize("engines", ENGINES)
def test_indices_that_memory_does_not_hold(small_machine, engines):
    session = treadle.InferenceSession(INDICES, engines=engines)
    with pytest.raises(treadle.TreadleError, match=r"NonZero[\s\S]* bytes"):
        session.run(None, {"x": np.ones((400, 400), np.float32)})
    few = np.zeros((400, 400), np.float32)
    few[3, 5] = few[7, 2] = 1
    (found,) = session.run(None, {"x": few})
    np.testing.assert_array_equal(found, np.array([[3, 7], [5, 2]]))


@pytest.mark.parametrize("engines", ENGINES)
def test_distinct_elements_that_memory_does_not_hold(small_machine, engines):
    session = treadle.InferenceSession(DISTINCT, engines=engines)
    with pytest.raises(treadle.TreadleError, match=r"Unique[\s\S]* bytes"):
        session.run(None, {"x": np.arange(90000, dtype=np.float32)})
    numbers = np.arange(10000, dtype=np.float32)[::-1].copy()
    found, places = session.run(None, {"x": numbers})
    np.testing.assert_array_equal(found, numbers[::-1])
    np.testing.assert_array_equal(places, np.arange(10000)[::-1])


def test_columns_that_memory_does_not_hold_are_left_to_interp(small_machine):
    feed = {"x": np.ones((1, 1, 60, 60), np.float32), "w": np.ones((1, 2, 9, 9), np.float32)}
    session = treadle.InferenceSession(text("ConvTranspose"))
    (found,) = session.run(None, feed)
    (wanted,) = treadle.InferenceSession(text("ConvTranspose"), engines=("interp",)).run(None, feed)
    np.testing.assert_array_equal(found, wanted)
