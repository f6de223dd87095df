"""Comparisons of whole numbers that their ranges decide are constants."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from treadle import InferenceSession, SessionOptions
from treadle.jit.kernel.ir import Elementwise, Loop
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.integers.known_comparisons import with_known_comparisons

LOOP = """kernel
  %x: uint8[20] = input 0
  %s0: bool[20] = input 1
  %n: int64[] = constant {number}
  %r = loop length 3 extent 3 carries %s = %s0
    %s: bool[20] = carried 0
    %wide: int64[20] = cast %x
    %is: bool[20] = {function} %wide, %n
    %next: bool[20] = xor %s, %is
    yield %next
  %last: bool[20] = result 0 of %r
  return %last"""
FUNCTIONS = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("number", [-1, 0, 1, 254, 255, 256])
def test_comparisons_with_a_byte(function: str, number: int) -> None:
    text = LOOP.format(function=function, number=number)
    made = with_known_comparisons(kernel_of(text))
    (loop,) = (node.op for node in all_nodes(made.main) if isinstance(node.op, Loop))
    left = [node for node in loop.body.nodes if node.op == Elementwise(function)]
    every = np.arange(256)
    truths = FUNCTIONS[function](every, number)
    assert bool(left) == (len(set(truths.tolist())) == 2)
    x = np.array([0, 1, 2, 254, 255] * 4, np.uint8)
    (got,) = run_kernel(text, x, np.zeros(20, bool))
    np.testing.assert_array_equal(got, FUNCTIONS[function](x.astype(int), number))


EMPTY = """g (int64 n, int64[M,4] x, int64[4] a) => (int64[4] last, bool[N,4] all) {
  high = Constant <value = int64 {7}> ()
  low = Constant <value = int64 {0}> ()
  none = Constant <value = int64[4] {0, 0, 0, 0}> ()
  rows = Constant <value = int64[1] {0}> ()
  last, all = Loop (n, "", a) <body = b (int64 i, bool go, int64[4] s)
    => (bool on, int64[4] next, bool[4] less) {
    on = Identity (go)
    moved = Add (x, s)
    few = Min (moved, high)
    least = Max (few, low)
    most = ReduceMax <keepdims = 0> (least, rows)
    less = Less (most, none)
    next = Where (less, most, s)
  }>
}"""


def test_the_greatest_of_no_elements_is_in_no_range_of_theirs() -> None:
    text = f'<ir_version: 10, opset_import: ["" : 21]>\n{EMPTY}'
    eager = InferenceSession(text, SessionOptions(compile="eager"), engines=("jit", "interp"))
    plain = InferenceSession(text, engines=("interp",))
    for rows in (2, 0, 2):
        feeds = {"n": np.array(3), "x": np.zeros((rows, 4), np.int64), "a": np.arange(4)}
        for got, wanted in zip(eager.run(None, feeds), plain.run(None, feeds), strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_numbers_of_a_program_that_look_like_keys() -> None:
    """Those behind the keys have more bits than positions have."""
    numbers = ", ".join(str(2**32 + k) for k in range(20))
    text = f"""<ir_version: 10, opset_import: ["" : 21]>
    g (int64[N,3,20] xs) => (bool[N,3] less) {{
      bits = Constant <value = int64 {{32}}> ()
      mask = Constant <value = int64 {{{2**32 - 1}}}> ()
      many = Constant <value = int64 {{1000}}> ()
      last = Constant <value = int64[1] {{-1}}> ()
      behind = Constant <value = int64[20] {{{numbers}}}> ()
      less = Scan <num_scan_inputs = 1, body = b (int64[3,20] x) => (bool[3] c) {{
        key = Cast <to = 13> (x)
        by = Cast <to = 13> (bits)
        moved = BitShift <direction = "LEFT"> (key, by)
        front = Cast <to = 7> (moved)
        whole = BitwiseOr (front, behind)
        most = ReduceMax <keepdims = 0> (whole, last)
        place = BitwiseAnd (most, mask)
        c = Less (place, many)
      }}> (xs)
    }}"""
    xs = np.arange(120).reshape(2, 3, 20)
    found = [InferenceSession(text, engines=each).run(None, {"xs": xs})[0]
             for each in (("jit", "interp"), ("interp",))]  # fmt: skip
    np.testing.assert_array_equal(*found)
