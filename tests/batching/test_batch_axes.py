"""The batch axis is proven: batches give the results of single rows; mixing steps are named."""

import numpy as np
import pytest

import treadle
from treadle import passes
from treadle.batching import Mixed, batch_axes

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


def model(params: str, results: str, body: str, initializers: str = "") -> str:
    return f"{HEAD}main ({params}) => ({results}) {initializers} {{ {body} }}"


X = "float[N, 4] x"
W4 = "<float[4] w = {1, 2, 3, 4}>"
K0, K1 = "<int64[1] k = {0}>", "<int64[1] k = {1}>"
BRANCHES = (
    "y = If(c)<then_branch = a () => (float[N, 4] p) { p = Relu(x) },"
    " else_branch = b () => (float[N, 4] q) { q = Neg(x) }>"
)
ADDING = "body = step (float[{0}] s, float[{0}] v) => (float[{0}] o) {{ o = Add(s, v) }}"
INDEPENDENT = {
    "broadcast": model(X, "float[N, 4] y", "y = Add(x, w)", W4),
    "matmul": model(X, "float[N, 1] y", "y = MatMul(x, w)", W4.replace("[4]", "[4, 1]")),
    "gemm": model(X, "float[N, 1] y", "y = Gemm<transB = 1>(x, w)", W4.replace("[4]", "[1, 4]")),
    "softmax": model(X, "float[N, 4] y", "y = Softmax<axis = 1>(x)"),
    "transpose": model(X, "float[4, N] y", "y = Transpose(x)"),
    "reduce": model(X, "float[N] y", "y = ReduceSum<keepdims = 0>(x, k)", K1),
    "reshape": model(X, "float[N, 2, 2] y", "y = Reshape(x, s)", "<int64[3] s = {0, 2, 2}>"),
    "shape": model(
        X, "float[N, 2] y",
        "s = Shape(x) n = Gather(s, i) m = Unsqueeze(n, a) t = Concat<axis = 0>(m, h)"
        " z = ConstantOfShape(t) f = Slice(x, a, b, k) y = Add(z, f)",
        "<int64 i = {0}, int64[1] h = {2}, int64[1] a = {0}, int64[1] b = {2}, int64[1] k = {1}>",
    ),
    "scan": model(
        "float[N, 4] x, float[3, 4] w", "float[N] y",
        "t = Transpose(x) h = ReduceSum<keepdims = 0>(x, k)"
        f" y = Scan<num_scan_inputs = 1, {ADDING.format('N')}>(h, t)",
        K1,
    ),
    "branch": model("float[N, 4] x, bool c", "float[N, 4] y", BRANCHES),
    "einsum": model(X, "float[N] y", 'y = Einsum<equation = "nk,k->n">(x, w)', W4),
}  # fmt: skip
MIXING = {
    "a sum over rows": (
        model(X, "float[4] y", "y = ReduceSum<keepdims = 0>(x, k)", K0), "reduces over the rows",
    ),
    "a sum over all": (
        model(X, "float y", "y = ReduceMean<keepdims = 0>(x)"), "reduces over the rows",
    ),
    "a mean by hand": (
        model(
            X, "float[N, 4] y", "s = Shape(x) n = Gather(s, i) f = Cast<to = 1>(n) y = Div(x, f)",
            "<int64 i = {0}>",
        ),
        "number of rows",
    ),
    "rows by rows": (model(X, "float[N, N] y", "t = Transpose(x) y = MatMul(x, t)"), "every row"),
    "sums that run": (
        model(X, "float[N, 4] y", "y = CumSum(x, i)", "<int64 i = {0}>"), "over the rows",
    ),
    "a scan over rows": (
        model(
            X, "float[4] y",
            f"z = Identity(w) y = Scan<num_scan_inputs = 1, {ADDING.format('4')}>(z, x)", W4,
        ),
        "iterates over the rows",
    ),
    "an order": (
        model(
            X, "float[N, 4] y",
            "s = Shape(x) n = Gather(s, a) r = Range(a, n, b) f = Cast<to = 1>(r)"
            " g = Unsqueeze(f, k) y = Add(x, g)",
            "<int64 a = {0}, int64 b = {1}, int64[1] k = {1}>",
        ),
        "Range",
    ),
    "a flat view": (
        model(X, "float[M] y", "y = Reshape(x, s)", "<int64[1] s = {-1}>"), "rows",
    ),
    "random numbers": (model(X, "float[N, 4] y", "y = RandomNormalLike(x)"), "draws"),
    "a branch by row": (
        model("float[N, 4] x, bool[N] c", "float[N, 4] y", BRANCHES), "different branches",
    ),
}  # fmt: skip


def axes_of(text: str) -> dict[str, int | None]:
    loaded = passes.prepare(treadle.load(text))
    names = [v.name for v in loaded.main.params if "N" in str(v.declared)]
    return batch_axes(loaded, dict.fromkeys(names, 0))


@pytest.mark.parametrize("name", INDEPENDENT)
def test_rows_run_in_a_batch_as_one_by_one(name: str, rng: np.random.Generator) -> None:
    text = INDEPENDENT[name]
    found = axes_of(text)
    session = treadle.InferenceSession(text, engines=["interp"])
    feeds = {"x": rng.standard_normal((5, 4)).astype(np.float32)}
    for value in session.get_inputs():
        if value.name == "w":
            feeds["w"] = np.ones((3, 4), np.float32)
        if value.name == "c":
            feeds["c"] = np.array(True)
    together = session.run(None, feeds)
    for row in range(5):
        alone = session.run(None, {**feeds, "x": feeds["x"][row : row + 1]})
        for axis, all_, one in zip(found.values(), together, alone, strict=True):
            assert axis is not None
            np.testing.assert_allclose(np.take(all_, [row], axis), one, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MIXING)
def test_steps_that_mix_rows_are_named(name: str) -> None:
    text, reason = MIXING[name]
    with pytest.raises(Mixed, match=reason) as why:
        axes_of(text)
    assert why.value.path.startswith("main/")


def test_values_independent_of_the_batch_have_no_axis() -> None:
    text = model("float[N, 4] x, float[4] w", "float[N, 4] y, float[4] z", "y = Relu(x) z = Neg(w)")
    assert axes_of(text) == {"y": 0, "z": None}
