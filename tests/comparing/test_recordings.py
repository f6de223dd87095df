"""A side that is a recording made elsewhere: how its arrays fit the loops of a model."""

import numpy as np
import pytest

import treadle

SUMS = """<ir_version: 10, opset_import: ["" : 21]>
sums (float[3, 4] x) => (float[3, 4] y, float twice) {
  zero = Constant <value_float = 0.0> ()
  total, y = Scan <num_scan_inputs = 1, body = rows
    (float total, float[4] row) => (float next, float[4] sums) {
    next, sums = Scan <num_scan_inputs = 1, body = cells
        (float sum, float cell) => (float more, float kept) {
      more = Add (sum, cell)
      kept = Identity (more)
    }> (total, row)
  }> (zero, x)
  twice = Add (total, total)
}"""


@pytest.mark.parametrize("names", [{}, {"more": "running", "twice": "doubled"}])
def test_recorded_arrays_have_as_many_leading_axes_as_there_are_loops_around_the_value(
    names, rng, tmp_path
):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    sums = np.cumsum(x, dtype=np.float32).reshape(3, 4)
    recorded = {"running": sums, "doubled": sums[-1, -1] * np.float32(2)}
    np.savez(tmp_path / "recorded.npz", **recorded)
    values = ["more", "twice"]
    found = treadle.compare(SUMS, tmp_path / "recorded.npz", {"x": x}, values=values, names=names)
    assert found
    pairs = {(pair.got.rpartition("/")[2], pair.wanted) for pair in found.matches}
    assert ("more", "running") in pairs
    assert ("twice", "doubled") in pairs or not names  # a scalar is too little to match by data


def test_the_first_difference_from_a_recorded_array_has_a_number_for_each_loop(rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    recorded = {"running": np.cumsum(x, dtype=np.float32).reshape(3, 4)}
    recorded["running"][2, 1] += 1
    model = SUMS.replace("more", '"loop/more"')
    found = treadle.compare(model, recorded, {"x": x}, names={"loop/more": "running"})
    assert found.first is not None
    assert found.first.iterations == (2, 1)
    assert found.growth("running").tolist() == [0, 0, 1]
