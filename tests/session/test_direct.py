"""Programs that are one call of an engine: called by input names after the first feed."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.errors import InputError, LimitExceeded, RunError, Terminated
from treadle.tracing import ValueMade

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
SUMS = HEAD + (
    "g (float[n] x, float[n] unused, float[n] y) => (float[n] less, float[n] more)"
    " { more = Add(x, y) less = Sub(x, y) }"
)
SHAPED = HEAD + "g (float[n] x, int64[m] s) => (float[a, b] y) { y = Reshape(x, s) }"
CHOICE = HEAD + (
    "g (bool c, float[n] x) => (float[n] y) { y = If (c)"
    " <then_branch = t () => (float[n] a) { a = Neg(x) },"
    " else_branch = e () => (float[n] b) { b = Exp(x) }> }"
)
CHOSEN = HEAD + ("g (string[n] a, string[n] b, bool[n] k) => (string[n] c) { c = Where(k, a, b) }")
LISTED = HEAD + (
    "g (seq(float[n]) s, float[n] x) => (seq(float[n]) t) { t = SequenceInsert(s, x) }"
)


def is_direct(session):
    return session._plain.direct is not None


@pytest.fixture
def sums():
    session = treadle.InferenceSession(SUMS)
    assert is_direct(session)
    return session


def feeds(x, y):
    return {"y": np.float32(y), "x": np.float32(x), "unused": np.zeros(len(x), np.float32)}


def test_inputs_that_are_not_read_and_outputs_in_another_order(sums):
    for x, y in [([1, 2], [5, 6]), ([2, 3], [7, 8]), ([1, 2, 3], [0, 1, 1])]:
        less, more = sums.run(None, feeds(x, y))
        assert less.tolist() == np.subtract(x, y).tolist()
        assert more.tolist() == np.add(x, y).tolist()
    assert [o.tolist() for o in sums.run(["more", "more"], feeds([1], [2]))] == [[3], [3]]


def test_an_invalid_feed_after_a_valid_one_is_an_error(sums):
    fine = feeds([1, 2], [5, 6])
    sums.run(None, fine)
    with pytest.raises(InputError, match="float64\\[2\\] is given"):
        sums.run(None, {**fine, "x": np.ones(2)})
    with pytest.raises(InputError, match='no input "z"'):
        sums.run(None, {**fine, "z": np.ones(2)})
    with pytest.raises(InputError, match='"y" is missing'):
        sums.run(None, {name: fine[name] for name in ("x", "unused")})
    with pytest.raises(InputError, match='no output "mor", did you mean "more"'):
        sums.run(["mor"], fine)
    assert sums.run(["more"], fine)[0].tolist() == [6, 8]


def test_a_run_with_listener_or_limits_is_not_direct(sums):
    fine = feeds([1, 2], [5, 6])
    sums.run(None, fine)
    heard = []
    sums.run(None, fine, listener=heard.append)
    assert "more" in {event.name for event in heard if isinstance(event, ValueMade)}
    options = treadle.RunOptions()
    options.terminate = True
    with pytest.raises(Terminated):
        sums.run(None, fine, options)
    with pytest.raises(LimitExceeded):
        sums.run(None, fine, treadle.RunOptions(max_seconds=0.0))


def test_a_refused_direct_call_falls_back():
    session = treadle.InferenceSession(SHAPED)
    assert is_direct(session)
    x = np.ones(4, np.float32)
    for _ in range(2):
        assert session.run(None, {"x": x, "s": np.array([2, 2])})[0].shape == (2, 2)
        with pytest.raises(RunError, match="main/reshape_0"):
            session.run(None, {"x": x, "s": np.array([3, 3])})


def test_a_single_branch_is_a_direct_call():
    session = treadle.InferenceSession(CHOICE)
    assert is_direct(session)
    x = np.array([0, 1], np.float32)
    for condition in (True, True, False, True):
        (y,) = session.run(None, {"c": np.array(condition), "x": x})
        np.testing.assert_allclose(y, -x if condition else np.exp(x), rtol=1e-6)


def test_strings_in_a_direct_call():
    session = treadle.InferenceSession(CHOSEN)
    assert is_direct(session)
    others = {"b": np.array(["1", "2"], object), "k": np.array([True, False])}
    for a in (
        np.array(["x", "\u00fc"], object),
        np.array(["x", ""]),
        np.array([b"x", b"y"], object),
    ):
        for _ in range(2):
            (c,) = session.run(None, {"a": a, **others})
            texts = [t.decode() if isinstance(t, bytes) else t for t in a]
            assert c.tolist() == [texts[0], "2"]
    with pytest.raises(InputError, match="other objects"):
        session.run(None, {"a": np.array(["x", 1], object), **others})


def test_sequences_in_a_direct_call():
    session = treadle.InferenceSession(LISTED)
    x = np.array([1, 2], np.float32)
    for given in ([], [x], [x, x[:1]], (x,)):
        (made,) = session.run(None, {"s": given, "x": x})
        assert [item.tolist() for item in made] == [item.tolist() for item in (*given, x)]
        assert not any(np.shares_memory(item, x) for item in made)
    with pytest.raises(InputError, match="item 1"):
        session.run(None, {"s": [x, x.astype(float)], "x": x})
