"""Slice, TopK and Pad by numbers of the run, in opsets that want constants."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.versions.same import gives_the_same

FAR = 2**63 - 1
X = np.arange(35, dtype=np.float32).reshape(5, 7)


def vectors(*given):
    return [np.array(each, np.int64) for each in given]


SLICES = [
    vectors([1, 0], [4, 7], [0, 1], [1, 2]),
    vectors([-1, 6], [-FAR, 0], [0, 1], [-1, -2]),
    vectors([4, 5], [-FAR - 1, 2], [1, 0], [-3, -FAR]),
    vectors([-2, 3], [FAR, 3], [-1, -2], [FAR, 1]),
    vectors([9, -9], [-9, 9], [0, 1], [-1, 1]),
    vectors([0, 0], [5, 5], [0, 1], [1, 0]),
    vectors([0, 0], [5, 5], [0, 2], [1, 1]),
    vectors([0, 0], [5, 5], [0, -3], [1, 1]),
]


@pytest.mark.parametrize("given", SLICES, ids=str)
@pytest.mark.parametrize("rows", [5, 0])
def test_slices_with_computed_axes_and_steps(given, rows):
    text = """g (float[N,7] x, int64[2] s, int64[2] e, int64[2] a, int64[2] t) => (float[A,B] y) {
      y = Slice (x, s, e, a, t) }"""
    feeds = {"x": X[:rows], **dict(zip("seat", given, strict=True))}
    gives_the_same(text, 13, 9, feeds)


@pytest.mark.parametrize("extent", [5, 2])
def test_slices_by_constants_of_an_axis_whose_extent_is_not_known(extent):
    text = """g (float[N,7] x) => (float[A,7] y) {
      s = Constant <value = int64[1] {-2}> () e = Constant <value = int64[1] {-9}> ()
      a = Constant <value = int64[1] {0}> () t = Constant <value = int64[1] {-2}> ()
      y = Slice (x, s, e, a, t) }"""
    gives_the_same(text, 13, 9, {"x": X[:extent]})


@pytest.mark.parametrize("count", [0, 1, 5, 6, -1])
@pytest.mark.parametrize("axis", [0, -2])
def test_topk_with_a_computed_count(count, axis):
    text = f"""g (float[5,7] x, int64[1] k) => (float[A,7] y, int64[B,7] i) {{
      y, i = TopK <axis = {axis}> (x, k) }}"""
    feeds = {"x": np.sin(X), "k": np.array([count])}
    gives_the_same(text, 11, 9, feeds)


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 2, 3, 4], [2, 0, 0, 6], [-1, 1, 2, -3]])
def test_pads_that_repeat_items(mode, pads):
    text = (
        f"""g (float[5,7] x, int64[4] p) => (float[A,B] y) {{ y = Pad <mode = "{mode}"> (x, p) }}"""
    )
    feeds = {"x": X, "p": np.array(pads, np.int64)}
    gives_the_same(text, 19, 9, feeds)
    if mode == "wrap":
        gives_the_same(text, 19, 18, feeds)
        numbers = ", ".join(map(str, pads))
        constant = f"{{ p = Constant <value = int64[4] {{{numbers}}}> () y ="
        text = text.replace(", int64[4] p", "").replace("{ y =", constant)
        gives_the_same(text, 19, 18, {"x": X})


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_shifts_before_there_was_an_operator(direction, dtype):
    text = f"""g ({dtype}[N] x, {dtype}[N] y) => ({dtype}[N] z) {{
      z = BitShift <direction = "{direction}"> (x, y) }}"""
    bits, most = np.dtype(dtype).itemsize * 8, np.iinfo(dtype).max
    pairs = [(x, y) for x in (0, 1, 5, most - 1, most) for y in (0, 1, bits // 2, bits - 1)]
    x, y = (np.array(each, dtype) for each in zip(*pairs, strict=True))
    gives_the_same(text, 11, 10, {"x": x, "y": y})
