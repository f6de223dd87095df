"""Ragged sequences, and optionals that may be empty, as component arrays."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treadle
from tests.jit.lowering import test_boxed_values as boxed
from tests.jit.native import HEAD, check, outcomes
from tests.seeded import floats, seeded
from treadle.errors import RunError
from treadle.jit import internal_errors
from treadle.jit.kernel.declined import Declined
from treadle.jit.runtime import specialize
from treadle.jit.runtime.invoke import CompiledKernel

TRIPS = (1, 2, 5, 40)


def native(text, *feeds, head=HEAD):
    """Run it as interp does, without a call in any loop."""
    check(text, *feeds, head=head)
    session = treadle.InferenceSession(head + text, engines=("jit", "interp"))
    for feed in feeds:
        session.run(None, dict(feed))
    for made in outcomes(session):
        assert isinstance(made, CompiledKernel)
        assert specialize._held(made.kernel.main) == 0


@pytest.mark.parametrize(
    "test",
    [
        boxed.test_a_list_of_growing_rows,
        boxed.test_a_list_that_begins_empty_and_gets_each_row_longer,
        boxed.test_lists_of_one_session_are_alike_or_not,
        boxed.test_an_optional_input_with_and_without_an_element,
        boxed.test_two_lists_change_places,
    ],
)
def test_programs_of_boxed_sequences_run_as_ragged_ones(test, monkeypatch, rng):
    monkeypatch.setattr(boxed, "check", native)
    test(*[rng][: len(signature(test).parameters)])


@pytest.mark.parametrize(
    "case", ["pieces of unlike lengths", "an optional that is empty at first", "an optional list"]
)
def test_programs_of_a_table_run_as_ragged_ones(case, monkeypatch, rng):
    monkeypatch.setattr(boxed, "check", native)
    boxed.test_boxed_values_in_a_loop(case, rng)


@pytest.mark.parametrize("lengths", [(2, 3, 1), (2, 2), (5,)])
def test_lists_within_inner_loops(lengths, rng):
    items = [floats(rng, length) for length in lengths]
    native(boxed.BEAM, *({"n": np.array(n), "p": items} for n in (1, 2, 9)))


def test_positions_of_any_kind(rng):
    text = """g (int64 n, seq(float[A,2]) p) => (seq(float[B,2]) r, float[T] y) {
      r, y = Loop (n, "", p) <body = f (int64 i, bool go, seq(float[A,2]) s)
          => (bool on, seq(float[B,2]) t, float y) {
        on = Identity (go)
        last = Constant <value = int64 {-1}> ()
        one = Constant <value = int64 {1}> ()
        count = SequenceLength (s)
        at = Mod (i, count)
        a = SequenceAt (s, at)
        b = SequenceAt (s, last)
        z = SequenceErase (s)
        d = SequenceInsert (z, a, one)
        e = SequenceInsert (d, b, last)
        first = Constant <value = int64 {0}> ()
        u = SequenceErase (e, first)
        t = SequenceInsert (u, a)
        y = ReduceSum <keepdims = 0> (b)
      }>
    }"""
    items = [floats(rng, k, 2) for k in (3, 0, 1, 2)]
    native(text, *({"n": np.array(n), "p": items} for n in (0, *TRIPS)))


@pytest.mark.parametrize("word", ["float", "double", "float16", "int8", "uint64", "bool"])
def test_elements_of_any_type_and_two_extents_that_change(word):
    text = f"""g (int64 n, {word}[3,4] x) => ({word}[A,B] a, int64[T] c, seq({word}[A,B]) r) {{
      s0 = SequenceEmpty <dtype = {{}}> ()
      r, c = Loop (n, "", s0) <body = f (int64 i, bool go, seq({word}[A,B]) s)
          => (bool on, seq({word}[A,B]) t, int64 c) {{
        on = Identity (go)
        three = Constant <value = int64 {{3}}> ()
        one = Constant <value = int64[1] {{1}}> ()
        zeros = Constant <value = int64[2] {{0, 0}}> ()
        m = Mod (i, three)
        rows = Add (m, one)
        cols = Add (rows, one)
        ends = Concat <axis = 0> (rows, cols)
        e = Slice (x, zeros, ends)
        t = SequenceInsert (s, e)
        c = SequenceLength (t)
      }}>
      last = Constant <value = int64 {{-1}}> ()
      a = SequenceAt (r, last)
    }}"""
    dtype = {"double": np.float64, "float": np.float32}.get(word) or np.dtype(word)
    number = {"float": 1, "double": 11, "float16": 10, "int8": 3, "uint64": 13, "bool": 9}[word]
    text = text.replace("{}", str(number))
    x = np.arange(12).reshape(3, 4).astype(dtype)
    native(text, *({"n": np.array(n), "x": x} for n in TRIPS))


def test_an_optional_that_comes_and_goes(rng):
    text = """g (int64 n, optional(float[A]) o, float[2] p) => (optional(float[B]) r, float[T] h) {
      r, h = Loop (n, "", o) <body = f (int64 i, bool go, optional(float[A]) o)
          => (bool on, optional(float[B]) o2, float h) {
        on = Identity (go)
        three = Constant <value = int64 {3}> ()
        m = Mod (i, three)
        is_odd = Cast <to = 9> (m)
        has = OptionalHasElement (o)
        x = If (has) <then_branch = a () => (u) { u = OptionalGetElement (o) },
                      else_branch = b () => (w) { w = Identity (p) }>
        y = Concat <axis = 0> (x, p)
        o2 = If (is_odd) <then_branch = c () => (v) { v = Optional (y) },
                          else_branch = d () => (e) { e = Optional <type = float[A]> () }>
        h = ReduceSum <keepdims = 0> (y)
      }>
    }"""
    feeds = [{"n": np.array(n), "o": o, "p": floats(rng, 2)} for n in (0, *TRIPS)
             for o in (None, floats(rng, 3))]  # fmt: skip
    check(text, *feeds)
    native(text, *feeds[::2])


@pytest.mark.parametrize("word", ["float", "float[A]"])
def test_an_empty_list_as_an_input_or_output(word, rng):
    text = f"""g (int64 n, optional(seq({word})) o, {word} x) => (int64[T] c, seq({word}) r) {{
      none = SequenceEmpty ()
      r, c = Loop (n, "", none) <body = f (int64 i, bool go, seq({word}) s)
          => (bool on, seq({word}) t, int64 c) {{
        on = Identity (go)
        has = OptionalHasElement (o)
        l = If (has) <then_branch = a () => (u) {{ u = OptionalGetElement (o) }},
                      else_branch = b () => (w) {{ w = SequenceConstruct (x, x) }}>
        c = SequenceLength (l)
        t = SequenceInsert (s, x)
      }}>
    }}"""
    x = floats(rng) if word == "float" else floats(rng, 2)
    feeds = [{"n": np.array(n), "o": o, "x": x} for n in (1, 3) for o in (None, [], [x, x])]
    native(text, *feeds[::3])
    check(text, *feeds)


GIVEN = {
    "a list or an optional one": ("u = Optional (x)", "w = Identity (x)"),
    "an optional list or a list": ("u = Identity (x)", "w = Optional (x)"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_branches_with_unlike_components_are_boxed(name, rng):
    one, other = GIVEN[name]
    text = f"""g (int64 n, bool c, seq(float[A]) x) => (int64[T] r) {{
      r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 has) {{
        on = Identity (go)
        e = If (c) <then_branch = a () => (u) {{ {one} }}, else_branch = b () => (w) {{ {other} }}>
        h = OptionalHasElement (e)
        has = Cast <to = 7> (h)
      }}>
    }}"""
    items = [floats(rng, 2), floats(rng, 3)]
    check(text, *({"n": np.array(3), "c": np.array(c), "x": items} for c in (True, False)))


def test_a_failed_scalarization_boxes_the_sequence(monkeypatch, rng):
    def fault(block, extents):
        raise ValueError("a fault")

    def declining(block, extents):
        raise Declined("a reason")

    monkeypatch.delenv("TREADLE_DEBUG")
    monkeypatch.setattr(internal_errors, "_warn", lambda *_: None)
    for instead in (fault, declining):
        monkeypatch.setattr(specialize, "scalarize_sequences", instead)
        check(boxed.GROWING, {"n": np.array(5), "p": floats(rng, 2)})


def test_split_sizes_of_rank_two_are_an_error(rng):
    text = """g (int64 n, float[A] x, int64[S,U] sizes) => (int64[T] y) {
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, int64 c) {
        on = Identity (go)
        parts = SplitToSequence <axis = 0> (x, sizes)
        c = SequenceLength (parts)
      }>
    }"""
    sizes = ([[1, 2]], [[1], [2]], [[3]])
    check(
        text, *({"n": np.array(2), "x": floats(rng, 3), "sizes": np.array(each)} for each in sizes)
    )


ONE_LENGTH = """g (int64 n, float[A] x, int64 size) => (int64[T] y) {
  l, y = Loop (n, "", x) <body = f (int64 i, bool go, float[A] a)
      => (bool on, float[A] b, int64 c) {
    on = Identity (go)
    parts = SplitToSequence <axis = 0> (a, size)
    c = SequenceLength (parts)
    b = ConcatFromSequence <axis = 0> (parts)
  }>
}"""


def test_a_split_length_of_any_size(rng):
    most = np.iinfo(np.int64).max
    feeds = [{"n": np.array(2), "x": floats(rng, 3), "size": np.array(size)} for size in (2, most)]
    native(ONE_LENGTH, *feeds)


@pytest.mark.parametrize(
    "line",
    [
        "t = SequenceErase (s, zero)",
        "t = SequenceErase (s)",
        "u = SequenceConstruct (x) e = SequenceAt (u, two) t = SequenceInsert (s, e)",
        "t = SequenceInsert (s, x, two)",
    ],
)
def test_a_position_that_is_known_to_be_out_of_range(line, rng):
    text = f"""g (int64 n, bool c, seq(float) p, float x) => (seq(float) r) {{
      zero = Constant <value = int64 {{0}}> ()
      two = Constant <value = int64 {{2}}> ()
      none = SequenceEmpty ()
      r = Loop (n, "", none) <body = f (int64 i, bool go, seq(float) q)
          => (bool on, seq(float) r) {{
        on = Identity (go)
        s = SequenceEmpty ()
        d = If (c) <then_branch = a () => (t) {{ {line} }}, else_branch = b () => (w) {{
          w = Identity (p) }}>
        r = Identity (d)
      }}>
    }}"""
    feed = {"n": np.array(2), "p": [floats(rng), floats(rng)], "x": floats(rng)}
    check(text, {**feed, "c": np.array(False)})
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match=r"iteration 0: Sequence"):
        session.run(None, {**feed, "c": np.array(True)})


STATES = {
    "an optional that was empty": ("optional(float[2])", None, "w = Optional (e)"),
    "elements that change places": ("seq(float[A])", [1, 2], """
      zero = Constant <value = int64 {0}> ()
      first = SequenceAt (z, zero)
      others = SequenceErase (z, zero)
      w = SequenceInsert (others, first)"""),
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_a_state_of_a_scan_that_changes_its_shape_is_the_interpreters_error(name, rng):
    word, given, lines = STATES[name]
    text = f"""g (float[T,2] y, {word} x) => (last, r) {{
      last, r = Scan <num_scan_inputs = 1, body = f ({word} z, float[2] e) => (w, r) {{
        {lines}
        r = Identity (e)
      }}> (x, y)
    }}"""
    x = None if given is None else [floats(rng, length) for length in given]
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    interp = treadle.InferenceSession(HEAD + text, engines=("interp",))
    for each in (session, interp):
        with pytest.raises(RunError, match=r"scan_0, iteration 0: .* keeps its shape"):
            each.run(None, {"x": x, "y": floats(rng, 3, 2)})


def test_an_empty_optional_is_the_interpreters_error(rng):
    text = """g (int64 n, float[2] p) => (float[T,2] h) {
      o = Optional <type = float[2]> ()
      l, h = Loop (n, "", o) <body = f (int64 i, bool go, optional(float[2]) o)
          => (bool on, optional(float[2]) o2, float[2] h) {
        on = Identity (go)
        h = OptionalGetElement (o)
        o2 = Optional (p)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    with pytest.raises(RunError, match=r"loop_\d\.body.*iteration 0.*OptionalGetElement"):
        session.run(None, {"n": np.array(2), "p": floats(rng, 2)})


LINES = {
    "insert": "t{1} = SequenceInsert (t{0}, x{0})",
    "front": "t{1} = SequenceInsert (t{0}, x{0}, zero)",
    "behind the first": "t{1} = SequenceInsert (t{0}, x{0}, one)",
    "erase": "u{0} = SequenceInsert (t{0}, x{0}) t{1} = SequenceErase (u{0}, at{0})",
    "erase the last": "u{0} = SequenceInsert (t{0}, x{0}, zero) t{1} = SequenceErase (u{0})",
    "again": "t{1} = SequenceConstruct (x{0}, p, x{0})",
    "join": "j{0} = ConcatFromSequence <axis = 0> (t{0}) t{1} = SequenceInsert (t{0}, j{0}, one)",
    "split": "j{0} = ConcatFromSequence <axis = 0> (t{0})"
             " t{1} = SplitToSequence <axis = 0> (j{0}, three)",
    "or": "c{0} = Cast <to = 9> (at{0}) t{1} = If (c{0}) <then_branch = a{0} () => (v{0})"
          " {{ v{0} = SequenceInsert (t{0}, p, zero) }}, else_branch = b{0} () => (w{0})"
          " {{ w{0} = SequenceErase (t{0}, zero) }}>",
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(LINES)), min_size=1, max_size=5),
       st.lists(st.integers(0, 4), min_size=2, max_size=4), st.integers(0, 6))  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_random_sequence_programs(steps, lengths, n):
    rng = seeded(f"{steps} {lengths} {n}")
    lines = "\n".join(
        f"n{k} = SequenceLength (t{k}) at{k} = Mod (i, n{k}) x{k} = SequenceAt (t{k}, at{k}) "
        + LINES[step].format(k, k + 1)
        for k, step in enumerate(steps)
    )
    text = f"""g (int64 n, seq(float[A]) q, float[3] p) => (seq(float[B]) r, float[T] y) {{
      r, y = Loop (n, "", q) <body = f (int64 i, bool go, seq(float[A]) t0)
          => (bool on, seq(float[B]) out, float y) {{
        on = Identity (go)
        zero = Constant <value = int64 {{0}}> ()
        one = Constant <value = int64 {{1}}> ()
        three = Constant <value = int64 {{3}}> ()
        {lines}
        some = Constant <value = int64[1] {{40}}> ()
        from = Constant <value = int64[1] {{0}}> ()
        whole = ConcatFromSequence <axis = 0> (t{len(steps)})
        few = Slice (whole, from, some)
        y = ReduceSum <keepdims = 0> (few)
        begin = SequenceConstruct (p, few)
        out = SequenceInsert (begin, few, one)
      }}>
    }}"""
    items = [floats(rng, length) for length in lengths]
    feed = {"n": np.array(n), "q": items, "p": floats(rng, 3)}
    if _fails(text, feed, ("interp",)):  # an empty sequence is joined
        assert _fails(text, feed, ("jit", "interp"))
    else:
        native(text, feed)


def _fails(text, feed, engines):
    try:
        treadle.InferenceSession(HEAD + text, engines=engines).run(None, dict(feed))
    except RunError:
        return True
    return False


def test_a_position_in_an_always_empty_sequence(rng):
    text = """g (int64 n, seq(float[A]) q, seq(float[B]) r, float[2] p) => (float[T] y) {
      y = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float y) {
        on = Identity (go)
        one = Constant <value = int64 {1}> ()
        new = SequenceInsert (q, p, one)
        x = SequenceAt (new, one)
        z = SequenceAt (r, i)
        xz = Concat <axis = 0> (x, z)
        y = ReduceSum <keepdims = 0> (xz)
      }>
    }"""
    session = treadle.InferenceSession(HEAD + text, engines=("jit", "interp"))
    feed = {"q": [], "r": [floats(rng, 1), floats(rng, 2)], "p": floats(rng, 2)}
    (y,) = session.run(None, {**feed, "n": np.array(0)})
    assert y.shape == (0,)
    with pytest.raises(RunError, match=r"loop_0\.body.*iteration 0.*position 1"):
        session.run(None, {**feed, "n": np.array(1)})
