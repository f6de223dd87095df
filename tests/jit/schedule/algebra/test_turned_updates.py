"""Carried matrices that products read transposed are carried transposed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from treadle.jit.kernel.ir import Loop, MatMul, View
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra import turned_updates
from treadle.jit.schedule.algebra.turned_updates import with_turned_updates
from treadle.jit.schedule.carried_forms import with_simple_carried_values

DELTA = """kernel
  %k: float32[9,2,1,20] = input 0
  %v: float32[9,2,32,1] = input 1
  %s0: float32[2,32,20] = input 2
  %one: float32[] = input 3
  %b: float32[32,1] = input 4
  %1 = loop length 9 extent 9 carries %s = %s0
    %s: float32[2,32,20] = carried 0
    %ki: float32[2,1,20] = scan slice along 0 of %k
    %vi: float32[2,32,1] = scan slice along 0 of %v
    %t: float32[2,20,32] = view (i0, i2, i1) of %s
    %y: float32[2,1,32] = matmul %ki, %t
    %c: float32[2,32,1] = view (i0, i2, 0) of %y
    %e: float32[2,32,1] = sub %vi, %c
    %outer: float32[2,32,20] = mul %e, %ki
    %faded: float32[2,32,20] = mul %s, %one
    %biased: float32[2,32,20] = add %faded, %b
    %next: float32[2,32,20] = add %biased, %outer
    yield %next
    stack %c along 0
  %last: float32[2,32,20] = result 0 of %1
  %all: float32[9,2,32,1] = result 1 of %1
  return %last, %all"""


def test_the_state_is_carried_as_the_product_reads_it() -> None:
    made = with_simple_carried_values(with_turned_updates(kernel_of(DELTA)))
    nodes = all_nodes(made.main)
    (loop,) = (node.op for node in nodes if isinstance(node.op, Loop))
    (product,) = (node for node in nodes if isinstance(node.op, MatMul))
    assert loop.states[0].shape == (2, 20, 32)
    assert product.operands[1] is loop.states[0]
    turned = [node for node in loop.body.nodes if isinstance(node.op, View)]
    assert all(node.shape[-2] == 1 or 1 in node.operands[0].shape for node in turned)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("20", "8"),  # short rows
        ("9", "7"),  # few iterations
        ("mul %s, %one", "mul %outer, %one"),  # made of others alone
        ("stack %c", "stack %next"),  # it is read as it is
    ],
)
def test_other_states_stay(old: str, new: str) -> None:
    text = DELTA.replace(old, new)
    if new == "stack %next":
        text = text.replace("%all: float32[9,2,32,1]", "%all: float32[9,2,32,20]")
    kernel = kernel_of(text)
    assert with_turned_updates(kernel) is kernel


def test_many_rows_are_products_with_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turned_updates, "_MAX_ROWS", 0)
    kernel = kernel_of(DELTA)
    assert with_turned_updates(kernel) is kernel


@pytest.mark.parametrize("heads", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_a_delta_rule(heads: int, dtype: str, rng: np.random.Generator) -> None:
    """Of matrices with their heads, or of one matrix; its last value is as the model has it."""
    many = f"{heads}," if heads else ""
    rank = 2 + bool(heads)
    swapped = str([*range(rank - 2), rank - 1, rank - 2])
    text = f"""g ({dtype}[T,{many}20] k, {dtype}[T,{many}40] v, {dtype}[{many}40,20] s0,
      {dtype}[40,1] b) => ({dtype}[{many}40,20] s, {dtype}[T,{many}40] y) {{
      minus1 = Constant <value = int64[1] {{-1}}> ()
      minus2 = Constant <value = int64[1] {{-2}}> ()
      s, y = Scan <num_scan_inputs = 2, body = f ({dtype}[{many}40,20] si, {dtype}[{many}20] ki,
        {dtype}[{many}40] vi) => ({dtype}[{many}40,20] so, {dtype}[{many}40] o) {{
        kr = Unsqueeze (ki, minus2)
        st = Transpose <perm = {swapped}> (si)
        p = MatMul (kr, st)
        o0 = Squeeze (p, minus2)
        e = Sub (vi, o0)
        ec = Unsqueeze (e, minus1)
        u = Mul (ec, kr)
        f0 = Mul (si, b)
        so = Add (f0, u)
        qt = Transpose <perm = {swapped}> (so)
        q = MatMul (kr, qt)
        o = Squeeze (q, minus2)
      }}> (s0, k, v)
    }}"""
    word = {"float": "float32", "double": "float64"}[dtype]
    shape = (heads,) if heads else ()

    def numbers(*extents: int) -> np.ndarray:
        return (rng.standard_normal(extents) / 5).astype(word)

    for trips in (0, 1, 30):
        feed = {"k": numbers(trips, *shape, 20), "v": numbers(trips, *shape, 40)}
        check(text, feed | {"s0": numbers(*shape, 40, 20), "b": numbers(40, 1)})
