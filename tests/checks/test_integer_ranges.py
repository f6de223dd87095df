"""CF808 does not report integers that cannot reach the values onnxruntime computes wrongly."""

from __future__ import annotations

import pytest

import treadle
from treadle.checks import may_be_wrong
from treadle.ir import DType, Leaf, Tensor, Value

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'
PARTS = "g (int64[n] x, bool[n] t, int32[n] i, float[n,m] f) => (y) <int64[1] big = {7}>"


def advised(steps: str) -> int:
    found = treadle.check(f"{HEAD}{PARTS} {{ {steps} }}", portable=["onnxruntime"])
    return sum(each.code == "CF808" for each in found)


@pytest.mark.parametrize(
    "steps",
    [
        "s = Shape (f)  y = ReduceProd (s)",
        "s = Shape (f)  q = Mul (s, s)  y = Max (q, big)",
        "c = Cast <to = 7> (t)  y = ReduceSum (c)",
        "c = Cast <to = 7> (t)  y = ReduceProd (c)",
        "c = Cast <to = 7> (i)  y = Clip (c, big)",
        "a = ArgMax (f)  y = Min (a, big)",
        "d = NonZero (f)  y = ReduceMax (d)",
        "v, k = TopK (f, big)  y = ReduceMax (k)",
        "y = Max (big, big)",
    ],
)
def test_integers_below_the_bounds_have_no_finding(steps: str) -> None:
    assert advised(steps) == 0


@pytest.mark.parametrize(
    "steps",
    [
        "y = ReduceProd (x)",
        "y = Max (x, big)",
        "c = Cast <to = 7> (i)  q = Mul (c, c)  y = Clip (q, big)",
        "c = Cast <to = 7> (f)  y = ReduceMax (c)",
        "s = Shape (f)  y = Max (s, x)",
    ],
)
def test_integers_beyond_the_bounds_have_a_finding(steps: str) -> None:
    assert advised(steps) == 1


def test_a_body_knows_outer_ranges() -> None:
    steps = """n = Size (f)  go = Cast <to = 9> (n)
        y = If (go) <then_branch = a () => (p) { p = Max (n, big) },
                     else_branch = b () => (q) { q = Max (x, big) }>"""
    assert advised(steps) == 1


def step(op: str, dtype: DType, *extents: int, operands: int = 1) -> Leaf:
    value = Value("x", inferred=Tensor(dtype, extents))
    return Leaf("", op, 13, (value,) * operands, (Value("y"),), {})


def test_sums_and_products_are_right_below_the_bounds() -> None:
    for dtype, limit in ((DType.INT64, 2**53), (DType.INT32, 2**31)):
        total = step("ReduceSum", dtype, 4)
        assert not may_be_wrong(total, [(0, limit // 4 - 1)])
        assert may_be_wrong(total, [(-limit // 4, 0)])
        power = step("Pow", dtype, 4, operands=2)
        root = int(limit**0.5)
        assert not may_be_wrong(power, [(1 - root, root - 1), (0, 2)])
        assert may_be_wrong(power, [(0, root + 1), (2, 2)])
        assert may_be_wrong(power, [(1, 3), (-1, 2)])
        assert may_be_wrong(power, [(1, 3), None])
    assert not may_be_wrong(step("ReduceProd", DType.INT64, 5), [(-9, 9)])
    assert may_be_wrong(step("ReduceProd", DType.INT64, 65), [(-9, 9)])
    assert may_be_wrong(step("ReduceL1", DType.INT32, 1), [(-(2**31), 0)])


def test_comparisons_are_right_of_numbers_of_int32() -> None:
    pair = step("Max", DType.INT64, 4, operands=2)
    narrow = (-(2**31), 2**31 - 1)
    assert not may_be_wrong(pair, [narrow, narrow])
    assert may_be_wrong(pair, [narrow, (0, 2**31)])
    assert may_be_wrong(pair, [narrow, None])


@pytest.mark.parametrize(
    "op", ["Max", "Clip", "Pow", "ReduceProd", "Slice", "Mod", "Where", "Size"]
)
def test_a_step_without_operands_ends_no_check(op: str) -> None:
    codes = {
        each.code
        for each in treadle.check(f"{HEAD}{PARTS} {{ y = {op} () }}", portable=["onnxruntime"])
    }
    assert "CF207" in codes
