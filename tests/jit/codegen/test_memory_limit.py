"""max_bytes in native code counts the bytes that loops hold, as interp does."""

import numpy as np
import pytest

import treadle
from tests.jit.native import HEAD, natives, refused_nothing
from tests.values import assert_same
from treadle.errors import LimitExceeded

STATES = """g (int64 n, float[50] x) => (float[50] y, double z) {
  one = Constant <value = double {1}> ()
  y, z = Loop (n, , x, one) <body = f (int64 i, bool go, float[50] u, double a)
    => (bool on, float[50] v, double c) {
    on = Identity (go)
    v = Sin (u)
    c = Add (a, a)
  }>
}"""
STACK = """g (int64 n, float[50] x) => (float[50] y, float[n,50] ys, int64[n] is) {
  y, ys, is = Loop (n, , x) <body = f (int64 i, bool go, float[50] u)
    => (bool on, float[50] v, float[50] w, int64 k) {
    on = Identity (go)
    v = Sin (u)
    w = Add (u, v)
    k = Identity (i)
  }>
}"""
SCAN = """g (int64 n, float[50] x) => (float y, float[50,n] ys) {
  zero = Constant <value = float {0}> ()
  axes = Constant <value_ints = [0]> ()
  fifty = Constant <value_ints = [50]> ()
  rows = Unsqueeze (n, axes)
  wide = Concat <axis = 0> (rows, fifty)
  m = Expand (x, wide)
  y, ys = Scan <num_scan_inputs = 1, scan_output_directions = [1], scan_output_axes = [1],
    body = f (float s, float[50] r) => (float t, float[50] o) {
    one = Constant <value = float {1}> ()
    o = Mul (r, s)
    t = Add (s, one)
  }> (zero, m)
}"""
UNTIL = """g (int64 n, float[50] x) => (float[50] y, float[m,50] ys) {
  yes = Constant <value = bool {1}> ()
  y, ys = Loop (, yes, x) <body = f (int64 i, bool go, float[50] u)
    => (bool on, float[50] v, float[50] w) {
    one = Constant <value = int64 {1}> ()
    k = Add (i, one)
    on = Less (k, n)
    v = Sin (u)
    w = Add (u, v)
  }>
}"""
DOUBLING = """g (int64 n, float[50] x) => (float[m] y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float[m] u) => (bool on, float[k] v) {
    on = Identity (go)
    s = Sin (u)
    v = Concat <axis = 0> (s, s)
  }>
}"""
APPENDING = """g (int64 n, float[50] x) => (float[m] y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float[m] u) => (bool on, float[k] v) {
    on = Identity (go)
    v = Concat <axis = 0> (u, x)
  }>
}"""
FILLED = """g (int64 n, float[50] x) => (float[m] y, float[n] ys) {
  y, ys = Loop (n, , x) <body = f (int64 i, bool go, float[m] u) => (bool on, float[k] v, float w) {
    on = Identity (go)
    ten = Constant <value_ints = [100]> ()
    shape = Mul (i, ten)
    v = ConstantOfShape <value = float[1] {2}> (shape)
    w = ReduceSum <keepdims = 0> (u)
  }>
}"""
LATE = """g (int64 n, float[50] x) => (int64[n,1,m] ys) {
  half = Constant <value = float {0.5}> ()
  yes = Constant <value = bool {1}> ()
  ys = Loop (n, yes) <body = f (int64 i, bool go) => (bool on, int64[1,m] v) {
    on = Identity (go)
    f = Cast <to = 1> (i)
    r = Mul (x, f)
    q = Sub (r, r)
    s = Add (q, x)
    mask = Greater (s, half)
    v = NonZero (mask)
  }>
}"""
LIST = """g (int64 n, float[50] x) => (float[m,50] y) {
  empty = SequenceEmpty <dtype = 1> ()
  q = Loop (n, , empty) <body = f (int64 i, bool go, seq(float[50]) u)
    => (bool on, seq(float[50]) v) {
    on = Identity (go)
    w = Sin (x)
    v = SequenceInsert (u, w)
  }>
  y = ConcatFromSequence <axis = 0, new_axis = 1> (q)
}"""
NESTED = """g (int64 n, float[50] x) => (float[50] y, float[n,k,50] ys) {
  five = Constant <value = int64 {5}> ()
  y, ys = Loop (n, , x) <body = f (int64 i, bool go, float[50] u)
    => (bool on, float[50] v, float[k,50] vs) {
    on = Identity (go)
    v, vs = Loop (five, , u) <body = h (int64 j, bool go2, float[50] s)
      => (bool on2, float[50] t, float[50] w) {
      on2 = Identity (go2)
      t = Sin (s)
      w = Identity (t)
    }>
  }>
}"""
GRID = """g (int64 n, float[50] x) => (int64[40] last) {
  one = Constant <value = int64 {1}> ()
  zero = Constant <value = int64 {0}> ()
  s = Range (zero, n, one)
  row0 = Constant <value_ints = [NUMBERS]> ()
  last, corner = Scan <num_scan_inputs = 1, body = outer (int64[40] row, int64 k, int64 a)
    => (int64[40] next, int64 ko) {
    ko = Add (k, one)
    le, next = Scan <num_scan_inputs = 1, body = inner (int64 left, int64 above)
      => (int64 lo, int64 cell) {
      least = Min (left, above)
      lo = Add (least, a)
      cell = Identity (lo)
    }> (ko, row)
  }> (row0, zero, s)
}""".replace("NUMBERS", ", ".join(map(str, range(40))))
KINDS = {
    "states": STATES, "stack": STACK, "scan": SCAN, "until": UNTIL, "doubling": DOUBLING,
    "appending": APPENDING, "filled": FILLED, "late": LATE, "list": LIST, "nested": NESTED,
    "grid": GRID,
}  # fmt: skip


