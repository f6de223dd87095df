"""Every lowering against the numpy kernels: over dtypes, in registers and in memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import WORDS, check

FLOATS = ("float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
WHOLE = (*SIGNED, *UNSIGNED)
BOOL = ("bool",)
SIZES = (3, 40)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -3.5)

UNARY = {
    **dict.fromkeys(("Neg", "Abs", "Sign"), (*FLOATS, *SIGNED)),
    **dict.fromkeys(
        (
            "Exp", "Log", "Tanh", "Sigmoid", "Softplus", "Sqrt", "Erf", "Sin", "Cos", "Tan", "Asin",
            "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Ceil", "Floor", "Round",
            "Reciprocal", "IsNaN", "IsInf", "IsInf <detect_negative = 0>", "Relu",
            "LeakyRelu <alpha = 0.2>", "HardSigmoid", "Softmax", "LogSoftmax",
            "IsInf <detect_negative = 0, detect_positive = 0>",
        ),
        FLOATS,
    ),
    "Not": BOOL, "BitwiseNot": WHOLE, "Identity": (*FLOATS, *WHOLE, *BOOL),
    **{f"Cast <to = {to}>": (*FLOATS, *WHOLE, *BOOL) for to in (*range(1, 8), 9, 11, 12, 13)},
}  # fmt: skip
BINARY = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Max", "Min"), (*FLOATS, *WHOLE)),
    **dict.fromkeys(("Div", "Mod <fmod = 1>"), (*FLOATS, *WHOLE)),
    "Mod <fmod = 0>": WHOLE, "Pow": FLOATS, "Sum": FLOATS, "Mean": FLOATS,
    **dict.fromkeys(("Less", "Greater", "LessOrEqual", "GreaterOrEqual"), (*FLOATS, *WHOLE)),
    "Equal": (*FLOATS, *WHOLE, *BOOL),
    **dict.fromkeys(("And", "Or", "Xor"), BOOL),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), WHOLE),
}  # fmt: skip
BOUNDED = {op: 0.95 for op in ("Asin", "Acos", "Atanh")}
IN_RANGE = ("Cast", "Softmax", "LogSoftmax")  # of infinities and NaN nothing is promised


def numbers(rng, dtype, op, *shape):
    """Random elements, and special ones among them."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in WHOLE:
        limits = np.iinfo(dtype)
        low, high = (0, 100) if op.startswith("Cast") else (limits.min, limits.max)
        found = rng.integers(low, high, shape, dtype=dtype, endpoint=True)
        found.flat[::5] = rng.integers(0, 3, found.flat[::5].shape)
        return found
    bound = BOUNDED.get(op, 50.0 if op.startswith("Cast") else 6.0)
    found = rng.uniform(-bound, bound, shape).astype(dtype)
    if op.startswith("Cast"):
        found = np.abs(found)
    elif not op.startswith(IN_RANGE):
        places = rng.permutation(found.size)[: len(SPECIAL)]
        found.flat[places] = np.asarray(SPECIAL, dtype)[: len(places)]
    return found


TO = {1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
      9: "bool", 11: "double", 12: "uint32", 13: "uint64"}  # fmt: skip


def result_word(op, word):
    if op.startswith("Cast"):
        return TO[int(op.rstrip(">").split()[-1])]
    is_bool = op.startswith(("Is", "Less", "Greater", "Equal"))
    return "bool" if is_bool else word


