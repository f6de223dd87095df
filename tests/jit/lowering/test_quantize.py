"""Quantization in loops: native code gives interp's bits; declined forms are host calls."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import check, check_uncalled, escapes
from tests.values import assert_same
from treadle.errors import RunError
from treadle.jit.kernel.ir import MatMul
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime import region_compiler
from treadle.jit.runtime.compilation import compiled

HEAD_10 = '<ir_version: 10, opset_import: ["" : 10]>\n'
HEAD_21 = '<ir_version: 10, opset_import: ["" : 21]>\n'
TRIPS = (0, 1, 2, 5)
ROUND_TRIP = """g (int64 n, FLOAT[4,5] x, FLOAT SCALE s, KIND SCALE z)
  => (FLOAT[4,5] last, KIND[T,4,5] qs) {
  last, qs = Loop (n, "", x) <body = f (int64 i, bool on, FLOAT[4,5] h)
    => (bool more, FLOAT[4,5] next, KIND[4,5] q) {
    more = Identity (on)
    q = QuantizeLinear AXIS (h, s, z)
    d = DequantizeLinear AXIS (q, s, z)
    step = CastLike (i, h)
    next = Sub (step, d)
  }>
}"""


def round_trip(word: str, kind: str, scale: str = "[]", axis: str = "") -> str:
    text = ROUND_TRIP.replace("FLOAT SCALE", f"{word}{scale}").replace("KIND SCALE", kind + scale)
    text = text.replace("FLOAT", word).replace("KIND", kind).replace("[]", "")
    return text.replace("AXIS ", axis)


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize(("word", "dtype"), [("float", np.float32), ("float16", np.float16)])
def test_quantize_and_dequantize(
    kind: str, word: str, dtype: type, rng: np.random.Generator
) -> None:
    zero = 100 if kind.startswith("u") else -7
    x = (rng.standard_normal((4, 5)) * 40).astype(dtype)
    x[0, :3] = 60000, -60000, 0
    feeds = {"x": x, "s": np.array(0.25, dtype), "z": np.array(zero, kind)}
    given = [{**feeds, "n": np.array(trips)} for trips in TRIPS]
    check_uncalled(round_trip(word, kind), *given, head=HEAD_21)


@pytest.mark.parametrize(("axis", "size"), [(0, 4), (1, 5), (-1, 5), (-2, 4)])
def test_scales_of_an_axis(axis: int, size: int, rng: np.random.Generator) -> None:
    feeds = {
        "x": (rng.standard_normal((4, 5)) * 40).astype(np.float32),
        "s": (rng.random(size) + 0.1).astype(np.float32),
        "z": rng.integers(0, 255, size).astype(np.uint8),
    }
    text = round_trip("float", "uint8", f"[{size}]", f"<axis = {axis}> ")
    check_uncalled(text, *({**feeds, "n": np.array(trips)} for trips in TRIPS), head=HEAD_21)


def test_ties_round_to_even_and_nan_and_infinities_saturate() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, np.inf, -np.inf, 1e30, -1e30, 0, 300, -300] + [1] * 8)
    feeds = {
        "x": x.astype(np.float32).reshape(4, 5), "s": np.float32(1), "z": np.uint8(3),
        "n": np.array(2),
    }  # fmt: skip
    check_uncalled(round_trip("float", "uint8"), feeds, head=HEAD_21)


DYNAMIC = """g (int64 n, float[3,8] x, int8[8,8] w) => (float[3,8] last, uint8[T] zeros) {
  last, zeros = Loop (n, "", x) <body = f (int64 i, bool on, float[3,8] h)
    => (bool more, float[3,8] next, uint8 zero) {
    more = Identity (on)
    q, scale, zero = DynamicQuantizeLinear (h)
    p = MatMulInteger (q, w, zero)
    whole = Cast <to = 1> (p)
    scaled = Mul (whole, scale)
    small = Constant <value = float {0.01}> ()
    next = Mul (scaled, small)
  }>
}"""


@pytest.mark.parametrize("low", [-1.0, 0.5, -0.5])
def test_a_scale_of_the_range(low: float, rng: np.random.Generator) -> None:
    for trips in TRIPS:
        feeds = {
            "n": np.array(trips), "x": (rng.random((3, 8)) + low).astype(np.float32),
            "w": rng.integers(-128, 128, (8, 8)).astype(np.int8),
        }  # fmt: skip
        check_uncalled(DYNAMIC, feeds)
    check_uncalled(DYNAMIC, {**feeds, "x": np.zeros((3, 8), np.float32)})


SUMS = """g (int64 n, TYPE[3,KK] a, int8[KK,5] b, TYPE z, int8 y) => (int32[3,5] last) {
  start = Constant <value = int32[3,5] {0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}> ()
  last = Loop (n, "", start) <body = f (int64 i, bool on, int32[3,5] h)
    => (bool more, int32[3,5] next) {
    more = Identity (on)
    p = MatMulInteger (a, b, z, y)
    next = Add (h, p)
  }>
}"""


@pytest.mark.parametrize("inner", [1, 255, 258, 259, 1000])
@pytest.mark.parametrize(("word", "dtype"), [("uint8", np.uint8), ("int8", np.int8)])
def test_sums_of_products_of_bytes_are_exact(
    inner: int, word: str, dtype: type, rng: np.random.Generator
) -> None:
    limits = np.iinfo(dtype)
    for low, high in ((limits.min, limits.max), (limits.max, limits.max)):
        check_uncalled(SUMS.replace("TYPE", word).replace("KK", str(inner)), {
            "n": np.array(2), "a": rng.integers(low, high + 1, (3, inner)).astype(dtype),
            "b": np.full((inner, 5), 127, np.int8), "z": np.array(limits.min, dtype),
            "y": np.int8(-128),
        }, head=HEAD_21)  # fmt: skip


KNOWN = """g (int64 n, LEFT[ROWS,64] a, LEFT z) => (int32[ROWS,80] last)
  <RIGHT[64,80] b = {NUMBERS}, RIGHT y = {ORIGIN}> {
  start = Constant <value = int32[1,1] {0}> ()
  shape = Constant <value = int64[2] {ROWS,80}> ()
  zeros = Expand (start, shape)
  last = Loop (n, "", zeros) <body = f (int64 i, bool on, int32[ROWS,80] h)
    => (bool more, int32[ROWS,80] next) {
    more = Identity (on)
    p = MatMulInteger (a, b, z, y)
    next = Add (h, p)
  }>
}"""


@pytest.mark.parametrize("has_byte_products", [False, True])
@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("left", [np.uint8, np.int8])
@pytest.mark.parametrize(
    ("right", "origin"), [(np.int8, 0), (np.uint8, 128), (np.uint8, 7), (np.int8, -9)]
)
def test_products_of_a_large_known_matrix(
    has_byte_products, rows, left, right, origin, rng, monkeypatch
):
    monkeypatch.setattr(region_compiler, "has_byte_products", lambda: has_byte_products)
    made = []
    monkeypatch.setattr(
        region_compiler,
        "compiled",
        lambda kernel, *more: made.append(kernel) or compiled(kernel, *more),
    )
    limits, ends = np.iinfo(right), np.iinfo(left)
    numbers = rng.integers(limits.min, limits.max + 1, 64 * 80)
    numbers[:2] = limits.min, limits.max
    text = KNOWN.replace("NUMBERS", ",".join(map(str, numbers))).replace("ORIGIN", str(origin))
    text = text.replace("LEFT", np.dtype(left).name).replace("RIGHT", np.dtype(right).name)
    feeds = {
        "n": np.array(2), "a": rng.integers(ends.min, ends.max + 1, (rows, 64)).astype(left),
        "z": np.array(5, left),
    }  # fmt: skip
    check_uncalled(text.replace("ROWS", str(rows)), feeds, head=HEAD_21)
    ops = [node.op for kernel in made for node in all_nodes(kernel.main)]
    assert (MatMul(of_bytes=True) in ops) == has_byte_products


def test_bytes_of_rows_whose_length_is_declared_open(rng, monkeypatch):
    monkeypatch.setattr(region_compiler, "has_byte_products", lambda: True)
    numbers = ",".join(map(str, rng.integers(-128, 128, 64 * 80)))
    text = KNOWN.replace("NUMBERS", numbers).replace("ORIGIN", "0").replace("RIGHT", "int8")
    text = text.replace("LEFT[ROWS,64]", "uint8[ROWS,K]").replace("LEFT", "uint8")
    options = treadle.SessionOptions()
    options.compile = "eager"
    model = HEAD_21 + text.replace("ROWS", "3")
    made = treadle.InferenceSession(model, options, engines=("jit", "interp"))
    feed = {"n": np.array(2), "a": rng.integers(0, 256, (3, 64), np.uint8), "z": np.uint8(5)}
    known = np.array(numbers.split(","), np.int64).reshape(64, 80)
    (found,) = made.run(None, feed)
    assert np.array_equal(found, 2 * ((feed["a"].astype(np.int64) - 5) @ known))
    with pytest.raises(RunError, match="32 and 64"):
        made.run(None, {**feed, "a": feed["a"][:, :32]})


PRODUCT = """g (int64 n, uint8[3,6] a, float s, uint8 z, int8[6,6] b, float t, int8 y, float u)
  => (uint8[3,6] last) {
  last = Loop (n, "", a) <body = f (int64 i, bool on, uint8[3,6] h)
    => (bool more, uint8[3,6] next) {
    more = Identity (on)
    next = QLinearMatMul (h, s, z, b, t, y, u, z)
  }>
}"""


@pytest.mark.parametrize("head", [HEAD_10, HEAD_21])
def test_products_of_quantized_matrices(head: str, rng: np.random.Generator) -> None:
    for trips in TRIPS:
        check_uncalled(PRODUCT, {
            "n": np.array(trips), "a": rng.integers(0, 256, (3, 6)).astype(np.uint8),
            "s": np.float32(0.02), "z": np.uint8(120),
            "b": rng.integers(-128, 128, (6, 6)).astype(np.int8), "t": np.float32(0.01),
            "y": np.int8(-3), "u": np.float32(0.05),
        }, head=head)  # fmt: skip


@pytest.mark.parametrize("head", [HEAD_10, HEAD_21])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("columns", [1, 6])
def test_products_of_matrices_quantized_by_rows_and_columns(
    head: str, rows: int, columns: int, rng: np.random.Generator
) -> None:
    text = PRODUCT.replace("float s, uint8 z, int8", f"float[{rows}] s, uint8[{rows}] z, int8")
    text = text.replace("float t, int8 y", f"float[{columns}] t, int8[{columns}] y")
    text = text.replace("float u)", "float u, uint8 v)").replace("u, z)", "u, v)")
    for trips in TRIPS:
        check_uncalled(text, {
            "n": np.array(trips), "a": rng.integers(0, 256, (3, 6)).astype(np.uint8),
            "s": rng.uniform(0.01, 0.03, rows).astype("f"),
            "z": rng.integers(100, 140, rows).astype(np.uint8),
            "b": rng.integers(-128, 128, (6, 6)).astype(np.int8),
            "t": rng.uniform(0.005, 0.02, columns).astype("f"),
            "y": rng.integers(-9, 9, columns).astype(np.int8),
            "u": np.float32(0.05), "v": np.uint8(120),
        }, head=head)  # fmt: skip


BLOCKS = """g (int64 n, float[4,6] x, float[2,6] s, TYPE[2,6] z) => (float[4,6] last) {
  last = Loop (n, "", x) <body = f (int64 i, bool on, float[4,6] h)
    => (bool more, float[4,6] next) {
    more = Identity (on)
    q = QuantizeLinear <axis = AXIS, block_size = SIZE> (h, s, z)
    d = DequantizeLinear <axis = AXIS, block_size = SIZE> (q, s, z)
    next = Neg (d)
  }>
}"""


@pytest.mark.parametrize(
    ("axis", "shape", "size", "word", "dtype"),
    [
        (0, (2, 6), 2, "uint8", np.uint8), (-2, (2, 6), 2, "int16", np.int16),
        (1, (4, 2), 3, "int8", np.int8), (-1, (4, 6), 1, "int8", np.int8),
    ],
)  # fmt: skip
def test_blocks(
    axis: int, shape: tuple[int, int], size: int, word: str, dtype: type, rng: np.random.Generator
) -> None:
    text = BLOCKS.replace("AXIS", str(axis)).replace("SIZE", str(size)).replace("TYPE", word)
    text = text.replace("[2,6]", str(list(shape)))
    for trips in TRIPS:
        check_uncalled(text, {
            "n": np.array(trips), "x": rng.random((4, 6)).astype(np.float32),
            "s": (rng.random(shape) * 0.1 + 0.01).astype(np.float32),
            "z": rng.integers(0, 100, shape).astype(dtype),
        }, head=HEAD_21)  # fmt: skip


def test_uneven_blocks_are_host_calls(rng: np.random.Generator) -> None:
    text = BLOCKS.replace("AXIS", "0").replace("SIZE", "3").replace("TYPE", "uint8")
    session = treadle.InferenceSession(HEAD_21 + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD_21 + text, engines=("interp",))
    feeds = {
        "n": np.array(2), "x": rng.random((4, 6)).astype(np.float32),
        "s": (rng.random((2, 6)) + 0.01).astype(np.float32), "z": np.zeros((2, 6), np.uint8),
    }  # fmt: skip
    assert_same(session.run(None, feeds), interp.run(None, feeds), ["last"])
    assert escapes(session) == ["QuantizeLinear", "DequantizeLinear"]


POWERS = """g (int64 n, TYPE[40] x) => (TYPE[40] last) {
  last = Loop (n, "", x) <body = f (int64 i, bool on, TYPE[40] h)
    => (bool more, TYPE[40] next) {
    more = Identity (on)
    exponent = Constant <value = float {EXPONENT}> ()
    e = CastLike (exponent, h)
    next = Pow (h, e)
  }>
}"""


@pytest.mark.parametrize(
    "exponent", [-3, -2, -1, 0, 1, 2, 3, 4, 7, 32, 33, 0.5, -0.5, 1.5, -1.5, 2.5, 0.25]
)
@pytest.mark.parametrize(
    ("word", "dtype"), [("float", np.float32), ("double", np.float64), ("float16", np.float16)]
)
def test_powers_with_a_known_exponent(
    exponent: float, word: str, dtype: type, rng: np.random.Generator
) -> None:
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 65504]
    wide = [1e-30, -1e30] if dtype is not np.float16 else [1e-7, -6e4]
    x = np.concatenate((rng.standard_normal(30) * 3, ends, wide)).astype(dtype)
    text = POWERS.replace("TYPE", word).replace("EXPONENT", f"{exponent:.1f}")
    for trips in (0, 1):
        check(text, {"n": np.array(trips), "x": x})