def session(text, engines=("jit", "interp")):
    return treadle.InferenceSession(HEAD + text, engines=engines)


def outcome(session, n, most):
    """The results, or the error, of a run with the bound."""
    feed = {"n": np.array(n), "x": np.linspace(0, 1, 50, dtype=np.float32)}
    try:
        return session.run(None, feed, treadle.RunOptions(max_bytes=most))
    except LimitExceeded as error:
        return error


def exact(session, n):
    """The smallest bound that is enough."""
    low, high = 0, 1 << 20
    while low < high:
        middle = (low + high) // 2
        if isinstance(outcome(session, n, middle), LimitExceeded):
            low = middle + 1
        else:
            high = middle
    return low


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("n", [1, 2, 9])
def test_the_bound_and_the_error_are_interps(text, n):
    if text is DOUBLING:
        n = min(n, 6)
    native, interp = session(text), session(text, ("interp",))
    least = exact(interp, n)
    names = [output.name for output in interp.get_outputs()]
    for most in {least, least - 1, least // 2, least // 7, 0}:
        with refused_nothing():
            found, wanted = outcome(native, n, most), outcome(interp, n, most)
        assert isinstance(found, LimitExceeded) == isinstance(wanted, LimitExceeded)
        if isinstance(wanted, LimitExceeded):
            assert found.iterations == wanted.iterations
            if found.path == wanted.path:
                assert str(found) == str(wanted)
            else:  # one operator's result alone is too large, which interp says before it is made
                assert wanted.path.startswith(f"{found.path}.body/")
        else:
            assert_same(found, wanted, names)
    assert natives(native)


def test_a_result_too_large_is_refused_before_memory_is_asked_for():
    native = session(STACK)
    with refused_nothing():
        found = outcome(native, 10**15, 10**6)
    assert isinstance(found, LimitExceeded)
    # the state, and as many rows of 50 floats and a number as are just too many
    assert found.iterations == ((10**6 - 200) // 208,)


HUGE = """g (int64 n, float[50] x) => (float[m] y) {
  y = Loop (n, , x) <body = f (int64 i, bool go, float[m] u) => (bool on, float[k] v) {
    on = Identity (go)
    many = Constant <value_ints = [1000000000000]> ()
    two = Constant <value = int64 {2}> ()
    late = Greater (i, two)
    k = Cast <to = 7> (late)
    shape = Mul (k, many)
    LAST
  }>
}"""


@pytest.mark.parametrize(
    "last",
    [
        "v = ConstantOfShape <value = float[1] {2}> (shape)",
        "w = ConstantOfShape <value = float[1] {2}> (shape)\n    v = Concat <axis = 0> (u, w)",
    ],
)
def test_a_state_too_large_is_refused_before_memory_is_asked_for(last):
    native = session(HUGE.replace("LAST", last))
    with refused_nothing():
        found = outcome(native, 10, 10**6)
    assert isinstance(found, LimitExceeded)
    assert (found.path, found.iterations) == ("main/loop_0", (3,))


def test_bytes_of_loops_around_a_region_count():
    text = """g (int64 n, float[50] x) => (string[1] y, float[n,50] ys) {
      s = Constant <value_strings = ["a"]> ()
      y, ys = Loop (n, , s) <body = f (int64 i, bool go, string[1] u)
        => (bool on, string[1] v, float[50] w) {
        on = Identity (go)
        v = Identity (u)
        five = Constant <value = int64 {5}> ()
        w = Loop (five, , x) <body = h (int64 j, bool go2, float[50] p) => (bool on2, float[50] q) {
          on2 = Identity (go2)
          q = Sin (p)
        }>
      }>
    }"""
    native, interp = session(text), session(text, ("interp",))
    least = exact(interp, 9)
    for most in (least, least - 1, 1500):
        found, wanted = outcome(native, 9, most), outcome(interp, 9, most)
        assert str(found) == str(wanted) or not isinstance(wanted, LimitExceeded)
        assert isinstance(found, LimitExceeded) == isinstance(wanted, LimitExceeded)


@pytest.mark.parametrize("bound", [{"max_bytes": 10**6}, {"max_iterations": 100}])
def test_a_refused_loop_is_opened_once(bound):
    text = """g (int64 n, float[4] p) => (float[T] r) {
      r = Loop (n, "") <body = f (int64 i, bool go) => (bool on, float c) {
        on = Identity (go)
        c = Gather (p, i)
      }>
    }"""
    feed = {"n": np.array(6), "p": np.zeros(4, np.float32)}
    with pytest.raises(treadle.errors.RunError, match=r"gather.*iteration 4"):
        session(text).run(None, feed, treadle.RunOptions(**bound))


def test_bounds_of_both_kinds_are_kept():
    native = session(STACK)
    feed = {"n": np.array(100), "x": np.zeros(50, np.float32)}
    with pytest.raises(LimitExceeded, match="max_iterations=99"):
        native.run(None, feed, treadle.RunOptions(max_iterations=99, max_bytes=10**6))
    with pytest.raises(LimitExceeded, match="max_bytes=1000"):
        native.run(None, feed, treadle.RunOptions(max_iterations=100, max_bytes=1000))
    native.run(None, feed, treadle.RunOptions(max_iterations=100, max_bytes=10**6))


def test_only_runs_with_max_bytes_count_bytes():
    native = session(UNTIL)
    with refused_nothing():
        outcome(native, 3 * 10**5, 10**8)
    assert isinstance(outcome(native, 30, 100), LimitExceeded)
    assert len(native.run(None, {"n": np.array(30), "x": np.zeros(50, np.float32)})[1]) == 30


def test_loops_with_boxed_values_run_on_interp_under_max_bytes():
    text = """g (int64 n, float[50] x) => (string[m] y) {
      a = Constant <value_strings = ["a"]> ()
      b = Constant <value_strings = ["bcd"]> ()
      y = Loop (n, , a) <body = f (int64 i, bool go, string[m] u) => (bool on, string[k] v) {
        on = Identity (go)
        v = Concat <axis = 0> (u, b)
      }>
    }"""
    native, interp = session(text), session(text, ("interp",))
    least = exact(interp, 9)
    for most in (least, least - 1, 20):
        found, wanted = outcome(native, 9, most), outcome(interp, 9, most)
        assert isinstance(found, LimitExceeded) == isinstance(wanted, LimitExceeded)
        if isinstance(wanted, LimitExceeded):
            assert str(found) == str(wanted)


def test_a_carried_list_that_no_iteration_changes():
    """Its next value leaves the loop, which weighs it before there is an iteration."""
    text = """g (int64 n, float x, seq(float) items, float y) => (seq(float) r, int64[T] s) {
      one = Constant <value = int64 {1}> ()
      two = Constant <value = int64 {2}> ()
      yes = Constant <value = bool {1}> ()
      r, s = Loop (n, , items) <body = f (int64 i, bool go, p) => (bool on, q, z) {
        longer = SequenceInsert (p, x)
        a, b, c = Loop (two, yes, longer, p) <body = h (int64 j, bool go2, u, v)
            => (bool on2, v, w, t) {
          w = Identity (v)
          t = Shape (y)
          on2 = Identity (go2)
        }>
        count = SequenceLength (items)
        least = Max (count, one)
        rest = Mod (two, least)
        at = Sub (rest, least)
        q = SequenceInsert (items, y, at)
        z = SequenceLength (p)
        on = Identity (go)
      }>
    }"""
    sessions = [treadle.InferenceSession(HEAD + text, engines=engines)
                for engines in (("jit", "interp"), ("interp",))]  # fmt: skip
    for bound in (3, 10, 20, 40, 60, 100):
        for count in (1, 3, 9):
            items = [np.array(k, np.float32) for k in range(count)]
            feed = {"n": np.array(3), "x": np.float32(1), "y": np.float32(2), "items": items}
            found = []
            for session in sessions:
                try:
                    options = treadle.RunOptions(max_bytes=bound)
                    found.append([list(map(float, session.run(None, feed, options)[0]))])
                except LimitExceeded as error:
                    found.append(str(error))
            assert found[0] == found[1]
