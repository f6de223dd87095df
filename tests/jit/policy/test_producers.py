"""Steps that make what a loop slices join its region, also where the length is open."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.values import assert_same

HEADS = """<ir_version: 8, opset_import: ["" : 18]>
g (float[GIVEN] x, float[2,3] h0) => (float[2,3] h, float[N,2,3] all) {
  first = Shape <start = START, end = END> (x)
  rest = Constant <value = int64[2] {2, 3}> ()
  shape = Concat <axis = 0> (PARTS)
  heads = Reshape (x, shape)
  items = Transpose <perm = [PERM]> (heads)
  h, all = Scan <num_scan_inputs = 1, scan_input_axes = [0], body = f (float[2,3] s, float[ITEM] i)
    => (float[2,3] next, float[2,3] out) {
    zero = Constant <value = int64[1] {0}> ()
    own = FORM
    next = Add (s, own)
    out = Mul (next, own)
  }> (h0, items)
}"""


def _text(given: str, ends: tuple[int, int], parts: str, perm: str, item: str, form: str) -> str:
    made = HEADS.replace("GIVEN", given).replace("START", str(ends[0])).replace("END", str(ends[1]))
    made = made.replace("PARTS", parts).replace("PERM", perm)
    return made.replace("ITEM", item).replace("FORM", form)


BATCH_FIRST = _text("1,T,6", (0, 2), "first, rest", "1, 0, 2, 3", "1,2,3", "Squeeze (i, zero)")
ROWS = _text("T,6", (0, 1), "first, rest", "0, 1, 2", "2,3", "Identity (i)")
LAST = _text("T,6", (0, 1), "rest, first", "2, 0, 1", "2,3", "Identity (i)")


@pytest.mark.parametrize("text", [BATCH_FIRST, ROWS])
@pytest.mark.parametrize("length", [0, 1, 7])
def test_a_reshape_that_keeps_the_items_joins(
    text: str, length: int, rng: np.random.Generator
) -> None:
    session = treadle.InferenceSession(text)
    assert [region.engine for region in session.plan.main.regions] == ["jit"]
    shape = (1, length, 6) if text is BATCH_FIRST else (length, 6)
    feed = {"x": rng.random(shape, np.float32), "h0": np.ones((2, 3), np.float32)}
    wanted = treadle.InferenceSession(text, engines=("interp",)).run(None, feed)
    for _ in range(2):
        assert_same(session.run(None, feed), wanted, ["h", "all"])


@pytest.mark.parametrize("length", [1, 7])
def test_a_reshape_that_mixes_the_items_stays_outside(
    length: int, rng: np.random.Generator
) -> None:
    session = treadle.InferenceSession(LAST)
    (first, *_) = session.plan.main.regions
    assert "Reshape" in {getattr(step, "op", "") for step in first.steps}
    assert first.engine == "onnxruntime"
    feed = {"x": rng.random((length, 6), np.float32), "h0": np.ones((2, 3), np.float32)}
    wanted = treadle.InferenceSession(LAST, engines=("interp",)).run(None, feed)
    assert_same(session.run(None, feed), wanted, ["h", "all"])
