"""Carried arrays that cannot be updated in place have two buffers, which are swapped."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.native import HEAD, check, outcomes
from treadle import InferenceSession
from treadle.jit.threads import thread_pool

ROWS, COLUMNS = 33, 47
WORDS = {"float": np.float32, "double": np.float64, "float16": np.float16, "int8": np.int8,
         "int64": np.int64, "bool": np.bool_}  # fmt: skip
BODIES = {
    "a stencil": """
        left = Slice (x, zero, last, ax1)
        right = Slice (x, one, end, ax1)
        both = Add (left, right)
        half = Mul (both, k)
        y1 = Identity (y)
        x1 = Concat <axis = 1> (half, side)""",
    "moved on by a row": """
        above = Slice (x, zero, last, ax0)
        y1 = Identity (y)
        x1 = Concat <axis = 0> (top, above)""",
    "a part turned around": """
        back = Slice (x, minus, first, ax0, minus)
        above = Slice (back, zero, last, ax0)
        m = Mul (above, k)
        y1 = Identity (y)
        x1 = Concat <axis = 0> (top, m)""",
    "a sum of what is finished": """
        back = Slice (x, minus, first, ax0, minus)
        t = Mul (back, k)
        m = ReduceMax <keepdims = 1> (t, ax1)
        u = Sub (t, m)
        y1 = Identity (y)
        x1 = Add (x, u)""",
    "turned around": """
        back = Slice (x, minus, first, ax0, minus)
        y1 = Add (y, x)
        x1 = Mul (back, k)""",
    "the one before last": """
        back = Slice (x, minus, first, ax0, minus)
        some = Mul (y, k)
        y1 = Identity (x)
        x1 = Sub (back, some)""",
    "both turned around": """
        back = Slice (x, minus, first, ax0, minus)
        front = Slice (y, minus, first, ax1, minus)
        y1 = Add (back, front)
        x1 = Sub (back, front)""",
    "exchanged": """
        back = Slice (x, minus, first, ax0, minus)
        front = Slice (y, minus, first, ax1, minus)
        y1 = Mul (back, k)
        x1 = Mul (front, k)""",
    "read again": """
        back = Slice (x, minus, first, ax0, minus)
        x1 = Mul (back, k)
        m = ReduceMax <keepdims = 1> (x1)
        n = ReduceMin <keepdims = 1> (x)
        o = Add (m, n)
        y1 = Sub (y, o)""",
    "one next value for both": """
        back = Slice (x, minus, first, ax0, minus)
        x1 = Mul (back, k)
        y1 = Identity (x1)""",
    "inside": """
        x1, y1 = Loop (three, , x, y) <body = g (int64 j, bool gi, float[33,47] u, float[33,47] v)
          => (bool gj, float[33,47] u1, float[33,47] v1) {
          gj = Identity (gi)
          back = Slice (u, minus, first, ax0, minus)
          v1 = Identity (v)
          u1 = Mul (back, k)
        }>""",
    "on one side": """
        is_odd = Equal (i, one0)
        y1 = Identity (y)
        x1 = If (is_odd) <then_branch = t () => (float[33,47] u) {
          u = Loop (three, , x) <body = g (int64 j, bool gi, float[33,47] w) => (bool gj,
            float[33,47] w1) {
            gj = Identity (gi)
            back = Slice (w, minus, first, ax0, minus)
            w1 = Mul (back, k)
          }>
        }, else_branch = e () => (float[33,47] o) { o = Neg (x) }>""",
}


@pytest.fixture(params=[0, 1], ids=["one thread", "all threads"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, "least", 1)
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, "patience", 0)
        monkeypatch.setattr(thread_pool.POOL_SETTINGS, "waits", True)


def text(body: str, word: str = "float", condition: str = "") -> str:
    s = f"{word}[{ROWS},{COLUMNS}]"
    goes = condition or "on = Identity (go)"
    ones = {"zero": 0, "one": 1, "last": -1, "end": 1000, "ax0": 0, "ax1": 1, "minus": -1,
            "first": -1000}  # fmt: skip
    constants = "\n".join(
        f"{name} = Constant <value = int64[1] {{{value}}}> ()" for name, value in ones.items()
    )
    return f"""g (int64 n, {s} p, {s} q, {word} k, {word}[1,{COLUMNS}] top, {word}[{ROWS},1] side)
      => ({s} a, {s} b, {word}[N,{ROWS},{COLUMNS}] all) {{
      {constants}
      one0 = Constant <value = int64 {{1}}> ()
      three = Constant <value = int64 {{3}}> ()
      four = Constant <value = int64 {{4}}> ()
      yes = Constant <value = bool {{1}}> ()
      a, b, all = Loop (n, yes, p, q) <body = f (int64 i, bool go, {s} x, {s} y) =>
        (bool on, {s} x1, {s} y1, {s} element) {{
        {goes}
        {body}
        element = Identity (x1)
      }}>
    }}"""


def feed(rng: np.random.Generator, trips: int, dtype: type = np.float32) -> dict[str, np.ndarray]:

    def numbers(*shape: int) -> np.ndarray:
        found = rng.uniform(-1, 1, shape)
        return (found * 100 if np.dtype(dtype).kind == "i" else found > 0 if dtype is np.bool_
                else found).astype(dtype)  # fmt: skip

    return {"n": np.array(trips), "p": numbers(ROWS, COLUMNS), "q": numbers(ROWS, COLUMNS),
            "k": numbers()[()], "top": numbers(1, COLUMNS), "side": numbers(ROWS, 1)}  # fmt: skip


IN_PLACE = {"a sum of what is finished", "moved on by a row", "one next value for both"}
"""Bodies whose next value is written where the last one was, or is no value of its own."""


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("name", BODIES)
def test_carried_arrays_are_double_buffered(name: str, rng: np.random.Generator) -> None:
    check(text(BODIES[name]), *(feed(rng, trips) for trips in (0, 1, 2, 3, 8)))
    has_two_buffers = counts(text(BODIES[name]), feed(rng, 2))["taking turns"] > 0
    assert has_two_buffers is (name not in IN_PLACE)


@pytest.mark.parametrize("word", ["double", "float16", "int8", "int64", "bool"])
def test_double_buffers_of_every_element_width(word: str, rng: np.random.Generator) -> None:
    function = "And" if word == "bool" else "Mul"
    rows = 120 if word in ("int8", "bool") else ROWS
    body = BODIES["turned around"].replace("Mul", function).replace("y1 = Add (y, x)",
                                                                  "y1 = Identity (y)")  # fmt: skip
    known = text(body, word).replace(f"[{ROWS},", f"[{rows},").replace(f"N,{ROWS}", f"N,{rows}")
    given = feed(rng, 3, WORDS[word])
    given |= {name: np.resize(given[name], (rows, COLUMNS)) for name in "pq"}
    given["side"] = np.resize(given["side"], (rows, 1))
    check(known, given, {**given, "n": np.array(4)})


def counts(known: str, given: dict[str, np.ndarray]) -> dict[str, int]:
    session = InferenceSession(HEAD + known, engines=("jit", "interp"))
    session.run(None, given)
    return dict(outcomes(session)[0].code.counts)


def test_double_buffers_of_a_loop_with_a_condition(rng: np.random.Generator) -> None:
    condition = "on = Less (i, four)"
    check(text(BODIES["both turned around"], condition=condition), feed(rng, 3), feed(rng, 10))


def test_elementwise_updates_need_no_second_buffer(rng: np.random.Generator) -> None:
    body = """
        y1 = Identity (y)
        m = ReduceMax <keepdims = 1> (x)
        x1 = Sub (x, m)"""
    found = counts(text(body), feed(rng, 2))
    assert found["taking turns"] == 0
    assert found["in place"] > 0


def test_small_arrays_are_copied(rng: np.random.Generator) -> None:
    known = text(BODIES["turned around"]).replace(f"[{ROWS},", "[4,").replace(f"N,{ROWS}", "N,4")
    given = feed(rng, 3) | {name: feed(rng, 3)[name][:4] for name in ("p", "q", "side")}
    check(known, given)
    assert counts(known, given)["taking turns"] == 0


@pytest.mark.parametrize("offset", [0, 16, 64, 2032, 2048, 2112, 4080])
@pytest.mark.parametrize("trips", [2, 3])
def test_results_anywhere_in_a_page(offset: int, trips: int, rng: np.random.Generator) -> None:
    """The second buffer lies half a page from the first, and neither writes beyond its end."""
    known = HEAD + text(BODIES["both turned around"])
    given = feed(rng, trips)
    wanted = InferenceSession(known, engines=("interp",)).run(None, given)
    session = InferenceSession(known, engines=("jit", "interp"))
    bound, memory = session.io_binding(), np.full((2, 4 * 4096), 7, np.uint8)
    for name, value in given.items():
        bound.bind_cpu_input(name, np.asarray(value))
    firsts = [-row.ctypes.data % 4096 + offset for row in memory]
    for name, row, first in zip("ab", memory, firsts, strict=True):
        where = row.ctypes.data + first
        bound.bind_output(name, "cpu", 0, np.float32, (ROWS, COLUMNS), where)
    bound.bind_output("all")
    session.run_with_iobinding(bound)
    size = 4 * ROWS * COLUMNS
    for row, first, result in zip(memory, firsts, wanted, strict=False):
        np.testing.assert_array_equal(row[first : first + size].view(np.float32), result.ravel())
        assert (row[:first] == 7).all()
        assert (row[first + size :] == 7).all()
