"""Operators that older opsets lack, written out with loops and gathers: the same on edge values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.versions.same import gives_the_same

FLOATS = {"float": np.float32, "double": np.float64, "float16": np.float16}
WORDS = np.array(["monday", "", "Monday", "ünï", "monday"], object)
BOXES = "float[B,N,4] boxes, float[B,C,N] scores, int64[1] k, float[1] t, float[1] s"


@pytest.mark.parametrize("word", FLOATS)
@pytest.mark.parametrize(("opset", "fmod"), [(13, 1), (28, 0)])
def test_remainders_of_floats_are_exact(word, opset, fmod, rng):
    dtype, info = FLOATS[word], np.finfo(FLOATS[word])
    numbers = [0.0, -0.0, 1, -3, 0.1, info.max, info.smallest_subnormal, np.inf, -np.inf, np.nan]
    edges = np.array([*numbers, *rng.normal(size=6) * 100], dtype)
    text = f"g ({word}[N,1] x, {word}[M] y) => ({word}[A,B] z) {{ z = Mod <fmod = {fmod}> (x, y) }}"
    for rows in (edges[:, None], edges[:0, None]):
        gives_the_same(text, opset, 9, {"x": rows, "y": edges})


@pytest.mark.parametrize("word", ["int64", "uint64", "int32", "float"])
def test_powers_of_whole_numbers_wrap_around(word):
    text = f"g (int64[N,1] x, {word}[M] y) => (int64[A,B] z) {{ z = Pow (x, y) }}"
    bases = np.array([0, 1, -1, 2, -2, 10, 2**31 - 1, -(2**62)])[:, None]
    exponents = [0, 1, 2, 3, 7, 31, 62, 63, 64] + ([2**64 - 1] if word == "uint64" else [-1, -2])
    dtype = np.float32 if word == "float" else word
    gives_the_same(text, 13, 9, {"x": bases, "y": np.array(exponents, dtype)})


@pytest.mark.parametrize("word", ["int32", "float"])
def test_powers_of_float16_have_the_precision_of_their_exponents(word):
    x, y = np.float16([1.001, -1, 2]), np.array([2049, 2049, 3])
    text = f"g (float16[N] x, {word}[M] y) => (float16[A] z) {{ z = Pow (x, y) }}"
    dtype = np.float32 if word == "float" else word
    gives_the_same(text, 13, 9, {"x": x, "y": y.astype(dtype)})
    for constant in (3, 100_000):
        text = f"""g (float16[N] x) => (float16[A] z) {{
          y = Constant <value_int = {constant}> ()  z = Pow (x, y) }}"""
        gives_the_same(text, 13, 9, {"x": x})


@pytest.mark.parametrize("opset", [11, 18])
def test_equal_strings(opset):
    text = "g (string[N,1] x, string[M] y) => (bool[A,B] z) { z = Equal (x, y) }"
    for rows in (WORDS[:, None], WORDS[:0, None]):
        gives_the_same(text, 19, opset, {"x": rows, "y": WORDS})


@pytest.mark.parametrize("words", ['"monday", "", "monday"', '"a", "b", "monday"'])
@pytest.mark.parametrize("first", [True, False])
def test_strings_equal_to_constants(words, first):
    text = f"""g (string[N,1] x) => (bool[A,B] z) {{
      c = Constant <value = string[3] {{{words}}}> ()
      z = Equal ({"c, x" if first else "x, c"}) }}"""
    for rows in (WORDS[:, None], WORDS[:0, None]):
        gives_the_same(text, 19, 9, {"x": rows})


@pytest.mark.parametrize("stop_words", ['["monday", "ünï"]', '[""]'])
@pytest.mark.parametrize("shape", ["N", "1,N"])
def test_stop_words(stop_words, shape):
    text = f"""g (string[{shape}] x) => (string[A{",B" * (shape != "N")}] z) {{
      z = StringNormalizer <stopwords = {stop_words}, is_case_sensitive = 1> (x) }}"""
    for words in (WORDS, WORDS[:1], WORDS[1:2], WORDS[:0]):
        gives_the_same(text, 10, 9, {"x": words if shape == "N" else words[None]})


@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("most", [-1, 0, 2, 9])
def test_boxes_are_selected_in_the_same_order(center, most, rng):
    text = f"""g ({BOXES}) => (int64[M,3] z) {{
      z = NonMaxSuppression <center_point_box = {center}> (boxes, scores, k, t, s) }}"""
    for boxes in (rng.random((2, 6, 4)), rng.integers(0, 4, (2, 6, 4))):
        for scores in (rng.random((2, 3, 6)), rng.integers(0, 3, (2, 3, 6)) / 2):
            limits = {"k": np.array([most]), "t": np.float32([0.3]), "s": np.float32([0.1])}
            feeds = {"boxes": np.float32(boxes), "scores": np.float32(scores), **limits}
            gives_the_same(text, 11, 9, feeds)


@pytest.mark.parametrize("word", ["int64", "float"])
@pytest.mark.parametrize("axis", ["", "axis = 0, ", "axis = -1, "])
@pytest.mark.parametrize("in_order", [0, 1])
def test_distinct_items(word, axis, in_order, rng):
    text = f"""g ({word}[A,B] x) => ({word}[{"D,E" if axis else "D"}] y, int64[I] i, int64[J] j,
        int64[K] k) {{ y, i, j, k = Unique <{axis}sorted = {in_order}> (x) }}"""
    numbers = rng.integers(-1, 2, (6, 2))
    x = np.where(numbers == 1, 2**62, numbers) if word == "int64" else np.float32(numbers)
    if word == "float":
        x[0, 0] = x[2, 1] = x[4, 1] = np.nan
        x[2, 0] = x[4, 0]
    gives_the_same(text, 13, 9, {"x": x})
    gives_the_same(text, 13, 10, {"x": x[:0]})
    gives_the_same(text, 13, 10, {"x": x[:, :0]})


def test_distinct_numbers_along_their_only_axis():
    text = """g (float[A] x) => (float[D] y, int64[I] i, int64[J] j, int64[K] k) {
      y, i, j, k = Unique <axis = 0> (x) }"""
    gives_the_same(text, 13, 9, {"x": np.array([np.nan, 1, np.nan, -0.0, 0], np.float32)})


@pytest.mark.parametrize("count", [0, 1, 3, 4, -1])
@pytest.mark.parametrize("largest", [0, 1])
def test_topk_of_int64(count, largest, rng):
    numbers = 2**62 + rng.integers(-2, 2, (3, 4))
    for axis in (1, 0):
        text = f"""g (int64[A,B] x, int64[1] k) => (int64[M,N] y, int64[I,J] i) {{
          y, i = TopK <axis = {axis}, largest = {largest}> (x, k) }}"""
        gives_the_same(text, 11, 9, {"x": numbers, "k": np.array([count])})


@pytest.mark.parametrize("word", ["float", "double"])
def test_determinants(word, rng):
    text = f"g ({word}[A,B,C] x) => ({word}[D] y) {{ y = Det (x) }}"
    for size in (0, 1, 4):
        x = rng.normal(size=(3, size, size)).astype(FLOATS[word])
        x[:1, :1] = 0
        gives_the_same(text, 11, 9, {"x": x}, 1e-4)


@pytest.mark.parametrize("blocks", [12, 11])
def test_an_image_whose_shape_is_computed(blocks, rng):
    text = """g (float[N,C,L] x, int64[2] i, int64[2] b) => (float[N,K,A,B] y) {
      y = Col2Im <pads = [1,0,1,1], strides = [2,1], dilations = [1,2]> (x, i, b) }"""
    feeds = {"x": np.float32(rng.random((2, 12, blocks))), "i": np.array([5, 5])}
    gives_the_same(text, 18, 9, {**feeds, "b": np.array([2, 2])}, 1e-6)


@pytest.mark.parametrize("reach", [0.5, 20])
def test_convolutions_of_moved_pixels(reach, rng):
    text = """g (float[N,C,I,J] x, float[O,P,K,L] w, float[N,S,H,W] o, float[Q] b, float[N,R,H,W] m)
      => (float[A,B,D,E] y) { y = DeformConv <group = 2, offset_group = 2, pads = [1,0,1,0],
        strides = [2,1], dilations = [1,2]> (x, w, o, b, m) }"""
    shapes = {"x": (2, 4, 5, 6), "w": (2, 2, 3, 2), "b": (2,), "m": (2, 12, 3, 4)}
    feeds = {name: np.float32(rng.random(shape)) for name, shape in shapes.items()}
    feeds["o"] = np.float32(rng.normal(size=(2, 24, 3, 4)) * reach)
    gives_the_same(text, 19, 9, feeds, 1e-4)
    none = {name: x[:0] if name in ("x", "o", "m") else x for name, x in feeds.items()}
    gives_the_same(text, 19, 9, none)


@pytest.mark.parametrize(("low", "high"), [(0, 4000), (300, 3000), (3000, 300), (0, 9000)])
def test_weights_of_the_mel_scale(low, high):
    text = """g (int64 m, int64 d, int64 s, float l, float h) => (float[A,B] y) {
      y = MelWeightMatrix (m, d, s, l, h) }"""
    feeds = {"m": np.array(8), "d": np.array(31), "s": np.array(8192)}
    feeds |= {"l": np.array(low, np.float32), "h": np.array(high, np.float32)}
    gives_the_same(text, 17, 9, feeds, 1e-5)


@pytest.mark.parametrize("aligned", [0, 1])
@pytest.mark.parametrize("extents", [(3, 4), (2, 3, 4), (1, 2)])
def test_grids_of_a_computed_size(aligned, extents, rng):
    axes = len(extents)
    text = f"""g (float[N,{axes},{axes + 1}] t, int64[{axes + 2}] s)
      => (float[{",".join("ABCDE"[: axes + 2])}] y) {{
        y = AffineGrid <align_corners = {aligned}> (t, s) }}"""
    theta = np.float32(rng.normal(size=(1, axes, axes + 1)))
    gives_the_same(text, 20, 9, {"t": theta, "s": np.array([1, 3, *extents])}, 1e-5)


@pytest.mark.parametrize("axis", [0, 1, -2, 2, 5])
@pytest.mark.parametrize("attributes", ["inverse = 1, onesided = 1", "onesided = 0"])
def test_transforms_along_a_computed_axis(axis, attributes, rng):
    text = f"""g (float[3,1,2] x, int64 a) => (float[P,Q,R] y) {{
      y = DFT <{attributes}> (x, , a) }}"""
    feeds = {"x": np.float32(rng.normal(size=(3, 1, 2))), "a": np.array(axis)}
    gives_the_same(text, 20, 9, feeds, 1e-5)


@pytest.mark.parametrize(("operand", "extra"), [("l", ", int64 l"), ("w", ", float[W] w")])
@pytest.mark.parametrize("parts", [1, 2])
def test_short_transforms_of_a_computed_length(operand, extra, parts, rng):
    text = f"""g (float[B,N,{parts}] x, int64 s{extra}) => (float[P,Q,R,S] y) {{
      y = STFT <onesided = {2 - parts}> (x, s, {", l" if operand == "l" else "w"}) }}"""
    length = {"l": np.array(5), "w": np.float32(rng.random(5))}[operand]
    feeds = {"x": np.float32(rng.normal(size=(2, 17, parts))), "s": np.array(3), operand: length}
    gives_the_same(text, 17, 9, feeds, 1e-4)


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("rows", [0, 3])
def test_branches_of_unlike_shapes_run_one_at_a_time(taken, rows):
    text = """g (bool c, float[N,2] x, int64[1] k) => (y, float[A,B] z) {
      y, z = If (c) <
        then_branch = t () => (float[2] p, float[1,2] r) {
          p = Gather (x, k) r = Identity (p) },
        else_branch = e () => (float[N,4] q, float[N,2] v) {
          q = Concat <axis = 1> (x, x) v = Neg (x) }> }"""
    text = text.replace("float[2] p", "p").replace("r = Identity (p)", "r = Gather (x, k)")
    x = np.arange(2.0 * rows, dtype=np.float32).reshape(rows, 2)
    gives_the_same(text, 11, 9, {"c": np.array(taken), "x": x, "k": np.array([2])})


@pytest.mark.parametrize("taken", [True, False])
def test_branches_of_one_item_more_run_one_at_a_time(taken):
    text = """g (bool c, float[N] x, float[1] e) => (float[M] y) {
      y = If (c) <then_branch = t () => (float[P] p) { p = Concat <axis = 0> (x, e) },
                  else_branch = f () => (float[Q] q) { q = Neg (x) }> }"""
    x = np.arange(3, dtype=np.float32)
    gives_the_same(text, 11, 10, {"c": np.array(taken), "x": x, "e": x[:1]})


OF_ANY_RANK = {
    "GatherElements": "i = Shape (x) j = Sub (i, i) k = Expand (j, i) y = GatherElements (x, k)",
    "GatherElements from the end": """s = Shape (x) m = Constant <value = int64[1] {-1}> ()
      k = Expand (m, s) y = GatherElements <axis = -1> (x, k)""",
    "GatherND": "i = Constant <value = int64[2,1] {-1, 0}> () y = GatherND (x, i)",
    "ScatterND": """i = Constant <value = int64[1,1] {1}> () g = GatherND (x, i) u = Neg (g)
      y = ScatterND (x, i, u)""",
    "TopK": "t, y = TopK <axis = -1> (x, n)",
    "Unsqueeze": "a = Constant <value = int64[2] {-1, -3}> () y = Unsqueeze (x, a)",
    "Slice": """a = Constant <value = int64[1] {0}> () e = Add (n, n) s = Neg (n)
      y = Slice (x, n, e, a, n)""",
}


@pytest.mark.parametrize("step", OF_ANY_RANK)
@pytest.mark.parametrize("rows", [1, 3])
def test_operands_of_unknown_rank(step, rows, rng):
    text = f"g (float[N,4] given, int64[1] n) => (y) {{ x = Squeeze (given) {OF_ANY_RANK[step]} }}"
    x = np.float32(rng.normal(size=(rows, 4)))
    gives_the_same(text, 13, 9, {"given": x, "n": np.array([2])})


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("extent", [0, 6])
def test_topk_of_an_extent_that_is_not_known(largest, extent):
    text = f"""g (float[A] x, int64[1] k) => (float[M] y, int64[I] i) {{
      y, i = TopK <largest = {largest}> (x, k) }}"""
    nan = np.nan if largest else 7  # the smallest are looked for among negated items
    x = np.array([1, nan, -0.0, 0.0, nan, np.inf], np.float32)[:extent]
    gives_the_same(text, 11, 9, {"x": x, "k": np.array([extent])})


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("corner", ["half_pixel", "output_half_pixel"])
@pytest.mark.parametrize("ratio", [0, 2])
def test_regions_of_interest(mode, corner, ratio, rng):
    text = f"""g (float[N,C,H,W] x, float[R,4] r, int64[R] b) => (float[S,D,E,F] y) {{
      y = RoiAlign <mode = "{mode}", coordinate_transformation_mode = "{corner}",
        output_height = 2, output_width = 3, sampling_ratio = {ratio}, spatial_scale = 0.5>
        (x, r, b) }}"""
    x = np.float32(rng.normal(size=(2, 3, 5, 4)))
    regions = np.float32([[-2, -1, 5, 7], [1, 1, 1.5, 9], [3, 6, 2, 5]])
    for count in (3, 0):
        feeds = {"x": x, "r": regions[:count], "b": np.array([1, 0, 1])[:count]}
        gives_the_same(text, 16, 9, feeds, 1e-4)
