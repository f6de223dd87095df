"""Loop fission: products that no later iteration waits for have a loop of their own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of
from tests.jit.native import check
from treadle.jit.kernel.ir import Loop, MatMul
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.fission import product_fission
from treadle.jit.schedule.algebra.fission.product_fission import with_products_apart
from treadle.jit.schedule.distribution import nodes_to_item

LAYER = """kernel
  %x: float32[20,1,32] = input 0
  %s0: float32[1,32] = input 1
  %u: float32[32,32] = input 2
  %w: float32[32,40] = input 3
  %1 = loop length 20 extent 20 carries %s = %s0
    %s: float32[1,32] = carried 0
    %v: float32[1,32] = scan slice along 0 of %x
    %a: float32[1,32] = tanh %v
    %b: float32[1,32] = matmul %a, %u
    %c: float32[1,32] = add %b, %s
    %next: float32[1,32] = tanh %c
    %y: float32[1,40] = matmul %next, %w
    %z: float32[1,40] = exp %y
    yield %next
    stack %z along 0
  %last: float32[1,32] = result 0 of %1
  %all: float32[20,1,40] = result 1 of %1
  return %last, %all"""


@pytest.fixture(autouse=True)
def _few_are_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_fission, "_MIN_MULTIPLICATIONS", 1)


def _loops(text: str) -> list[Loop]:
    made = with_products_apart(kernel_of(text))
    return [node.op for node in all_nodes(made.main) if isinstance(node.op, Loop)]


def _products(loop: Loop) -> list[bool]:
    """For each product of a loop, whether its left operand is an item."""
    found = [node for node in loop.body.nodes if isinstance(node.op, MatMul)]
    return [bool(nodes_to_item(node.operands[0], loop)) for node in found]


def test_functions_of_items_come_before_and_results_behind() -> None:
    loops = _loops(LAYER)
    assert [len(loop.states) for loop in loops] == [0, 1, 0]
    assert [_products(loop) for loop in loops] == [[], [True], [True]]


def test_few_multiplications_do_not_pay_for_their_code(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(LAYER)
    monkeypatch.setattr(product_fission, "_MIN_MULTIPLICATIONS", 20 * 32 * 40 + 1)
    assert with_products_apart(kernel) is kernel
    monkeypatch.setattr(product_fission, "_MIN_MULTIPLICATIONS", 20 * 32 * 40)
    assert [len(loop.states) for loop in _loops(LAYER)] == [1, 0]


def test_an_item_of_the_iteration_before_is_no_recurrence() -> None:
    text = LAYER.replace("carries %s = %s0", "carries %s = %s0, %d = %s0")
    text = text.replace("    %v:", "    %d: float32[1,32] = carried 1\n    %v:")
    text = text.replace("= tanh %v", "= sub %v, %d").replace("yield %next", "yield %next, %v")
    text = text.replace("result 1 of", "result 2 of")
    loops = _loops(text)
    assert [len(loop.states) for loop in loops] == [1, 1, 0]
    assert [_products(loop) for loop in loops] == [[], [True], [True]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%next, %w", "%v, %w"),  # of an item
        ("20", "15"),  # few iterations
        ("[1,", "[5,"),  # rows enough
        ("32", "16"),  # a small matrix
        ("%y: float32[1,40] = matmul %next, %w", "%y: float32[1,40] = matmul %next, %k"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = LAYER.replace("= tanh %v", "= neg %s")  # the next iteration waits for the first one
    if new.endswith("%k"):  # a matrix of the body
        old, new = f"    {old}", f"    %k: float32[32,40] = add %w, %i\n    {new}"
        text = text.replace("    %v:", "    %i: float32[1,1] = view (0, 0) of %s\n    %v:")
    if new == "[5,":
        text = text.replace("[20,1,", "[20,5,")
    kernel = kernel_of(text.replace(old, new))
    assert with_products_apart(kernel) is kernel


@pytest.mark.parametrize(("rows", "states"), [(1, [2, 0]), (64, [2])])
def test_what_must_be_stacked_may_be_too_much(rows: int, states: list[int]) -> None:
    """2,048 numbers of a state take longer to stack than a matrix of 1,024 takes to read."""
    text = LAYER.replace("40", "32").replace("= tanh %v", "= neg %s")
    text = text.replace("%next: float32[1,32] = tanh %c", f"""%e: float32[1,32] = tanh %c
    %t: float32[{rows},32] = carried 1
    %up: float32[{rows},32] = add %t, %e
    %next: float32[1,32] = reduce add over (0) of %up""")  # fmt: skip
    text = text.replace("%z: float32[1,32] = exp %y", f"""%q: float32[{rows},32] = mul %y, %up
    %z: float32[1,32] = reduce add over (0) of %q""")  # fmt: skip
    text = text.replace("%s = %s0", "%s = %s0, %t = %t0").replace("yield %next", "yield %next, %up")
    text = text.replace("  %u:", f"  %t0: float32[{rows},32] = input 4\n  %u:")
    text = text.replace("result 1 of", "result 2 of")
    assert [len(loop.states) for loop in _loops(text)] == states


@pytest.mark.parametrize("count", [0, 1, 16, 17, 100])
@pytest.mark.parametrize("way", [0, 1])
def test_two_layers_and_what_follows(count: int, way: int, rng: np.random.Generator) -> None:
    names = "a0", "wa", "b0", "wb", "ub", "wo"
    states = ", ".join(f"float[{'1,33' if n[1] == '0' else '33,33'}] {n}" for n in names)
    text = f"""g (float[T,1,33] x, {states}) => (float[R,C] a, float[R,C] b, float[T,R,C] y) {{
      a, b, y = Scan <num_scan_inputs = 1, scan_input_directions = [{way}],
        scan_output_directions = [{way}], body = f (float[1,33] ai, float[1,33] bi, float[1,33] v)
        => (float[1,33] ao, float[1,33] bo, float[1,33] z) {{
        p0 = MatMul (ai, wa)
        p1 = Add (p0, v)
        ao = Tanh (p1)
        q0 = MatMul (ao, ub)
        q1 = MatMul (bi, wb)
        q2 = Add (q0, q1)
        bo = Sigmoid (q2)
        z0 = Add (bo, v)
        z1 = MatMul (z0, wo)
        z = Add (z1, ao)
      }}> (a0, b0, x)
    }}"""
    feed = {"x": rng.standard_normal((count, 1, 33)).astype("float32")}
    for name in names:
        shape = (1, 33) if name[1] == "0" else (33, 33)
        feed[name] = (rng.standard_normal(shape) / 6).astype("float32")
    check(text, feed)


def test_every_layer_is_apart_from_the_next() -> None:
    text = LAYER.replace("%y: float32[1,40] = matmul %next, %w", """%t: float32[1,32] = carried 1
    %r: float32[1,32] = matmul %next, %u
    %more: float32[1,32] = add %r, %t
    %y: float32[1,40] = matmul %more, %w""")  # fmt: skip
    text = text.replace("%s = %s0", "%s = %s0, %t = %s0").replace(
        "yield %next", "yield %next, %more"
    )
    text = text.replace("result 1 of", "result 2 of")
    loops = _loops(text)
    assert [len(loop.states) for loop in loops] == [0, 1, 1, 0]
    assert all(len(after.states) <= 1 for _, after in pairwise(loops))
    assert [_products(loop) for loop in loops] == [[], [True], [True], [True]]


def test_where_one_cut_does_not_pay_another_may() -> None:
    """A state of 2,048 numbers keeps its product in its loop, not the one of another state."""
    text = LAYER.replace("40", "32").replace("= tanh %v", "= neg %s")
    text = text.replace("    %next:", """    %t: float32[64,32] = carried 1
    %up: float32[64,32] = add %t, %v
    %p: float32[1,32] = reduce add over (0) of %up
    %g: float32[1,32] = matmul %p, %u
    %many: float32[64,32] = mul %g, %up
    %whole: float32[1,32] = reduce max over (0) of %many
    %next:""")  # fmt: skip
    text = text.replace("%z: float32[1,32] = exp %y", "%z: float32[1,32] = add %y, %whole")
    text = text.replace("%s = %s0", "%s = %s0, %t = %t0").replace("yield %next", "yield %next, %up")
    text = text.replace("  %u:", "  %t0: float32[64,32] = input 4\n  %u:")
    text = text.replace("result 1 of", "result 2 of")
    assert [_products(loop) for loop in _loops(text)] == [[False], [False, True]]


def test_a_product_of_an_item_is_computed_once() -> None:
    """What is carried and what follows it both read it."""
    text = LAYER.replace("= tanh %v", "= neg %v").replace("matmul %a, %u", "matmul %v, %u")
    text = text.replace("%z: float32[1,40] = exp %y", """%m: float32[1,1] = view (0, 0) of %b
    %z: float32[1,40] = add %y, %m""")  # fmt: skip
    assert [len(_products(loop)) for loop in _loops(text)] == [1, 1]
