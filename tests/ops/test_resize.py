"""Resize where the result has no elements."""

import time

import numpy as np
import pytest

import treadle

TEXT = """<ir_version: 9, opset_import: ["" : 19]>
g (float[1,1,2,4] x) => (float[a,b,c,d] y) <{}> {{ y = Resize <mode = "linear"{}> ({}) }}"""


@pytest.mark.parametrize(
    ("constant", "attributes", "operands", "shape"),
    [
        ("float[4] s = {1,0,16777216,0.6}", "", 'x, "", s', (1, 0, 2 * 16777216, 2)),
        ("float[2] s = {16777216,0.1}", ", axes = [3, -2]", 'x, "", s', (1, 1, 0, 4 * 16777216)),
        ("int64[4] s = {1,1,0,70000000}", "", 'x, "", "", s', (1, 1, 0, 70000000)),
    ],
)
@pytest.mark.parametrize("engines", [None, ("interp",)])
def test_an_empty_result_takes_no_time(constant, attributes, operands, shape, engines):
    session = treadle.InferenceSession(TEXT.format(constant, attributes, operands), engines=engines)
    started = time.process_time()
    (found,) = session.run(None, {"x": np.ones((1, 1, 2, 4), np.float32)})
    assert found.shape == shape
    assert time.process_time() - started < 5  # 90 s in onnx's reference implementation
