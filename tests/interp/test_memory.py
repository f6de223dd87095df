"""A result that is larger than the machine's memory is an error before it is allocated."""

from __future__ import annotations

import numpy as np
import pytest

import treadle

SIZE = np.array([1, 1, 2**31, 2**31])
X = np.ones((1, 1, 2, 2), np.float32)
CASES = {
    'y = Resize (x, "", "", s)': "float[1,1,2,2] x, int64[4] s",
    "y = Expand (x, s)": "float[1,1,1,1] x, int64[4] s",
    "y = Tile (x, s)": "float[1,1,2,2] x, int64[4] s",
    "y = ConstantOfShape (s)": "int64[4] s",
}


@pytest.mark.parametrize("step", CASES)
@pytest.mark.parametrize("engines", ["interp", None])
def test_a_result_larger_than_memory_is_refused(step, engines):
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
        g ({CASES[step]}) => (float[a,b,c,d] y) {{ {step} }}"""
    given = {} if engines is None else {"engines": (engines,)}
    session = treadle.InferenceSession(text, **given)
    names = [each.name for each in session.get_inputs()]
    x = X[..., :1, :1] if "Expand" in step else X
    said = "of memory there are" if engines else "."
    with pytest.raises(treadle.TreadleError, match=said):
        session.run(None, {name: {"x": x, "s": SIZE}[name] for name in names})


def test_results_that_fit_are_computed():
    text = """<ir_version: 10, opset_import: ["" : 21]>
        g (float[a,b] x, int64[3] s) => (float[c,d,e] y) { y = Expand (x, s) }"""
    x = np.ones((1, 3), np.float32)
    session = treadle.InferenceSession(text, engines=("interp",))
    assert session.run(None, {"x": x, "s": np.array([2, 4, 1])})[0].shape == (2, 4, 3)