def check_all(rng, table, dtype, size, operands):
    """Rows of numbers made for each operator, each through its operator, all in one Scan."""
    word, ops = WORDS[dtype], [op for op, dtypes in table.items() if dtype in dtypes]
    feed, given, rows, lines, results = {}, [], [], [], []
    for number, op in enumerate(ops):
        names = [f"x{number}_{k}" for k in range(operands)]
        feed.update((name, numbers(rng, dtype, op, 4, size)) for name in names)
        given += [f"{word}[T,{size}] {name}" for name in names]
        rows += [f"{word}[{size}] {name}r" for name in names]
        name, _, attributes = op.partition(" ")
        lines.append(f"r{number} = {name} {attributes} ({', '.join(n + 'r' for n in names)})")
        results.append(result_word(op, word))
    outer = ", ".join(f"{w}[T,{size}] z{k}" for k, w in enumerate(results))
    inner = ", ".join(f"{w}[{size}] r{k}" for k, w in enumerate(results))
    joined = "\n".join(lines)
    text = f"""g ({", ".join(given)}) => ({outer}) {{
      {", ".join(f"z{k}" for k in range(len(ops)))} = Scan <num_scan_inputs = {len(feed)},
        body = b ({", ".join(rows)}) => ({inner}) {{
        {joined}
      }}> ({", ".join(feed)})
    }}"""
    check(text, feed)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", WORDS)
def test_unary(dtype, size, rng):
    check_all(rng, UNARY, dtype, size, 1)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", WORDS)
def test_binary(dtype, size, rng):
    check_all(rng, BINARY, dtype, size, 2)


REDUCTIONS = {
    **dict.fromkeys(
        ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"), (*FLOATS, "int32", "int64")
    ),
    **dict.fromkeys(
        (
            "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum",
            "ReduceLogSumExp",
        ),
        FLOATS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(2, 3), (20, 40)])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_reductions(dtype, shape, rng):
    word, (rows, columns) = WORDS[dtype], shape
    ops = [op for op, dtypes in REDUCTIONS.items() if dtype in dtypes]
    forms = [(op, axes, keep) for op in ops for axes in ("0", "-1", "0, 1") for keep in (0, 1)]
    lines = [
        f"a{k} = Constant <value = int64[{axes.count(',') + 1}] {{{axes}}}> ()\n"
        f"r{k} = {op} <keepdims = {keep}> (a, a{k})"
        for k, (op, axes, keep) in enumerate(forms)
    ]
    joined, names = "\n".join(lines), range(len(forms))
    text = f"""g ({word}[T,{rows},{columns}] x)
        => ({", ".join(f"{word}[A{k}] z{k}" for k in names)}) {{
      {", ".join(f"z{k}" for k in names)} = Scan <num_scan_inputs = 1,
        body = b ({word}[{rows},{columns}] a)
          => ({", ".join(f"{word}[B{k}] r{k}" for k in names)}) {{
        {joined}
      }}> (x)
    }}"""
    make = rng.uniform if dtype in FLOATS else rng.integers
    check(text, {"x": make(1, 3, (3, *shape)).astype(dtype)})


LAYOUT = {
    "a [4,6] -> Transpose": "r = Transpose (a)",
    "Transpose <perm>": "r = Transpose <perm = [1, 0]> (a)",
    "Reshape": "s = Constant <value = int64[2] {3, -1}> ()\nr = Reshape (a, s)",
    "Reshape of a Transpose": (
        "t = Transpose (a)\n"
        "s = Constant <value = int64[2] {8, 3}> ()\n"
        "r = Reshape (t, s)"
    ),
    "Flatten": "r = Flatten <axis = 0> (a)",
    "Unsqueeze, Squeeze": (
        "s = Constant <value = int64[1] {1}> ()\n"
        "u = Unsqueeze (a, s)\n"
        "r = Squeeze (u, s)"
    ),
    "Expand": "s = Constant <value = int64[3] {2, 1, 6}> ()\nr = Expand (a, s)",
    "Slice": (
        "s = Constant <value = int64[2] {1, -2}> ()\n"
        "e = Constant <value = int64[2] {4, -9}> ()\n"
        "ax = Constant <value = int64[2] {0, 1}> ()\n"
        "st = Constant <value = int64[2] {2, -1}> ()\n"
        "r = Slice (a, s, e, ax, st)"
    ),
    "Concat 0": "n = Neg (a)\nr = Concat <axis = 0> (a, n, a)",
    "Concat 1": "n = Neg (a)\nr = Concat <axis = -1> (a, n)",
    "Split": "p, q = Split <axis = 1, num_outputs = 2> (a)\nr = Sub (p, q)",
    "Split uneven": (
        "s = Constant <value = int64[2] {1, 5}> ()\n"
        "p, q = Split <axis = 1> (a, s)\n"
        "r = Sub (p, q)"
    ),
    "Gather row": "i = Constant <value = int64 {2}> ()\nr = Gather (a, i)",
    "Gather columns": "i = Constant <value = int64[3] {0, -1, 2}> ()\nr = Gather <axis = 1> (a, i)",
    "MatMul": "t = Transpose (a)\nr = MatMul (a, t)",
    "MatMul turned": "t = Transpose (a)\nr = MatMul (t, a)",
    "Where by row": (
        "z = Constant <value = float {0.0}> ()\n"
        "c = Greater (a, z)\n"
        "r = Where (c, a, z)"
    ),
    "Clip": (
        "l = Constant <value = float {-0.5}> ()\n"
        "h = Constant <value = float {0.5}> ()\n"
        "r = Clip (a, l, h)"
    ),
    "Shape, Size": "s = Shape (a)\nn = Size (a)\nm = Mul (s, n)\nr = Cast <to = 1> (m)",
}  # fmt: skip


