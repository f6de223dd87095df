"""Constants that are rearranged or converted in a loop: done once, when the kernel is made."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from tests.jit.native import HEAD, check, natives, outcomes
from tests.values import assert_same
from treadle import InferenceSession
from treadle.jit.kernel.ir import Constant, Node, ScanSlice
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.compilation import generate_code
from treadle.jit.runtime.invoke import CompiledKernel

USES = {
    "Gemm with transB": "y = Gemm <transB = 1> (h, w)",
    "Gemm with transA": "t = Transpose (h)  p = Gemm <transA = 1, transB = 1> (t, w)  y = Neg (p)",
    "Transpose": "t = Transpose <perm = [1, 0]> (w)  y = MatMul (h, t)",
    "Cast": "d = Cast <to = 11> (w)  t = Transpose (d)  g = CastLike (h, d)  "
    "p = MatMul (g, t)  y = CastLike (p, h)",
    "Slice backward": "s = Slice (w, last, first, zero, back)  y = Gemm <transB = 1> (h, s)",
    "Reshape": "s = Reshape (w, whole)  r = Reshape (s, square)  y = Gemm <transB = 1> (h, r)",
    "Concat of parts": "a, b = Split <num_outputs = 2> (w)  s = Concat <axis = 0> (b, a)  "
    "y = Gemm <transB = 1> (h, s)",
}


def scan(use: str, size: int, dtype: str) -> str:
    """A Scan whose body multiplies with the constant `w`, as the use says."""
    lists = {"last": "-1", "first": "-9999", "zero": "0", "back": "-1"}
    numbers = "".join(
        f"{name} = Constant <value = int64[1] {{{number}}}> ()\n" for name, number in lists.items()
    )
    return f"""g ({dtype}[T,2,{size}] x, {dtype}[2,{size}] h0)
      => ({dtype}[2,{size}] last_h, {dtype}[T,2,{size}] ys) {{
      {numbers}
      whole = Constant <value = int64[1] {{-1}}> ()
      square = Constant <value = int64[2] {{{size}, {size}}}> ()
      last_h, ys = Scan (h0, x) <num_scan_inputs = 1,
        body = f ({dtype}[2,{size}] h, {dtype}[2,{size}] item)
          => ({dtype}[2,{size}] next, {dtype}[2,{size}] out) {{
          {use}
          next = Add (y, item)
          out = Identity (next)
      }}>
    }}"""


def model(text: str, weights: np.ndarray) -> onnx.ModelProto:
    """The model with `w` as an initializer."""
    proto = parser.parse_model(HEAD + text)
    proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return proto


def is_of_constants(node: Node) -> bool:
    """Whether the node is computed in every run, of constants alone."""
    if not node.operands or isinstance(node.op, ScanSlice) or not node.is_static or node.size == 1:
        return False
    return all(isinstance(operand.op, Constant) for operand in node.operands)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
def test_arranged_constants_are_constants(use: str, dtype: str, rng: np.random.Generator) -> None:
    size = 72
    kind = np.dtype({"float": "f4", "double": "f8", "float16": "f2"}[dtype])
    weights = (rng.standard_normal((size, size)) / size).astype(kind)
    proto = model(scan(USES[use], size, dtype), weights)
    session = InferenceSession(proto, engines=("jit", "interp"))
    interp = InferenceSession(proto, engines=("interp",))
    for trips in (1, 2, 5, 0):
        feeds = {
            "x": rng.standard_normal((trips, 2, size)).astype(kind),
            "h0": rng.standard_normal((2, size)).astype(kind),
        }
        assert_same(session.run(None, feeds), interp.run(None, feeds), ["last_h", "ys"])
    made = [each for native in natives(session) for each in native.cache.compiled.values()]
    kernels = [each.kernel for each in made if isinstance(each, CompiledKernel)]
    assert len(kernels) == len(made)
    nodes = [node for kernel in kernels for node in all_nodes(kernel.main)]
    assert [node for node in nodes if is_of_constants(node)] == []


def test_a_constant_that_is_broadcast_stays_small(rng: np.random.Generator) -> None:
    text = """g (float[T,200,300] x) => (float[T,200,300] ys) {
      shape = Constant <value = int64[2] {200, 300}> ()
      ys = Scan (x) <num_scan_inputs = 1, body = f (float[200,300] item)
        => (float[200,300] y) {
        wide = Expand (w, shape)
        y = Mul (item, wide)
      }>
    }"""
    session = InferenceSession(model(text, np.arange(300, dtype=np.float32)))
    x = rng.standard_normal((2, 200, 300)).astype(np.float32)
    np.testing.assert_array_equal(
        session.run(None, {"x": x})[0], x * np.arange(300, dtype=np.float32)
    )
    (made,) = [each for native in natives(session) for each in native.cache.compiled.values()]
    assert isinstance(made, CompiledKernel)
    constants = [n for n in all_nodes(made.kernel.main) if isinstance(n.op, Constant)]
    assert max(node.size for node in constants) <= 300


@pytest.mark.parametrize("shape", [(64, 64), (70, 90), (200, 16), (17, 512), (15, 300)])
@pytest.mark.parametrize("dtype", ["float", "int32", "double", "float16", "bool"])
def test_transposed_inputs(shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> None:
    rows, columns = shape
    text = f"""g (int64 n, {dtype}[{rows},{columns}] w, {dtype}[{columns},{rows}] h0)
      => ({dtype}[{columns},{rows}] last, {dtype}[T,{columns},{rows}] all) {{
      last, all = Loop (n, "", h0) <body = f (int64 i, bool go, {dtype}[{columns},{rows}] h)
        => (bool on, {dtype}[{columns},{rows}] next, {dtype}[{columns},{rows}] out) {{
        on = Identity (go)
        t = Transpose (w)
        next = {"Xor" if dtype == "bool" else "Add"} (h, t)
        out = Identity (t)
      }}>
    }}"""
    kind = {"float": "f4", "int32": "i4", "double": "f8", "float16": "f2", "bool": "?"}[dtype]
    for trips in (0, 1, 2, 5):
        given = rng.integers(0, 2 if dtype == "bool" else 50, (2, rows * columns)).astype(kind)
        w, h = given[0].reshape(shape), given[1].reshape(columns, rows)
        check(text, {"n": np.array(trips), "w": w, "h0": h})


@pytest.mark.parametrize("perm", [(0, 2, 1), (2, 1, 0), (2, 0, 1), (1, 2, 0), (1, 0, 2)])
def test_products_with_transposed_inputs(perm: tuple[int, ...], rng: np.random.Generator) -> None:
    shape = [(33, 40, 50)[axis] for axis in np.argsort(perm)]
    text = f"""g (int64 n, float[{shape[0]},{shape[1]},{shape[2]}] w, float[33,3,40] h0)
      => (float[33,3,50] last) {{
      zeros = ConstantOfShape (shape)
      last = Loop (n, "", zeros) <body = f (int64 i, bool go, float[33,3,50] h)
        => (bool on, float[33,3,50] next) {{
        on = Identity (go)
        t = Transpose <perm = [{",".join(map(str, perm))}]> (w)
        p = MatMul (h0, t)
        next = Add (h, p)
      }}>
    }}""".replace("zeros = ", "shape = Constant <value = int64[3] {33, 3, 50}> ()\nzeros = ")
    for trips in (0, 1, 2, 5):
        w = rng.integers(-4, 5, shape).astype(np.float32)
        h = rng.integers(-4, 5, (33, 3, 40)).astype(np.float32)
        check(text, {"n": np.array(trips), "w": w, "h0": h})


def test_the_text_of_a_kernel_is_the_same_however_often_it_is_written():
    """Constants are located in the order in which the nest that adds them names them."""
    rows = {k: ", ".join(map(str, range(k, k + 20))) for k in range(9)}
    sums = "\n".join(
        f"c{k} = Constant <value = float[20] {{{row}}}> ()  s{k + 1} = Add (s{k}, c{k})"
        for k, row in rows.items()
    )
    text = f"""{HEAD}g (float[T,20] x, float[20] h0) => (float[20] h) {{
      h = Scan (h0, x) <num_scan_inputs = 1, body = f (float[20] s, float[20] xt)
        => (float[20] s9) {{
          s0 = Mul (s, xt)
          {sums}
      }}>
    }}"""
    texts = set()
    for _ in range(4):
        session = InferenceSession(text, engines=("jit", "interp"))
        session.run(None, {"x": np.ones((5, 20), "f"), "h0": np.ones(20, "f")})
        (made,) = (each for each in outcomes(session) if isinstance(each, CompiledKernel))
        texts.add(generate_code(made.kernel, made.exact).text)
    assert len(texts) == 1
