"""An operator of onnxruntime with an input of unknown type: a session for each type it gets."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.delegate import Onnxruntime
from treadle.passes import prepare
from treadle.plan import FallbackRequired, RunContext, Runnable, plan

HEAD = '<ir_version: 8, opset_import: ["" : 20, "com.microsoft" : 1]>'


def runnable(body: str) -> Runnable:
    loaded = prepare(treadle.load(f"{HEAD} g (x) => (y) {{ {body} }}"))
    (region,) = plan(loaded, [Onnxruntime()]).main.regions
    assert region.engine == "onnxruntime"
    assert region.runnable is not None
    return region.runnable


def test_each_type_and_rank_gets_its_session() -> None:
    run = runnable("y = com.microsoft.QuickGelu <alpha = 1.0> (x)")
    for dtype, shape in ((np.float32, (3,)), (np.float32, (2, 2)), (np.float16, (3,))):
        x = np.full(shape, 0.5, dtype)
        (found,) = run([x], RunContext())
        assert found.dtype == dtype
        np.testing.assert_allclose(found, x / (1 + np.exp(-x)), rtol=2e-3)
        np.testing.assert_array_equal(run([x], RunContext())[0], found)
    assert run.traits.returns_fresh_arrays


def test_a_list_has_the_type_of_its_items() -> None:
    first = "i = Constant <value_int = 0> () s = SequenceAt (x, i)"
    run = runnable(f"{first} y = com.microsoft.QuickGelu (s)")
    (found,) = run([[np.zeros(2, np.float32), np.ones(1, np.float32)]], RunContext())
    assert found.shape == (2,)


def test_a_type_without_a_kernel_is_left_to_other_engines() -> None:
    run = runnable("y = com.microsoft.QuickGelu (x)")
    with pytest.raises(FallbackRequired):
        run([np.array([1, 2])], RunContext())