@pytest.mark.parametrize("shape", [(4, 6), (4, 3)])
@pytest.mark.parametrize("name", LAYOUT)
def test_layout(name, shape, rng):
    if shape == (4, 3) and name in ("Reshape", "Split", "Split uneven", "Expand"):
        shape = (6, 6)
    if shape == (4, 3) and name == "Reshape of a Transpose":
        pytest.skip("8 rows of 3 need 24 elements")
    rows, columns = shape
    text = f"""g (float[T,{rows},{columns}] x) => (float[A] z) {{
      z = Scan <num_scan_inputs = 1, body = b (float[{rows},{columns}] a) => (float[B] r) {{
        {LAYOUT[name]}
      }}> (x)
    }}"""
    check(text, {"x": rng.uniform(-1, 1, (3, *shape)).astype(np.float32)})


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((1, 64), (64, 100)), ((5, 33), (33, 17)), ((3, 3), (3, 3)), ((7, 20), (20, 1)),
     ((20,), (20, 30)), ((6, 20), (20,)), ((2, 4, 5), (5, 40)), ((2, 4, 5), (2, 5, 18)),
     ((4, 0), (0, 20))],
)  # fmt: skip
def test_matmul(left, right, dtype, rng):
    word = WORDS[dtype]
    first, second = (",".join(map(str, each)) for each in (left, right))
    text = f"""g ({word}[T,{first}] x, {word}[{second}] w) => ({word}[A] z) {{
      z = Scan <num_scan_inputs = 1, body = b ({word}[{first}] a) => ({word}[B] r) {{
        r = MatMul (a, w)
      }}> (x)
    }}"""
    # whole numbers: their products and sums are exact in any order
    x, w = rng.integers(-3, 4, (3, *left)), rng.integers(-3, 4, right)
    check(text, {"x": x.astype(dtype), "w": w.astype(dtype)})


@pytest.mark.parametrize("attributes", ["", "alpha = 0.5, beta = 2.0", "transA = 1", "transB = 1"])
@pytest.mark.parametrize("added", ["", "c"])
def test_gemm(attributes, added, rng):
    a, w = np.zeros((3, 12, 12), np.float32), np.zeros((12, 12), np.float32)
    a[:], w[:] = rng.uniform(-1, 1, a.shape), rng.uniform(-1, 1, w.shape)
    text = f"""g (float[T,12,12] x, float[12,12] w, float[12] c) => (float[A] z) {{
      z = Scan <num_scan_inputs = 1, body = b (float[12,12] a) => (float[B] r) {{
        r = Gemm {f"<{attributes}>" if attributes else ""} (a, w{", c" if added else ""})
      }}> (x)
    }}"""
    check(text, {"x": a, "w": w, "c": rng.uniform(-1, 1, 12).astype(np.float32)})
