"""Leaves: dims that stay symbolic, and shape computations carried as values."""

import pytest

from tests.infer.models import typed

EXPRESSIONS = [
    ("Concat<axis=0>(x, z)", "float32[K+T,8]"),
    ("Concat<axis=1>(x, x)", "float32[T,16]"),
    ("Transpose(x)", "float32[8,T]"),
    ("MatMul(x, w)", "float32[T,3]"),
    ("Add(x, one)", "float32[T,8]"),
    ("Add(x, z)", "float32[?,8]"),
    ("Greater(x, one)", "bool[T,8]"),
    ("Where(c, x, one)", "float32[T,8]"),
    ("Gather<axis=0>(x, i)", "float32[8]"),
    ("Flatten(x)", "float32[T,8]"),
    ("Shape(x)", "int64[2]"),
    ("Cast<to=7>(x)", "int64[T,8]"),
    ("Pow(x, i)", "float32[T,8]"),
]


@pytest.mark.parametrize(("expression", "type_"), EXPRESSIONS)
def test_one_operator_keeps_the_names_of_its_dims(expression, type_):
    found = typed(f"""g (float[T,8] x, float[K,8] z, float[8,3] w, float one, bool[T,8] c, int64 i)
        => (y) {{ y = {expression} }}""")
    assert found["y"] == type_


def chain(steps, result="y"):
    return typed(f"""g (float[B,T,8] x) => ({result}) {{
        zero = Constant<value_int=0>() one = Constant<value_int=1>() two = Constant<value_int=2>()
        axis = Constant<value_ints=[0]>() minus = Constant<value_ints=[-1]>()
        shape = Shape(x) b = Gather(shape, zero) t = Gather(shape, one) h = Gather(shape, two)
        {steps} }}""")[result]


CHAINS = [
    ("s = Mul(b, t) u = Unsqueeze(s, axis) v = Concat<axis=0>(u, minus) y = Reshape(x, v)",
     "float32[B*T,8]"),
    ("u = Unsqueeze(b, axis) v = Concat<axis=0>(u, minus) y = Reshape(x, v)", "float32[B,8*T]"),
    ("y = Reshape(x, minus)", "float32[8*B*T]"),
    ("n = Add(t, one) u = Unsqueeze(n, axis) y = ConstantOfShape(u)", "float32[T+1]"),
    ("y = Range(zero, t, one)", "int64[T]"),
    ("y = Range(zero, h, two)", "int64[4]"),
    ("u = Unsqueeze(t, axis) y = Expand(one, u)", "int64[T]"),
    ("u = Div(h, two) v = Unsqueeze(u, axis) y = ConstantOfShape(v)", "float32[4]"),
    ("n = Mul(t, h) u = Div(n, two) v = Unsqueeze(u, axis) y = ConstantOfShape(v)", "float32[4*T]"),
    ("u = Div(t, t) v = Unsqueeze(u, axis) y = ConstantOfShape(v)", "float32[?]"),
    ("y = Slice(x, axis, minus, two)", "float32[B,T,7]"),
    ("u = Slice(shape, axis, minus) y = ConstantOfShape(u)", "float32[B,T]"),
    ("u = Cast<to=6>(t) w = Cast<to=7>(u) v = Unsqueeze(w, axis) y = ConstantOfShape(v)",
     "float32[T]"),
    ("y = ReduceProd<keepdims=0>(shape)", "int64[]"),
    ("u = ReduceProd<keepdims=1>(shape) y = ConstantOfShape(u)", "float32[8*B*T]"),
    ("u = Equal(shape, minus) r = Shape(shape) v = ConstantOfShape<value=int64[1] {1}>(r) "
     "w = Where(u, v, shape) y = Expand(one, w)", "int64[B,T,8]"),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "type_"), CHAINS)
def test_shapes_are_followed_through_the_operators_that_compute_them(steps, type_):
    assert chain(steps) == type_


@pytest.mark.parametrize(
    ("bounds", "length"),
    [((0, 3, 1), 3), ((-2, 99, 1), 2), ((4, -99, -1), 5), ((3, 0, -2), 2), ((5, 2, 1), 0)],
)
def test_a_slice_clamps_its_bounds_as_python_does(bounds, length):
    start, end, step = (f"c{k} = Constant<value_ints=[{b}]>()" for k, b in enumerate(bounds))
    found = typed(f"""g (float[5] x) => (y) {{ {start} {end} {step}
        axis = Constant<value_ints=[0]>() y = Slice(x, c0, c1, axis, c2) }}""")
    assert found["y"] == f"float32[{length}]"


CUTS = [
    ("T", "0", "5", "?"),
    ("T+1", "1", "9223372036854775807", "T"),
    ("T+2", "0", "-1", "T+1"),
    ("T+2", "-2", "9223372036854775807", "2"),
    ("T+2", "1", "3", "?"),
    ("T", "1", "9223372036854775807", "?"),
    ("T", "0", "9223372036854775807", "T"),
    ("T", "-1", "-9223372036854775807", "T"),
    ("2*T", "0", "2", "?"),
]


@pytest.mark.parametrize(("dim", "start", "end", "length"), CUTS)
def test_a_slice_of_a_symbolic_axis_is_known_where_no_bound_is_clamped(dim, start, end, length):
    parts = {"T": "x", "T+1": "x, a", "T+2": "x, a, a", "2*T": "x, x"}[dim]
    step = -1 if end.startswith("-9") else 1
    found = typed(f"""g (float[T] x, float[1] a) => (y) {{
        w = Concat<axis=0>({parts}) axis = Constant<value_ints=[0]>()
        s = Constant<value_ints=[{start}]>() e = Constant<value_ints=[{end}]>()
        k = Constant<value_ints=[{step}]>() y = Slice(w, s, e, axis, k) }}""")
    assert found["y"] == f"float32[{length}]"


def test_a_slice_by_computed_bounds():
    steps = """n = Unsqueeze(t, axis) w = Concat<axis=1>(x, x) k = Constant<value_ints=[1]>()
        m = Mul(n, two) y = Slice(w, n, m, k)"""
    assert chain(steps) == "float32[B,T,8]"


def test_a_number_that_may_be_negative_is_no_extent():
    steps = "n = Sub(t, two) u = Unsqueeze(n, axis) y = ConstantOfShape(u)"
    assert chain(steps) == "float32[?]"


DECLARED = {
    "a declared type counts only where nothing is known": (
        """g (float[2] x) => (y, z) <float[5,5] y, float[7] u, float[3] z> {
        u = other.Foreign(x) y = Relu(x) z = Identity(u) }""".replace("other.", ""),
         {"y": "float32[2]"}),
    "an input with a default is not its default": (
        "g (float x, int64[1] n = {3}) => (y) { y = Expand(x, n) }", {"y": "float32[?]"}),
}  # fmt: skip
"""The text of a model, and the types that values must have."""


@pytest.mark.parametrize("case", DECLARED)
def test_declared_types_and_defaults(case):
    text, wanted = DECLARED[case]
    found = typed(text)
    assert {name: found[name] for name in wanted} == wanted
