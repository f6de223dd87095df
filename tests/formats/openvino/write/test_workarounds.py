"""Models that OpenVINO computes differently from ONNX are written in equivalent forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import treadle
from tests.formats.openvino.write.written import run, text, write
from tools.openvino.oracle import Oracle

REDUCED = {
    "last of three": ("float[2,3,4] x", "float[2,3] y", 2, "float[3] {1, 2, 3}"),
    "extents not known": ("float[A,B,C] x", "float[A,B] y", 2, "float[3] {1, 2, 3}"),
    "a row": ("float[2,3,4] x", "float[2,3] y", -1, "float[1,3] {1, 2, 3}"),
    "another axis": ("float[2,4,3] x", "float[2,3] y", 1, "float[3] {1, 2, 3}"),
}
GROWING = """
    _, y = Loop <body = body (int64 i, bool c, float[M] s)
        => (bool more, float[K] next, {row} o)
    {{
        more = Identity(c)
        next = Concat <axis = 0> (s, s)
        {made}
    }}> (n, "", x)"""
ROWS = {
    "numbers": ("float", "o = ReduceSum <keepdims = 0> (next)"),
    "lengths": ("int64", "o = Size(next)"),
    "truths": ("bool", "four = Constant <value_int = 4> () n = Size(next) o = Less(n, four)"),
}


def same(model: str, feeds: list[dict[str, np.ndarray]], folder: Path, oracle: Oracle) -> None:
    path = write(model, folder)
    answers = oracle.ask(path, feeds)
    for given, answer in zip(feeds, answers, strict=True):
        assert isinstance(answer, dict), answer
        names = [output.name for output in treadle.InferenceSession(path).get_outputs()]
        wanted = run(model, given)
        for name, again, right in zip(names, run(path, given), wanted, strict=True):
            np.testing.assert_allclose(answer[name], right, 1e-5)
            np.testing.assert_allclose(again, right, 1e-5)


@pytest.mark.parametrize("case", REDUCED)
@pytest.mark.parametrize(
    ("op", "then"),
    [
        ("ReduceSum", "y = Add(k, s)"),
        ("ReduceMax", "y = Mul(s, k)"),
        ("ReduceL2", "n = Neg(s) y = Sub(n, k)"),
    ],
)
def test_a_vector_after_a_reduction(
    case: str, op: str, then: str, oracle: Oracle, tmp_path: Path
) -> None:
    inputs, outputs, axis, vector = REDUCED[case]
    body = f"""a = Constant <value_ints = [{axis}]> () s = {op} <keepdims = 0> (x, a)
        k = Constant <value = {vector}> () {then}"""
    shape = (2, 4, 3) if axis == 1 else (2, 3, 4)
    x = np.arange(24, dtype=np.float32).reshape(shape) / 5

    same(text(inputs, outputs, body), [{"x": x}], tmp_path, oracle)


@pytest.mark.parametrize("kind", ROWS)
def test_an_unread_carried_value_that_grows(kind: str, oracle: Oracle, tmp_path: Path) -> None:
    row, made = ROWS[kind]
    body = GROWING.format(row=row, made=made)
    model = text("float[1] x, int64 n", f"{row}[N] y", body)
    x = np.array([1.5], np.float32)

    same(model, [{"x": x, "n": np.array(n)} for n in (4, 1, 3)], tmp_path, oracle)


@pytest.mark.parametrize(
    ("start", "end", "stride"), [(0, 3, 1), (-4, 3, 1), (3, 0, -1), (-1, -4, -1)]
)
def test_bounds_that_say_the_whole_axis_are_read(
    start: int, end: int, stride: int, tmp_path: Path
) -> None:
    scan = text(
        "float[2] h, float[3,2] x",
        "float[2] hy, float[3,2] ys",
        """hy, ys = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] row)
            => (float[2] so, float[2] o) { so = Add(s, row) o = Neg(so) }> (h, x)""",
    )
    path = write(scan, tmp_path)
    feeds = {"h": np.ones(2, np.float32), "x": np.arange(6, dtype=np.float32).reshape(3, 2)}
    plain = run(path, feeds)
    whole = 'internal_layer_id="8" start="0" end="-1" stride="1"'
    content = path.read_text()
    assert content.count(whole) == 1
    bounds = f'internal_layer_id="8" start="{start}" end="{end}" stride="{stride}"'
    path.write_text(content.replace(whole, bounds))

    final, rows = run(path, feeds)

    np.testing.assert_array_equal(final, plain[0])
    np.testing.assert_array_equal(rows, plain[1][::stride])


def test_bounds_of_a_part_are_not(tmp_path: Path) -> None:
    scan = text(
        "float[2] h, float[3,2] x",
        "float[2] hy, float[3,2] ys",
        """hy, ys = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] row)
            => (float[2] so, float[2] o) { so = Add(s, row) o = Neg(so) }> (h, x)""",
    )
    path = write(scan, tmp_path)
    content = path.read_text()
    path.write_text(
        content.replace('"8" start="0" end="-1" stride="1"', '"8" start="0" end="2" stride="1"')
    )

    with pytest.raises(treadle.LoadError, match="from 0 to 2 does not hold all its parts"):
        treadle.load(path)
