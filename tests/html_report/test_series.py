"""Values over iterations: sparklines, heat maps, and the first NaN."""

import base64
import zlib

import numpy as np

from treadle import infer
from treadle.html_report.heat_map import heat_map
from treadle.html_report.series import first_nan, series
from treadle.tracing import Column

NESTED = """<ir_version: 10, opset_import: ["" : 21]>
g (float[T] x) => (float[T] y) {
  zero = Constant <value_float = 0.0> ()
  last, y = Scan <num_scan_inputs = 1, body = b (float h, float v) => (float n, float o) {
    n = Log (v)  o = Add (n, h) }> (zero, x)
}"""


def test_a_series_has_lows_means_and_highs() -> None:
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    told = series(Column("main", "h", rows, extents=(4,)))
    assert told is not None
    assert told["low"] == [0, 3, 6, 9]
    assert told["mean"] == [1, 4, 7, 10]
    assert told["high"] == [2, 5, 8, 11]
    assert told["range"] == [0, 11]
    assert "nan" not in told


def test_ten_thousand_times_are_thinned_and_keep_their_extremes() -> None:
    rows = np.zeros(10_000, np.float64)
    rows[7_777] = 5.0
    told = series(Column("main", "h", rows, extents=(10_000,)))
    assert told is not None
    assert len(told["high"]) == 120
    assert max(told["high"]) == 5.0


def test_a_series_names_the_iteration_of_nan_and_takes_changing_shapes() -> None:
    made = [np.ones(k, np.float32) for k in range(1, 5)]
    made[2][1] = np.nan
    told = series(Column("main", "h", made, np.array([[0], [2], [4], [6]])))
    assert told is not None
    assert told["nan"] == [4]
    assert "heat" not in told


def test_values_without_numbers_have_no_series() -> None:
    assert series(Column("main", "s", np.array(["a"], object), extents=(1,))) is None
    assert series(Column("main", "s", [None], np.zeros((1, 1), np.int64))) is None
    assert series(Column("main", "s", np.zeros((0, 2)), extents=(0,))) is None


def test_a_heat_map_is_a_png_with_colours_for_nan_and_infinity() -> None:
    png = base64.b64decode(heat_map(np.array([[0.0, 1.0], [np.nan, np.inf]])))
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    start = png.index(b"IDAT") + 4
    size = int.from_bytes(png[start - 8 : start - 4], "big")
    pixels = zlib.decompress(png[start : start + size])
    assert list(pixels) == [0, 0, 253, 0, 254, 255]


def test_nan_first_appears_where_it_is_made_and_not_where_it_is_read() -> None:
    nan = {"nan": [1]}
    found = first_nan(
        infer(NESTED),
        {"main/scan_1.body/o": nan, "main/scan_1.body/n": nan, "main/scan_1.body/h": {"nan": [2]}},
    )
    assert found is not None
    assert found["value"] == "main/scan_1.body/n"
    assert found["step"] == "main/scan_1.body/log_0"
    assert first_nan(infer(NESTED), {}) is None
