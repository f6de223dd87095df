"""The .bin: constants of every element type, and offsets outside the file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import treadle
from tools.openvino.sketch import Sketch, Weights, write
from treadle.errors import DataError
from treadle.formats.openvino.elements import ELEMENT_TYPES, byte_count, decode
from treadle.ir import External

BYTES = np.array([0b1110_0001, 0b0001_1011, 0b1100_0011], np.uint8)


@pytest.mark.parametrize(
    ("word", "count", "wanted"),
    [
        ("u4", 3, [1, 14, 11]),
        ("i4", 3, [1, -2, -5]),
        ("u1", 10, [1, 1, 1, 0, 0, 0, 0, 1, 0, 0]),
        ("u2", 6, [1, 0, 2, 3, 3, 2]),
        ("nf4", 2, [-0.6961928009986877, 0.7229568362236023]),
        ("f4e2m1", 2, [0.5, -4.0]),
        ("u8", 2, [225, 27]),
        ("i8", 1, [-31]),
        ("boolean", 2, [True, True]),
    ],
)
def test_elements_are_decoded(word: str, count: int, wanted: list[object]) -> None:
    size = byte_count(word, count)
    got = decode(word, BYTES[:size], (count,))
    assert got.astype(object).tolist() == wanted
    assert got.dtype == ELEMENT_TYPES[word].dtype.numpy


def test_strings_are_counts_offsets_and_text() -> None:
    words = np.array([2, 0, 2, 5], "<i4").tobytes() + b"hiall"
    data = np.frombuffer(words, np.uint8)
    assert decode("string", data, (2,)).tolist() == ["hi", "all"]
    with pytest.raises(ValueError, match="3 strings are wanted"):
        decode("string", data, (3,))
    with pytest.raises(ValueError, match="string 1 lies from 2 to 5 of 4"):
        decode("string", data[:-1], (2,))


def test_every_type_has_its_number_of_bytes() -> None:
    sizes = {word: byte_count(word, 5) for word in ELEMENT_TYPES}
    assert sizes["string"] is None
    assert (sizes["u1"], sizes["u2"], sizes["u3"], sizes["u4"], sizes["u6"]) == (1, 2, 3, 3, 6)
    assert (sizes["bf16"], sizes["f64"]) == (10, 40)


def _file(tmp_path: Path, array: np.ndarray) -> Path:
    sketch = Sketch(Weights())
    x = sketch.parameter("x", "f32", *array.shape)
    y = sketch.constant(array)
    sketch.result(sketch.layer("Add", [x, y], [("f32", array.shape)]), "z")
    return write(tmp_path, sketch)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ('size="12"', 'size="13"', "bytes 0 to 13 are wanted"),
        ('offset="0"', 'offset="1"', "bytes 1 to 13 are wanted"),
        ('offset="0"', 'offset="-1"', 'offset is "-1", wanted a number of bytes'),
        ('shape="3" offset', 'shape="2" offset', r"f32\[2\] takes 8 bytes, size says 12"),
        ('shape="3" offset', 'shape="?" offset', "is not the shape of a constant"),
        (
            'element_type="f32" shape="3" offset',
            'element_type="f33" shape="3" offset',
            "not a supported element",
        ),
        ('shape="3" offset', f'shape="{"9" * 18},{"9" * 18}" offset', "too large"),
    ],
)
def test_a_place_that_is_not_there_is_found(
    old: str, new: str, wanted: str, tmp_path: Path
) -> None:
    path = _file(tmp_path, np.ones(3, np.float32))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(DataError, match=wanted) as caught:
        treadle.load(path)
    assert caught.value.findings[0].path.startswith("sketch.xml:")


def test_a_missing_bin_is_said(tmp_path: Path) -> None:
    path = _file(tmp_path, np.ones(3, np.float32))
    path.with_suffix(".bin").unlink()
    with pytest.raises(DataError, match=r'"sketch\.bin" cannot be read'):
        treadle.load(path)


def test_large_weights_can_stay_in_the_bin(tmp_path: Path) -> None:
    array = np.arange(2000, dtype=np.float32)
    path = _file(tmp_path, array)
    model = treadle.load(path)
    external = model.main.constants[0].data.external
    assert isinstance(external, External)
    assert external.location == "sketch.bin"
    treadle.save(model, tmp_path / "far.onnx")
    assert (tmp_path / "far.onnx").stat().st_size < 1000
    treadle.save(model, tmp_path / "near.onnx", external_data=False)
    assert (tmp_path / "near.onnx").stat().st_size > 8000
    for name in ("far.onnx", "near.onnx"):
        (got,) = treadle.InferenceSession(tmp_path / name).run(None, {"x": array})
        np.testing.assert_array_equal(got, 2 * array)


def test_a_short_file_that_is_cut_off_later_stays(tmp_path: Path) -> None:
    path = _file(tmp_path, np.arange(3, dtype=np.float32))
    model = treadle.load(path)
    path.with_suffix(".bin").write_bytes(b"")
    (found,) = treadle.InferenceSession(model).run(None, {"x": np.zeros(3, np.float32)})
    assert found.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_weights_that_are_no_regular_file_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.xml"
    treadle.save(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[2] x) => (float[2] y)
        <float[2] w = {1, 2}> { y = Add (x, w) }""",
        path,
    )
    weights = path.with_suffix(".bin")
    weights.unlink()
    if kind == "pipe":
        os.mkfifo(weights)
    elif kind == "device":
        weights.symlink_to("/dev/zero")
    else:
        weights.mkdir()
    with pytest.raises(DataError, match="not a regular file"):
        treadle.load(path)
