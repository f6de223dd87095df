"""Concats that are not stored: the nests that read them are split."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.jit.kernel_text import kernel_of
from tests.jit.native import HEAD, check, outcomes
from tests.seeded import seeded
from treadle import InferenceSession
from treadle.jit.kernel.ir import Concat, Elementwise, Kernel
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.runtime.invoke import CompiledKernel
from treadle.jit.schedule.index_set_splitting import are_few
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.storage import Storage, assign_storage
from treadle.jit.threads import thread_pool
from treadle.jit.toolchain.llvm import host_target

ONES = {"zero": 0, "one": 1, "two": 2, "last": -1, "end": 1000, "ax0": 0, "ax1": 1}
BODIES = {
    "a border around": ("""
        inner = Slice (x, ones, lasts, both)
        m = Mul (inner, k)
        whole = Pad (m, ring)
        x1 = Add (x, whole)""", 2),
    "rows on top": ("""
        some = Slice (x, zero, last, ax0)
        m = Sin (some)
        whole = Concat <axis = 0> (top, m)
        x1 = Sub (whole, x)""", 1),
    "halves exchanged and negated": ("""
        a = Slice (x, zero, half, ax1)
        b = Slice (x, half, end, ax1)
        n = Neg (b)
        turned = Concat <axis = 1> (n, a)
        c = Cos (x)
        u = Mul (turned, k)
        v = Mul (x, c)
        x1 = Add (u, v)""", 1),
    "two of other cuts": ("""
        some = Slice (x, zero, last, ax0)
        first = Concat <axis = 0> (top, some)
        a = Slice (x, one, end, ax1)
        second = Concat <axis = 1> (a, side)
        u = Sub (x, first)
        v = Sub (x, second)
        x1 = Mul (u, v)""", 2),
    "too many together": ("""
        inner = Slice (x, ones, lasts, both)
        first = Pad (inner, ring)
        m = Add (x, first)
        lo = Slice (x, zero, eight, ax0)
        hi = Slice (x, eight, end, ax0)
        second = Concat <axis = 0> (hi, lo)
        n = Mul (m, second)
        s = ReduceMax <keepdims = 1> (n, ax1)
        x1 = Sub (n, s)""", 3),
    "too many of one": ("""
        a = Slice (x, ones, lasts, both)
        p1 = Pad (a, ring)
        b = Slice (x, zero, eight, ax0)
        c = Slice (x, eight, end, ax0)
        p2 = Concat <axis = 0> (b, c)
        d = Greater (x, k)
        x1 = Where (d, p1, p2)""", 1),
    "much beside it": ("""
        inner = Slice (x, ones, lasts, both)
        m = Mul (inner, k)
        whole = Pad (m, ring)
        a = Sin (x)
        b = Cos (a)
        c = Tanh (b)
        d = Sin (c)
        x1 = Add (d, whole)""", 2),
    "read twice": ("""
        some = Slice (x, zero, last, ax0)
        first = Concat <axis = 0> (top, some)
        u = Sub (x, first)
        v = Sub (first, x)
        x1 = Mul (u, v)""", 1),
    "read in two nests": ("""
        some = Slice (x, zero, last, ax0)
        first = Concat <axis = 0> (top, some)
        u = Sub (x, first)
        s = ReduceMax <keepdims = 1> (u, ax1)
        v = Sub (first, x)
        x1 = Mul (s, v)""", 0),
    "read in two nests and kept": ("""
        some = Slice (x, zero, last, ax0)
        first = Concat <axis = 0> (top, some)
        u = Sub (x, first)
        s = ReduceMax <keepdims = 1> (u, ax1)
        v = Sub (first, u)
        x1 = Mul (s, v)""", 1),
    "two that two read": ("""
        above = Slice (x, zero, last, ax0)
        below = Slice (x, one, end, ax0)
        first = Concat <axis = 0> (top, above)
        second = Concat <axis = 0> (below, top)
        u = Sub (x, first)
        v = Sub (second, x)
        c = Greater (x, k)
        w = Where (c, u, v)
        s = Add (first, second)
        x1 = Mul (w, s)""", 2),
    "computed, and read twice": ("""
        some = Slice (x, zero, last, ax0)
        m = Sin (some)
        first = Concat <axis = 0> (top, m)
        u = Sub (x, first)
        v = Sub (first, x)
        x1 = Min (u, v)""", 0),
    "read by a function and a sum": ("""
        some = Slice (x, zero, last, ax0)
        first = Concat <axis = 0> (top, some)
        u = Sub (x, first)
        s = ReduceMax <keepdims = 1> (first, ax1)
        x1 = Add (u, s)""", 0),
    "narrow": ("""
        a = Slice (x, zero, two, ax1)
        b = Slice (x, two, eight, ax1)
        c = Slice (x, eight, end, ax1)
        t = Concat <axis = 1> (b, a, c)
        x1 = Add (t, k)""", 0),
    "reduced": ("""
        some = Slice (x, zero, last, ax0)
        first = Concat <axis = 0> (top, some)
        u = Sub (x, first)
        s = ReduceSum <keepdims = 1> (u, ax1)
        x1 = Add (x, s)""", 0),
    "a part with nothing in it": ("""
        none = Slice (x, zero, zero, ax0)
        first = Concat <axis = 0> (none, x, none)
        x1 = Add (first, k)""", 1),
    "a computed number of rows on top": ("""
        count = Unsqueeze (i, zero)
        filled = Expand (k, all)
        fresh = Slice (filled, zero, count, ax0)
        left = Sub (rows, count)
        some = Slice (x, zero, left, ax0)
        m = Mul (some, k)
        whole = Concat <axis = 0> (fresh, m)
        x1 = Sub (whole, x)""", 1),
    "turned by a computed number of columns": ("""
        count = Unsqueeze (i, zero)
        a = Slice (x, zero, count, ax1)
        b = Slice (x, count, end, ax1)
        n = Neg (b)
        turned = Concat <axis = 1> (n, a)
        x1 = Add (turned, k)""", 1),
    "two of computed ends that differ": ("""
        count = Unsqueeze (i, zero)
        a = Slice (x, zero, count, ax1)
        b = Slice (x, count, end, ax1)
        one_way = Concat <axis = 1> (b, a)
        more = Mul (count, two)
        c = Slice (x, zero, more, ax1)
        d = Slice (x, more, end, ax1)
        other_way = Concat <axis = 1> (d, c)
        x1 = Sub (one_way, other_way)""", 1),
    "computed ends in a Concat": ("""
        count = Unsqueeze (i, zero)
        some = Slice (x, zero, last, ax0)
        a = Slice (some, zero, count, ax0)
        b = Slice (some, count, end, ax0)
        turned = Concat <axis = 0> (b, a)
        whole = Concat <axis = 0> (top, turned)
        x1 = Sub (whole, x)""", 1),
    "sums in it": ("""
        s = ReduceMean <keepdims = 1> (x, ax0)
        some = Slice (x, one, end, ax0)
        first = Concat <axis = 0> (s, some)
        x1 = Sub (x, first)""", 1),
}  # fmt: skip


def text(body: str) -> str:
    constants = "\n".join(
        f"{name} = Constant <value = int64[1] {{{value}}}> ()" for name, value in ONES.items()
    )
    return f"""g (int64 n, float[24,40] p, float k, float[1,40] top, float[24,1] side)
      => (float[24,40] a) {{
      {constants}
      half = Constant <value = int64[1] {{20}}> ()
      rows = Constant <value = int64[1] {{24}}> ()
      all = Constant <value = int64[2] {{24, 40}}> ()
      eight = Constant <value = int64[1] {{8}}> ()
      ones = Constant <value = int64[2] {{1, 1}}> ()
      lasts = Constant <value = int64[2] {{-1, -1}}> ()
      both = Constant <value = int64[2] {{0, 1}}> ()
      ring = Constant <value = int64[4] {{1, 1, 1, 1}}> ()
      a = Loop (n, , p) <body = f (int64 i, bool go, float[24,40] x) =>
        (bool on, float[24,40] x1) {{
        on = Identity (go)
        {body}
      }}>
    }}"""


def feed(rng: np.random.Generator, trips: int) -> dict[str, np.ndarray]:
    def numbers(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    return {"n": np.array(trips), "p": numbers(24, 40), "k": np.float32(0.5),
            "top": numbers(1, 40), "side": numbers(24, 1)}  # fmt: skip


def compiled(known: str, given: dict[str, np.ndarray]) -> list[CompiledKernel]:
    session = InferenceSession(HEAD + known, engines=("jit", "interp"))
    session.run(None, given)
    found = outcomes(session)
    assert all(isinstance(made, CompiledKernel) for made in found)
    return found


def in_pieces(kernel: Kernel) -> int:
    """How many Concats are in no memory."""
    placed = assign_storage(kernel).storage_of
    joins = (node for node in all_nodes(kernel.main) if isinstance(node.op, Concat))
    return sum(placed[node] is Storage.INLINE for node in joins)


@pytest.mark.parametrize("least", [0, 1], ids=["one thread", "all threads"])
@pytest.mark.parametrize("name", BODIES)
def test_concats_are_read_piece_by_piece(
    name: str, least: int, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    if least:
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, "least", 1)
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, "patience", 0)
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, "waits", True)
    body, wanted = BODIES[name]
    check(text(body), *(feed(rng, trips) for trips in (0, 1, 2, 5)))
    (made,) = compiled(text(body), feed(rng, 2))
    assert in_pieces(made.kernel) == wanted


def test_nodes_equal_in_all_pieces_are_emitted_once(rng: np.random.Generator) -> None:
    body, _ = BODIES["much beside it"]
    (made,) = compiled(text(body), feed(rng, 2))
    functions = sum(isinstance(n.op, Elementwise) for n in all_nodes(made.kernel.main))
    assert dict(made.code.counts)["fused"] <= functions


@pytest.mark.parametrize(
    ("found", "wanted"),
    [(((0, 1, 255, 256), (0, 1, 255, 256)), True), (((0, 4),), False), (((0, 16),), True),
     (((0, 8), (0, 8, 40)), False), (((0, 8), (0, 5, 40)), True), (((0,), (0, 40)), False),
     (((0, 1, 2, 3, 4, 5), (0, 20, 40)), False), (((0, 20, 40), (0, 32)), True)],
)  # fmt: skip
def test_the_number_of_pieces_is_bounded(found: tuple[tuple[int, ...], ...], wanted: bool) -> None:
    assert are_few(found) is wanted


@pytest.mark.parametrize(("rows", "wanted"), [(1, True), (16, False)])
def test_long_code_of_many_single_elements_takes_longer_than_a_copy(rows: int, wanted: bool):
    assert are_few(((0, rows), (0, 1, 81)), 16.0) is wanted
    made = schedule_kernel(
        kernel_of(CODE_BEHIND_A_CONCAT.replace("ROWS", str(rows))), host_target()
    )
    (join,) = (node for node in made.storage.storage_of if isinstance(node.op, Concat))
    assert (made.storage.storage_of[join] is Storage.INLINE) is wanted


CODE_BEHIND_A_CONCAT = """kernel
  %x: float32[ROWS,80] = input 0
  %first: float32[ROWS,1] = input 1
  %all: float32[ROWS,81] = concat along 1 %first, %x
  %half: float32[] = constant 0.5
  %part: float32[ROWS,81] = mul %all, %half
  %up: float32[ROWS,81] = exp %part
  %down: float32[ROWS,81] = tanh %part
  %sum: float32[ROWS,81] = add %up, %down
  %y: float32[ROWS,81] = log %sum
  %z: float32[ROWS,81] = sigmoid %y
  return %z"""


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """Tensors cut along their axes, put together otherwise, and added to each other."""
    lines, known = [], ["x"]
    for number in range(draw(st.integers(1, 4))):
        axis = draw(st.sampled_from([0, 1]))
        extent = (24, 40)[axis]
        where = sorted(draw(st.sets(st.integers(1, extent - 1), min_size=1, max_size=2)))
        places = [0, *where, extent]
        parts = []
        for k, (start, end) in enumerate(pairwise(places)):
            name, own = f"p{number}_{k}", draw(st.sampled_from(known))
            at, to, ax = f"{name}a", f"{name}b", f"ax{axis}"
            lines.append(f"{at} = Constant <value = int64[1] {{{start}}}> ()")
            lines.append(f"{to} = Constant <value = int64[1] {{{end}}}> ()")
            lines.append(f"{name}s = Slice ({own}, {at}, {to}, {ax})")
            function = draw(st.sampled_from(["Neg", "Sin", "Identity", "Abs"]))
            lines.append(f"{name} = {function} ({name}s)")
            parts.append(name)
        parts = draw(st.permutations(parts))
        lines.append(f"j{number} = Concat <axis = {axis}> ({', '.join(parts)})")
        other, function = draw(st.sampled_from(known)), draw(st.sampled_from(["Add", "Sub", "Max"]))
        lines.append(f"y{number} = {function} (j{number}, {other})")
        known.append(f"y{number}")
        if draw(st.booleans()):
            known.append(f"j{number}")
    lines.append(f"z = Mul ({known[-1]}, k)")
    lines.append(f"x1 = Add (z, {draw(st.sampled_from(known))})")
    return "\n".join(lines)


@settings(max_examples=40, deadline=None)
@given(bodies(), st.integers(0, 5))
def test_any_concat_is_split(body: str, trips: int) -> None:
    rng = seeded((body, trips))
    check(text(body), feed(rng, trips))


def test_halves_of_a_column_at_a_computed_place(rng: np.random.Generator) -> None:
    """One of them is empty: index 0 is in the other."""
    known = """g (float[17,1] s, float[n,17,1] x, int64[n] at) => (float[17,1] last) {
      zero = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      end = Constant <value = int64[1] {9}> ()
      half = Constant <value = float {0.5}> ()
      last = Scan <num_scan_inputs = 2, body = b (float[17,1] c, float[17,1] xi, int64 k)
        => (float[17,1] next) {
        at1 = Unsqueeze (k, zero)
        right = Slice (xi, at1, end, one)
        left = Slice (xi, zero, at1, one)
        more = Add (right, half)
        both = Concat <axis = 1> (more, left)
        size = Abs (xi)
        next = Min (size, both)
      }> (s, x, at)
    }"""
    x = rng.uniform(-1, 1, (3, 17, 1)).astype(np.float32)
    for at in ([1, 1, 1], [0, 1, 0], [1, 0, 1]):
        check(known, {"s": x[0], "x": x, "at": np.array(at)})
