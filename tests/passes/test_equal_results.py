"""Equal results of a branch stay two values, since runtimes compute one listed twice wrongly."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.ir import Branch, walk

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[3] x) => (float[3] a, float[3] b) { a, b = If (c) <
    then_branch = t () => (float[3] p, float[3] q) { p = Mul (x, x) q = Mul (x, x) },
    else_branch = e () => (float[3] r, float[3] s) { r = Add (x, x) s = Add (x, x) }> }"""


@pytest.mark.parametrize("condition", [True, False])
def test_equal_results_of_a_branch(condition):
    model = treadle.optimize(TEXT)
    (branch,) = [each.step for each in walk(model) if isinstance(each.step, Branch)]
    for block in (branch.then, branch.otherwise):
        assert len(set(block.results)) == len(block.results)
    x = np.arange(3, dtype=np.float32)
    expected = x * x if condition else x + x
    for found in treadle.InferenceSession(model).run(None, {"c": np.array(condition), "x": x}):
        np.testing.assert_array_equal(found, expected)
