"""Each reason for which the batch analysis declines, and the shapes and loops it sees through."""

from __future__ import annotations

import pytest

import treadle
from treadle import passes
from treadle.batching import Mixed, batch_axes

X, Y = "float[N, 4] x", "float[N, 4] y"
FIRST, SECOND = "int64[1] k = {0}", "int64[1] l = {1}"
ADDS = "body = step (float[N, 4] s, float[4] v) => (float[N, 4] o) { o = Add(s, v) }"


def axes_of(
    params: str, results: str, body: str, held: str = "", **axes: int
) -> dict[str, int | None]:
    initializers = f"<{held}>" if held else ""
    text = (
        '<ir_version: 10, opset_import: ["" : 21, "com.acme" : 1]>\n'
        f"main ({params}) => ({results}) {initializers} {{ {body} }}"
    )
    return batch_axes(passes.prepare(treadle.load(text)), axes or {"x": 0})


MIXING = {
    "its operands have their rows along different axes": (
        "float[N, N] x", "float[N, N] y", "t = Transpose(x) y = Add(x, t)",
    ),
    "it may sum over the rows": ("float[N] x", "float y", "y = MatMul(x, x)"),
    "it combines every row of one operand with every row": (
        f"{X}, float[4] w", "float[N, N] y", "t = Transpose(x) y = Gemm(x, t)",
    ),
    "the summand has its rows along another axis": (
        f"{X}, float[4, 4] w, float[4, N] z", Y, "y = Gemm(x, w, z)", "", {"x": 0, "z": 1},
    ),
    "operand 2 has elements of its own for each row": (
        f"{X}, float[4, 4] w, float[3, 4] z", Y, "y = Gemm(x, w, z)",
    ),
    "operand 1 has elements of its own for each row": (
        f"{X}, float[3, 4] z", "float[M, 4] y", "y = Add(x, z)",
    ),
    "its axis is not constant": (f"{X}, int64 k", Y, "y = CumSum(x, k)"),
    "its operands name the rows by different letters": (
        f"{X}, float[N, 4] z", "float[N, N] y", 'y = Einsum<equation = "ab,cb->ac">(x, z)', "",
        {"x": 0, "z": 0},
    ),
    "it takes a diagonal over the rows": (
        "float[N, N] x", "float[N] y", 'y = Einsum<equation = "aa->a">(x)',
    ),
    "it sums over the rows, or shares an operand": (
        X, "float[4] y", 'y = Einsum<equation = "ab->b">(x)',
    ),
    "its sequence is shared by all rows": (
        "float[5, 2, 3] v, float[1, 12, 3] w, float[1, 12, 3] r, float[1, N, 3] x",
        "float[5, 1, N, 3] y", "y = LSTM<hidden_size = 3>(v, w, r, , , x)", "", {"x": 1},
    ),
    "operand 5 has elements of its own for each row": (
        "float[5, N, 3] x, float[1, 12, 3] w, float[1, 12, 3] r, float[1, 2, 3] h",
        "float[5, 1, N, 3] y", "y = LSTM<hidden_size = 3>(x, w, r, , , h)", "", {"x": 1},
    ),
    "its rows are not along its batch axis": (
        "float[N, 2, 3] x, float[1, 12, 3] w, float[1, 12, 3] r", "float[N, 1, 2, 3] y",
        "y = LSTM<hidden_size = 3>(x, w, r)",
    ),
    "it removes every axis of extent 1": ("float[N, 4, 1] x", "float[N, 4] y", "y = Squeeze(x)"),
    "it moves elements from row to row": (
        "float[4, N] x", "float[N, 4] y",
        "s = Shape(x) n = Gather(s, i) h = Concat<axis = 0>(n, q) y = Reshape(x, h)",
        "int64[1] i = {1}, int64[1] q = {4}", {"x": 1},
    ),
    "it may repeat a single row": (
        X, "float[6, 4] y", "y = Expand(x, s)", "int64[2] s = {6, 4}",
    ),
    "it picks rows by rows": (
        f"{X}, int64[N] i", Y, "y = Gather(x, i)", "", {"x": 0, "i": 0},
    ),
    "it picks rows": (f"{X}, int64[2] i", "float[2, 4] y", "y = Gather(x, i)"),
    "it joins rows": (X, "float[M, 4] y", "y = Concat<axis = 0>(x, x)"),
    "not all of its operands have rows": (
        f"{X}, float[2, 4] z", "float[M, 4] y", "y = Concat<axis = 0>(x, z)",
    ),
    "in training it normalises with the means of the batch": (
        f"{X}, float[4] s", Y, "y = BatchNormalization<training_mode = 1>(x, s, s, s, s)",
    ),
    "operand 0 has no batch axis": (
        X, "int64[2] y", "s = Shape(x) y = Transpose(s)",
    ),
    "its axes are not constant": (f"{X}, int64[1] k", "float[M] y", "y = ReduceSum(x, k)"),
    "the output y depends on the number of rows": (X, "int64[2] y", "y = Shape(x)"),
    "there is no rule for Det": ("float[N, 3, 3] x", "float[N] y", "y = Det(x)"),
    "the bodies of Each cannot be analysed": (
        f"float[4] w, {X}", Y,
        "y = com.acme.Each<body = g (float[4] e) => (float[N, 4] o) { o = Add(e, x) }>(w)",
    ),
    "the trip count of the loop depends on the batch": (
        X, "float[4] y",
        "s = Shape(x) n = Gather(s, i) y = Loop<body = b (int64 j, bool c, float[4] v)"
        " => (bool d, float[4] w) { d = Identity(c) w = Neg(v) }>(n, , z)",
        "int64 i = {0}, float[4] z = {1, 2, 3, 4}",
    ),
    "rows may end the loop in different iterations": (
        "float[N] x", "float[N] y",
        "y = Loop<body = b (int64 j, bool c, float[N] v) => (bool[N] d, float[N] w)"
        " { w = Neg(v) d = Less(w, z) }>(n, , x)",
        "int64 n = {3}, float z = {1}",
    ),
    "the loop iterates over extents": (
        X, "float[4] y",
        "s = Shape(x) z = Identity(w) y = Scan<num_scan_inputs = 1, body = b (float[4] a, int64 e)"
        " => (float[4] o) { f = Cast<to = 1>(e) o = Add(a, f) }>(z, s)",
        "float[4] w = {1, 2, 3, 4}",
    ),
    "the loop stacks extents": (
        X, "int64[3, 2] y",
        "y = Loop<body = b (int64 j, bool c) => (bool d, int64[2] s)"
        " { d = Identity(c) s = Shape(x) }>(n, t)",
        "int64 n = {3}, bool t = {1}",
    ),
    "the branches give a value different batch axes": (
        "float[N, N] x, bool c", "float[N, N] y",
        "y = If(c)<then_branch = a () => (float[N, N] p) { p = Neg(x) },"
        " else_branch = b () => (float[N, N] q) { q = Transpose(x) }>",
    ),
    "the iterations give a value different batch axes": (
        "float[N, N] x", "float[N, N] y",
        "y = Loop<body = b (int64 j, bool c, float[M, K] v) => (bool d, float[M, K] w)"
        " { d = Identity(c) w = Transpose(v) }>(n, , x)",
        "int64 n = {3}",
    ),
    "a carried value has rows only after the first iteration": (
        f"{X}, float[K, 4] z", Y,
        "y = Loop<body = b (int64 j, bool c, float[K, 4] v) => (bool d, float[N, 4] w)"
        " { d = Identity(c) w = Neg(x) }>(n, , z)",
        "int64 n = {3}",
    ),
    "the input x has no axis 2": (X, Y, "y = Neg(x)", "", {"x": 2}),
}  # fmt: skip


