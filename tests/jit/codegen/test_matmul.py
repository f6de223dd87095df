"""Matrix products in native code: every implementation against interp."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import HEAD, WORDS, check
from treadle.errors import RunError
from treadle.jit.kernel.ir import MatMul
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.storage import stored_transpose


def numbers(rng, dtype, *shape):
    """Numbers whose sums of products are exact in any order."""
    if np.dtype(dtype).kind == "f":
        return (rng.integers(-16, 16, shape) / 16).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def product(dtype, left, right, result):
    """A loop whose state the product is made of, with the right operand from outside."""
    word = WORDS[dtype]
    a, b, c = (f"{word}[{','.join(map(str, shape))}]" for shape in (left, right, result))
    return f"""g (int64 n, {a} x, {b} w) => ({a} y, {c.replace("[", "[N,")} s) {{
      y, s = Loop (n, , x) <body = f (int64 i, bool go, {a} u) => (bool on, {a} v, {c} p) {{
        on = Identity (go)
        v = Add (u, x)
        p = MatMul (u, w)
      }}>
    }}"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64"])
@pytest.mark.parametrize("columns", [1, 7, 43, 150])
@pytest.mark.parametrize("rows", [1, 4, 9])
def test_widths_and_heights(dtype, rows, columns, rng):
    inner = 21
    left, right = numbers(rng, dtype, rows, inner), numbers(rng, dtype, inner, columns)
    text = product(dtype, left.shape, right.shape, (rows, columns))
    check(text, {"n": np.array(3), "x": left, "w": right})


BYTES = """kernel
  %x: int32[ROWS,INNER] = input 0
  %w: int32[INNER,COLUMNS] = input 1
  %n: int64[] = constant 3
  %s0: int32[ROWS,COLUMNS] = input 2
  %1 = loop length 3 carries %s = %s0
    %s: int32[ROWS,COLUMNS] = carried 0
    %p: int32[ROWS,COLUMNS] = matmul of bytes %x, %w
    %next: int32[ROWS,COLUMNS] = add %s, %p
    yield %next
  %last: int32[ROWS,COLUMNS] = result 0 of %1
  return %last"""


@pytest.mark.parametrize("columns", [1, 7, 16, 43, 150])
@pytest.mark.parametrize("rows", [1, 9])
@pytest.mark.parametrize("inner", [3, 40])
def test_products_of_bytes(rows, inner, columns, rng):
    left = rng.integers(0, 256, (rows, inner, 4)).astype(np.uint8)
    right = rng.integers(-128, 128, (inner, columns, 4)).astype(np.int8)
    words = {"ROWS": rows, "INNER": inner, "COLUMNS": columns}
    text = reduce(lambda made, word: made.replace(word, str(words[word])), words, BYTES)
    start = rng.integers(0, 9, (rows, columns)).astype(np.int32)
    (found,) = run_kernel(text, left.view(np.int32)[..., 0], right.view(np.int32)[..., 0], start)
    wanted = np.einsum("rkb,kcb->rc", left.astype(np.int32), right.astype(np.int32))
    np.testing.assert_array_equal(found, start + 3 * wanted)


def test_vector_times_a_large_matrix(rng: np.random.Generator):
    left, right = numbers(rng, "float32", 2, 96), numbers(rng, "float32", 96, 300)
    text = product("float32", left.shape, right.shape, (2, 300))
    check(text, {"n": np.array(4), "x": left, "w": right})


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(1, 300, 1), (1, 32, 1), (4, 65, 1), (1, 40, 2)]
)
def test_few_long_dot_products(dtype, rows, inner, columns, rng: np.random.Generator):
    left, right = numbers(rng, dtype, rows, inner), numbers(rng, dtype, inner, columns)
    text = product(dtype, left.shape, right.shape, (rows, columns))
    check(text, {"n": np.array(3), "x": left, "w": right})


@pytest.mark.parametrize(("inner", "is_a_loop"), [(300, True), (31, False)])
def test_long_dot_products_are_vectorized(inner, is_a_loop, rng: np.random.Generator):
    session = treadle.InferenceSession(
        HEAD + product("float32", (1, inner), (inner, 1), (1, 1)), engines=("jit", "interp")
    )
    x, w = numbers(rng, "float32", 1, inner), numbers(rng, "float32", inner, 1)
    session.run(None, {"n": np.array(3), "x": x, "w": w})
    assert ("llvm.vector.reduce.fadd" in str(session.explain("llvm"))) == is_a_loop


