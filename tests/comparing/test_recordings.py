"""A side that is a recording made elsewhere: how its arrays fit the loops of a model."""

import ml_dtypes
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


FOUND = {
    "bfloat16": np.arange(3).astype(ml_dtypes.bfloat16),
    "float8": np.arange(3).astype(ml_dtypes.float8_e4m3fn),
    "int4": np.arange(3).astype(ml_dtypes.int4),
    "raw": np.zeros(3, "V5"),
    "structured": np.zeros(3, [("a", "i4"), ("b", "f4")]),
    "date": np.zeros(3, "M8[D]"),
    "difference": np.zeros(3, "m8[D]"),
    "long": np.ones(3, np.longdouble),
    "complex": np.array([1j, 2, 3]),
    "bytes": np.array([b"a\xff", b"b", b""]),
    "text": np.array(["a", "b", "c"]),
    "big endian": np.arange(3).astype(">f4"),
    "scalar": np.array(3.0),
    "bool": np.ones(3, bool),
    "unsigned": np.full(3, 2**64 - 1, np.uint64),
}
REFUSED = {"raw", "structured", "date", "difference", "long"}


@pytest.mark.parametrize("one", FOUND)
def test_recordings_of_every_element_type_are_compared_or_refused(one, tmp_path):
    for other in FOUND:
        np.savez(tmp_path / "a.npz", **{"main/x": FOUND[one]})
        np.savez(tmp_path / "b.npz", **{"main/x": FOUND[other]})
        if {one, other} & REFUSED:
            with pytest.raises(
                treadle.InputError, match=r"elements of .*which no value of a model"
            ):
                treadle.compare(tmp_path / "a.npz", tmp_path / "b.npz")
            continue
        found = treadle.compare(tmp_path / "a.npz", tmp_path / "b.npz")
        assert bool(found) == (one == other), f"{other}: {found}"
        assert str(found)
        assert found._repr_html_()


NUMBERS = {
    "scalar": np.array(3),
    "vector": np.arange(3),
    "cube": np.zeros((3, 1, 1), int),
    "nan": np.full((3, 1), np.nan),
    "text": np.array([["a"]] * 3),
    "structured": np.zeros((3, 1), [("a", "i4")]),
    "fewer": np.zeros((2, 1), int),
    "negative": -np.ones((3, 1), int),
    "huge": np.full((3, 1), 2**64 - 1, np.uint64),
    "dates": np.zeros((3, 1), "M8[D]"),
}


@pytest.mark.parametrize("numbers", NUMBERS)
def test_iteration_numbers_that_are_none_are_refused(numbers):
    rows = np.arange(3, dtype=np.float32)
    recorded = {"main/x": rows, "main/x@at": NUMBERS[numbers]}
    with pytest.raises(treadle.InputError, match="@at"):
        treadle.compare(recorded, {"main/x": rows})


def test_rows_of_as_many_loops_as_no_other_differ_at_the_first():
    rows = np.arange(3, dtype=np.float32)
    one, two, many = (np.zeros((3, loops), int) for loops in (1, 2, 50))
    for other in (two, many):
        found = treadle.compare(
            {"main/x": rows, "main/x@at": one}, {"main/x": rows, "main/x@at": other}
        )
        assert not found
        assert str(found)


def test_the_errors_of_a_late_iteration_need_no_memory_for_all_before_it():
    rows, last = np.arange(3, dtype=np.float32), np.full((3, 1), 2**31 - 1)
    found = treadle.compare(
        {"main/x": rows, "main/x@at": last}, {"main/x": rows * 2, "main/x@at": last}
    )
    assert not found
    assert not len(found.growth("main/x"))


def test_raw_bytes_of_a_file_are_elements_of_the_model(tmp_path):
    model = """<ir_version: 10, opset_import: ["" : 21]>
    g (bfloat16[n] x) => (bfloat16[n] y) { y = Add (x, x) }"""
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    for factor, is_equal in ((2, True), (3, False)):
        np.savez(tmp_path / "y.npz", y=(x * ml_dtypes.bfloat16(factor)))
        found = treadle.compare(model, tmp_path / "y.npz", {"x": x}, names={"y": "y"})
        assert bool(found) == is_equal


@pytest.mark.parametrize(
    ("numbers", "said"), [([-1, 0, 1], "-1 to 1"), ([0, 1, 2**40], "0 to 1099511627776")]
)
def test_numbers_that_are_no_iterations_are_told_with_their_range(numbers, said):
    recorded = {"main/x": np.zeros(3), "main/x@at": np.array(numbers)[:, None]}
    with pytest.raises(treadle.InputError, match=f"numbers from {said}; wanted iterations"):
        treadle.compare(recorded, recorded)