@pytest.mark.parametrize("reason", MIXING)
def test_the_reason_is_named(reason: str) -> None:
    params, results, body, *rest = MIXING[reason]
    held = rest[0] if rest else ""
    axes = rest[1] if len(rest) > 1 else {}
    with pytest.raises(Mixed, match=reason):
        axes_of(params, results, body, held, **axes)


PROVEN = {
    "a reshape to the rows' own number": (
        X, "float[N, 2, 2] y", "s = Shape(x) n = Slice(s, k, l) t = Concat<axis = 0>(n, h)"
        " y = Reshape(x, t)", f"{FIRST}, {SECOND}, int64[2] h = {{2, 2}}", 0,
    ),
    "a mean over the columns, whose number is read from the shape": (
        "float[N, K] x", "float[N] y", "s = Shape(x) n = Gather(s, i) f = Cast<to = 1>(n)"
        " r = ReduceSum<keepdims = 0>(x, l) y = Div(r, f)", f"int64 i = {{1}}, {SECOND}", 0,
    ),
    "the product of the other extents": (
        "float[N, K, L] x", "float[N, K, L] y", "s = Shape(x) n = Slice(s, l, e)"
        " p = ReduceProd<keepdims = 0>(n) f = Cast<to = 1>(p) y = Div(x, f)",
        f"{SECOND}, int64[1] e = {{3}}", 0,
    ),
    "arithmetic on an extent that is no number of rows": (
        "float[N, K] x", "float[N, K] y", "s = Shape(x) n = Gather(s, l) m = Mul(n, n)"
        " q = Squeeze(m) u = Unsqueeze(q, k) f = Cast<to = 1>(u) y = Div(x, f)",
        f"{FIRST}, {SECOND}", 0,
    ),
    "the rank, from the shape of the shape": (
        X, Y, "s = Shape(x) r = Shape(s) f = Cast<to = 1>(r) y = Div(x, f)", "", 0,
    ),
    "a filled tensor of as many rows": (
        X, Y, "s = Shape(x) z = ConstantOfShape(s) y = Add(z, x)", "", 0,
    ),
    "a shared row that is expanded to all": (
        f"{X}, float[4] w", Y, "s = Shape(x) z = Expand(w, s) y = Add(z, x)", "", 0,
    ),
    "repeats of the columns": (X, "float[N, 8] y", "y = Tile(x, r)", "int64[2] r = {1, 2}", 0),
    "a constant that a node holds": (
        X, "float[N] y", "a = Constant<value_ints = [1]>() y = ReduceSum<keepdims = 0>(x, a)", "",
        0,
    ),
    "a scan over a shared sequence": (
        f"{X}, float[5, 4] v", Y, f"y = Scan<num_scan_inputs = 1, {ADDS}>(x, v)", "", 0,
    ),
    "stacks after the rows": (
        f"{X}, float[5, 4] v", "float[5, N, 4] y",
        "z = Identity(x) f, y = Scan<num_scan_inputs = 1, body = step (float[N, 4] s, float[4] v)"
        " => (float[N, 4] o, float[N, 4] e) { o = Add(s, v) e = Neg(o) }>(z, v)", "", 1,
    ),
    "a scan along another axis": (
        X, "float[N] y",
        "z = ReduceSum<keepdims = 0>(x, l) y = Scan<num_scan_inputs = 1, scan_input_axes = [-1],"
        " body = step (float[N] s, float[N] v) => (float[N] o) { o = Add(s, v) }>(z, x)", SECOND, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVEN)
def test_the_batch_axis_is_found(name: str) -> None:
    params, results, body, held, axis = PROVEN[name]
    assert axes_of(params, results, body, held)["y"] == axis