def test_batches_broadcast(rng: np.random.Generator):
    left, right = numbers(rng, "float32", 2, 1, 5, 8), numbers(rng, "float32", 3, 8, 20)
    text = product("float32", left.shape, right.shape, (2, 3, 5, 20))
    check(text, {"n": np.array(2), "x": left, "w": right})


def scan(item, right, turned, reverse, axis):
    """A Scan that multiplies what it slices, and its state, with matrices from outside."""
    shape = [*item[:axis], "T", *item[axis:]]
    rows, columns = item[0], right[0] if turned else right[1]
    return f"""g (float[{",".join(map(str, shape))}] x, float[{right[0]},{right[1]}] w,
      float[{rows},{columns}] h) => (float[{rows},{columns}] y, float[T,{rows},{columns}] s) {{
      y, s = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}],
        scan_input_directions = [{int(reverse)}],
        body = f (float[{rows},{columns}] u, float[{item[0]},{item[1]}] t)
          => (float[{rows},{columns}] v, float[{rows},{columns}] o) {{
        p = Gemm <transB = {int(turned)}> (t, w)
        q = Tanh (u)
        v = Add (p, q)
        o = Identity (v)
      }}> (h, x)
    }}"""


@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 200])
@pytest.mark.parametrize("reverse", [False, True])
def test_products_of_slices_leave_the_loop(length, reverse, rng):
    feed = {
        "x": numbers(rng, "float32", length, 1, 33), "w": numbers(rng, "float32", 33, 50),
        "h": numbers(rng, "float32", 1, 50),
    }  # fmt: skip
    check(scan((1, 33), (33, 50), False, reverse, 0), feed)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_products_of_slices_with_transposed_weights_leave_the_loop(rows, turned, axis, rng):
    item, length = (rows, 40), 11
    shape = [*item[:axis], length, *item[axis:]]
    right = (60, 40) if turned else (40, 60)
    feed = {
        "x": numbers(rng, "float32", *shape), "w": numbers(rng, "float32", *right),
        "h": numbers(rng, "float32", rows, 60),
    }  # fmt: skip
    check(scan(item, right, turned, False, axis), feed)


def test_products_of_slices_of_an_inner_loop(rng: np.random.Generator):
    text = """g (int64 n, float[T,1,40] x, float[40,40] w, float[1,40] h) => (float[1,40] y) {
      y = Loop (n, , h) <body = f (int64 i, bool go, float[1,40] u) => (bool on, float[1,40] v) {
        on = Identity (go)
        v = Scan <num_scan_inputs = 1, body = k (float[1,40] a, float[1,40] t)
          => (float[1,40] b) {
          p = MatMul (t, w)
          q = MatMul (a, w)
          r = Add (p, q)
          b = Tanh (r)
        }> (u, x)
      }>
    }"""
    feed = {
        "n": np.array(3), "x": numbers(rng, "float32", 70, 1, 40),
        "w": numbers(rng, "float32", 40, 40) / np.float32(16),
        "h": numbers(rng, "float32", 1, 40),
    }  # fmt: skip
    check(text, feed)


@pytest.mark.parametrize("rows", [1, 6])
def test_a_transposed_state_is_multiplied(rows, rng):
    text = f"""g (int64 n, float[{rows},24] x, float[40,24] k) => (float[40,24] y,
      float[N,{rows},40] s) {{
      y, s = Loop (n, , k) <body = f (int64 i, bool go, float[40,24] u)
        => (bool on, float[40,24] v, float[{rows},40] p) {{
        on = Identity (go)
        t = Transpose (u)
        p = MatMul (x, t)
        v = Add (u, u)
      }}>
    }}"""
    check(text, {"n": np.array(3), "x": numbers(rng, "float32", rows, 24),
                 "k": numbers(rng, "float32", 40, 24)})  # fmt: skip


