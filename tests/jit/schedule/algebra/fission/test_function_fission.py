"""Loop fission: long functions that no later iteration waits for have a loop of their own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import check
from treadle.jit.kernel.ir import Loop
from treadle.jit.kernel.printer import show_kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.algebra.fission.function_fission import with_split_loops

ENVELOPE = """kernel
  %x: float32[n0] = input 0
  %e0: float32[] = input 1
  %k: float32[] = input 2
  %1 = loop length n0 extent n0 carries %e = %e0
    %e: float32[] = carried 0
    %v: float32[] = scan slice along 0 of %x
    %a: float32[] = abs %v
    %up: bool[] = greater %a, %e
    %s: float32[] = where %up, %a, %k
    %next: float32[] = mul %e, %s
    %g: float32[] = exp %next
    %y: float32[] = mul %g, %v
    yield %next
    stack %y along 0
  %last: float32[] = result 0 of %1
  %all: float32[n0] = result 1 of %1
  return %last, %all"""


def _loops(text: str) -> list[Loop]:
    made = with_split_loops(kernel_of(text))
    return [node.op for node in all_nodes(made.main) if isinstance(node.op, Loop)]


def test_a_function_of_a_carried_number_follows_it() -> None:
    first, second = _loops(ENVELOPE)
    assert [len(loop.states) for loop in (first, second)] == [1, 0]
    shown = show_kernel(with_split_loops(kernel_of(ENVELOPE)))
    assert "exp" in shown.rpartition(" = loop ")[2]
    assert "abs" not in shown.rpartition(" = loop ")[2]


def test_a_function_of_an_item_comes_before() -> None:
    text = ENVELOPE.replace("= abs %v", "= tanh %v").replace("= exp %next", "= neg %next")
    first, second = _loops(text)
    assert [len(loop.states) for loop in (first, second)] == [0, 1]


def test_a_function_that_needs_nothing_carried_leaves_too() -> None:
    first, second = _loops(ENVELOPE.replace("= exp %next", "= exp %v"))
    assert [len(loop.states) for loop in (first, second)] == [0, 1]
    assert [len(loop.stacks) for loop in (first, second)] == [1, 0]


def test_a_sum_of_functions_is_a_third_loop() -> None:
    text = ENVELOPE.replace("carries %e = %e0", "carries %e = %e0, %t = %k")
    text = text.replace("    %v:", "    %t: float32[] = carried 1\n    %v:")
    text = text.replace("    yield %next", "    %sum: float32[] = add %t, %y\n"
                        "    %b: bool[] = greater %sum, %k\n"
                        "    %u: float32[] = where %b, %sum, %k\n    yield %next, %u")  # fmt: skip
    text = text.replace("result 1 of", "result 2 of")
    assert [len(loop.states) for loop in _loops(text)] == [1, 0, 1]


@pytest.mark.parametrize(("dtype", "states"), [("float32", [1]), ("float64", [0, 1])])
def test_a_sum_of_functions_in_double_runs_behind_them(dtype: str, states: list[int]) -> None:
    """The parallel prefix, which adds floats in another order, has vectors of functions itself."""
    text = ENVELOPE.replace("= mul %e, %s", "= add %e, %f").replace("= exp %next", "= neg %v")
    text = text.replace("    %next:", "    %f: float32[] = tanh %v\n    %next:")
    for name in ("%a: ", "%up: ", "%s: "):
        start = text.index(f"    {name}")
        text = text[:start] + text[text.index("\n", start) + 1 :]
    assert [len(loop.states) for loop in _loops(text.replace("float32", dtype))] == states


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= exp %next", "= neg %next"),  # nothing long
        ("= abs %v", "= tanh %e"),  # the next iteration waits for it
        ("n0", "32"),  # few iterations
        ("where %up, %a, %k", "mul %a, %k"),  # a linear recurrence runs in vectors
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    text = ENVELOPE.replace(old, new)
    if "tanh %e" in new:
        text = text.replace("= exp %next", "= neg %next")
    if "mul %a" in new:
        text = text.replace("    %up: bool[] = greater %a, %e\n", "")
    kernel = kernel_of(text)
    assert with_split_loops(kernel) is kernel


def test_rows_stay() -> None:
    text = ENVELOPE.replace("float32[n0]", "float32[n0,5]").replace("float32[]", "float32[5]")
    kernel = kernel_of(text.replace("bool[]", "bool[5]"))
    assert with_split_loops(kernel) is kernel


@pytest.mark.parametrize("count", [0, 1, 63, 64, 500])
@pytest.mark.parametrize("word", ["float", "double"])
def test_numbers(count: int, word: str, rng: np.random.Generator) -> None:
    dtype = {"float": "float32", "double": "float64"}[word]
    text = f"""g ({word}[T] x, {word} e0, {word} k) =>
      ({word} e, {word} t, {word}[T] all, {word}[T] raw) {{
      e, t, all, raw = Scan <num_scan_inputs = 1, body = b ({word} ei, {word} ti, {word} v) =>
        ({word} eo, {word} to, {word} y, {word} w) {{
        a = Abs (v)
        up = Greater (a, ei)
        d = Sub (a, ei)
        h = Mul (d, k)
        f = Where (up, d, h)
        eo = Add (ei, f)
        g = Exp (eo)
        w0 = Tanh (v)
        w = Add (w0, ei)
        y = Mul (g, v)
        l = Log (g)
        m = Mul (l, w0)
        to = Sub (ti, m)
      }}> (e0, e0, x)
    }}"""
    x = rng.standard_normal(count).astype(dtype)
    check(text, {"x": x, "e0": np.array(0.5, dtype), "k": np.array(0.1, dtype)})


@pytest.mark.parametrize(("channels", "loops"), [(2, 3), (4, 3), (5, 1)])
def test_few_numbers_of_an_iteration(channels: int, loops: int, rng: np.random.Generator) -> None:
    """A compressor of several channels, whose gain follows the loudest of them."""
    text = ENVELOPE.replace("%x: float32[n0]", f"%x: float32[{channels},n0]").replace(
        "%v: float32[] = scan slice along 0 of %x\n    %a: float32[] = abs %v",
        f"%v: float32[{channels}] = scan slice along 1 of %x\n"
        f"    %abs: float32[{channels}] = abs %v\n"
        "    %most: float32[] = reduce max over (0) of %abs\n    %a: float32[] = log %most",
    )
    text = text.replace("%y: float32[] = mul", f"%y: float32[{channels}] = mul")
    text = text.replace("%all: float32[n0]", f"%all: float32[n0,{channels}]")
    assert len(_loops(text)) == loops
    x, e, k = rng.uniform(0.1, 1, (channels, 70)).astype(np.float32), np.float32(1), np.float32(0.9)
    found = run_kernel(text, x, e, k)
    rows = []
    for v in x.T:
        a = np.log(abs(v).max())
        e = e * (a if a > e else k)
        rows.append(np.exp(e) * v)
    np.testing.assert_allclose(found[0], e, 1e-4)
    np.testing.assert_allclose(found[1], rows, 1e-4)