@pytest.mark.parametrize("columns", [70, 1024])
@pytest.mark.parametrize("is_known", [False, True])
def test_unaligned_weights_are_packed_before_the_loop(columns, is_known, rng):
    """Rows that begin between lines of the cache, or a page apart; constants too."""
    weight = numbers(rng, "float32", 64, columns)
    given = "" if is_known else f", float[64,{columns}] w"
    numbers_of = ", ".join(map(str, weight.flat))
    made = f"<float[64,{columns}] w = {{{numbers_of}}}>" if is_known else ""
    text = f"""g (float[T,64] x, float[{columns},64] r, float[1,64] h{given}) => (float[1,64] y,
      float[T,64] z) {made} {{
      y, z = Scan <num_scan_inputs = 1, body = f (float[1,64] u, float[64] t)
        => (float[1,64] v, float[64] o) {{
        p = MatMul (u, w)
        q = Tanh (p)
        v = Gemm (q, r, u)
        k = MatMul (t, w)
        o = MatMul (k, r)
      }}> (h, x)
    }}"""
    feed = {"x": numbers(rng, "float32", 9, 64) / np.float32(64),
            "h": numbers(rng, "float32", 1, 64),
            "r": numbers(rng, "float32", columns, 64) / np.float32(1024)}  # fmt: skip
    check(text, feed if is_known else {**feed, "w": weight})


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize(("rows", "inner"), [(40, 30), (40, 1), (3, 30), (1, 1)])
def test_columns_and_outer_products(rows, inner, is_turned, rng):
    """A matrix times a column, from outside and made in the loop; a column times a row."""
    given = (inner, rows) if is_turned else (rows, inner)
    made = "m = Transpose (a)" if is_turned else "m = Identity (a)"
    text = f"""g (int64 n, float[{given[0]},{given[1]}] w, float[{inner},1] x, float[{inner}] z) =>
      (float[{given[0]},{given[1]}] y, float[N,{rows},1] p, float[N,{rows},{inner}] q,
       float[N,{rows}] r) {{
      y, p, q, r = Loop (n, , w) <body = f (int64 i, bool go, float[{given[0]},{given[1]}] a)
        => (bool on, float[{given[0]},{given[1]}] b, float[{rows},1] k, float[{rows},{inner}] l,
            float[{rows}] o) {{
        on = Identity (go)
        {made}
        k = MatMul (m, x)
        xt = Transpose (x)
        l = MatMul (k, xt)
        o = MatMul (m, z)
        b = Add (a, w)
      }}>
    }}"""
    feed = {"w": numbers(rng, "float32", *given), "x": numbers(rng, "float32", inner, 1),
            "z": numbers(rng, "float32", inner), "n": np.array(3)}  # fmt: skip
    check(text, feed)


def test_columns_in_batches(rng: np.random.Generator):
    left, right = numbers(rng, "float32", 2, 9, 24), numbers(rng, "float32", 3, 1, 24, 1)
    text = product("float32", left.shape, right.shape, (3, 2, 9, 1))
    check(text, {"n": np.array(2), "x": left, "w": right})


@pytest.mark.parametrize("kept", [0, 1])
def test_a_transposed_view_in_every_iteration(kept, rng):
    text = f"""g (int64 n, float[30,40] w, float[40,30] x) => (float[40,30] y, float[N,{
        30 + 10 * kept
    }] s) {{
      ax = Constant <value = int64[1] {{{1 - kept}}}> ()
      t = Transpose (w)
      y, s = Loop (n, , x) <body = f (int64 i, bool go, float[40,30] u)
        => (bool on, float[40,30] v, float[{30 + 10 * kept}] r) {{
        on = Identity (go)
        t2 = Transpose (w)
        v = Add (u, t2)
        m = Mul (v, t)
        r = ReduceMax <keepdims = 0> (m, ax)
      }}>
    }}"""
    check(text, {"n": np.array(3), "w": numbers(rng, "float32", 30, 40),
                 "x": numbers(rng, "float32", 40, 30)})  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("trips", [1, 9, 10, 11])
def test_products_of_rows_gathered_by_iteration_leave_the_loop(trips, axis, rng):
    """The eleventh item is not there: the message is that of the iteration that wants it."""
    shape = (10, 40) if axis == 0 else (40, 10)
    text = f"""g (int64 n, float[{shape[0]},{shape[1]}] x, float[40,50] w, float[1,50] h)
      => (float[1,50] y, float[N,1,50] s) {{
      ax = Constant <value = int64[1] {{0}}> ()
      y, s = Loop (n, , h) <body = f (int64 i, bool go, float[1,50] u)
        => (bool on, float[1,50] v, float[1,50] o) {{
        on = Identity (go)
        t = Gather <axis = {axis}> (x, i)
        r = Unsqueeze (t, ax)
        p = MatMul (r, w)
        q = Tanh (u)
        v = Add (p, q)
        o = Identity (v)
      }}>
    }}"""
    feed = {"n": np.array(trips), "x": numbers(rng, "float32", *shape),
            "w": numbers(rng, "float32", 40, 50),
            "h": numbers(rng, "float32", 1, 50)}  # fmt: skip
    if trips <= 10:
        check(text, feed)
    else:
        session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
        with pytest.raises(RunError, match="10"):
            session.run(None, feed)


@pytest.mark.parametrize("rows", [1, 3])
def test_a_concatenated_operand_is_multiplied_in_parts(rows, rng):
    text = f"""g (float[T,{rows},40] x, float[70,30] w, float[{rows},30] h)
      => (float[{rows},30] y, float[T,{rows},30] s) {{
      y, s = Scan <num_scan_inputs = 1, body = f (float[{rows},30] u, float[{rows},40] t)
        => (float[{rows},30] v, float[{rows},30] o) {{
        j = Concat <axis = -1> (t, u)
        p = MatMul (j, w)
        v = Tanh (p)
        o = Identity (v)
      }}> (h, x)
    }}"""
    feed = {"x": numbers(rng, "float32", 12, rows, 40), "h": numbers(rng, "float32", rows, 30),
            "w": numbers(rng, "float32", 70, 30) / np.float32(16)}  # fmt: skip
    check(text, feed)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("columns", [1, 7, 8, 29])
@pytest.mark.parametrize(("rows", "inner"), [(1, 31), (1, 32), (1, 70), (3, 33), (3, 48), (4, 33)])
def test_few_rows_times_a_transposed_input(dtype, rows, inner, columns, rng):
    left, weight = numbers(rng, dtype, rows, inner), numbers(rng, dtype, columns, inner)
    text = product(dtype, left.shape, weight.shape, (rows, columns))
    text = text.replace("p = MatMul (u, w)", "p = Gemm <transB = 1> (u, w)")
    check(text, {"n": np.array(3), "x": left, "w": weight})


def test_a_transposed_input_times_a_column_of_open_length(rng: np.random.Generator):
    text = """g (float[n,1] s, float[8,64] m, int64 trips) => (float[a,b] o, float[c,d,e] y) {
      o, y = Loop (trips, "", s) <body = b (int64 i, bool go, float[64,1] h)
        => (bool on, float[64,1] after, float[8,1] made) {
        on = Identity (go)
        made = MatMul (m, h)
        zero = Constant <value = int64[1] {0}> ()
        last = Constant <value = int64[1] {-1}> ()
        kept = Slice (h, zero, last, zero)
        most = ReduceMax (made)
        after = Concat <axis = 0> (most, kept)
      }>
    }"""
    given = {"s": numbers(rng, "float32", 64, 1), "m": numbers(rng, "float32", 8, 64)}
    check(text, *({**given, "trips": np.array(trips)} for trips in (0, 1, 2, 5)))


@pytest.mark.parametrize(
    ("left", "weight", "axes", "is_kept"),
    [
        ((1, 512), (256, 512), "(i1, i0)", True),
        ((3, 64), (8, 64), "(i1, i0)", True),
        ((4, 64), (8, 64), "(i1, i0)", False),
        ((1, 16), (8, 16), "(i1, i0)", False),
        ((1, 64), (64, 64), "(i0, i1)", False),
    ],
)
def test_a_transposed_input_of_a_product_is_copied_only_where_it_pays(left, weight, axes, is_kept):
    turned = f"float32[{weight[1]},{weight[0]}]"
    kernel = kernel_of(f"""kernel
  %x: float32[{left[0]},{left[1]}] = input 0
  %w: float32[{weight[0]},{weight[1]}] = input 1
  %t: {turned} = view {axes} of %w
  %p: float32[{left[0]},{weight[0]}] = matmul %x, %t
  return %p
""")
    (product_,) = (node for node in all_nodes(kernel.main) if isinstance(node.op, MatMul))
    assert (stored_transpose(product_) is not None) == is_kept


SCANNED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[T, {rows}, 40] x, float[64, 40] w, float[64] b) => (float[T, {rows}, 64] y) {{
  y = Scan <num_scan_inputs = 1, body = step (float[{rows}, 40] item) => (float[{rows}, 64] made) {{
    {product}
  }}> (x)
}}"""


@pytest.mark.parametrize("length", [0, 1, 2, 3, 4, 5, 70])
@pytest.mark.parametrize("rows", [1, 3, 4])
@pytest.mark.parametrize(
    "product",
    [
        "v = Transpose <perm = [1, 0]> (w) made = MatMul (item, v)",
        "made = Gemm <transB = 1> (item, w, b)",
    ],
)
def test_items_times_a_transposed_input_in_few_and_many_iterations(length, rows, product, rng):
    session = treadle.InferenceSession(
        SCANNED.format(rows=rows, product=product), engines=("jit", "interp")
    )
    for trips in (2, length):
        x = rng.standard_normal((trips, rows, 40)).astype(np.float32)
        w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((64, 40), (64,)))
        (found,) = session.run(None, {"x": x, "w": w, "b": b})
        wanted = x @ w.T + (b if "Gemm" in product else 0)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
