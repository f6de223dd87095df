"""Lists and optionals as tensors: the same values, and the same failures, in every opset."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import treadle
from tests.passes.rewrites.models import every_operator, same
from tests.passes.rewrites.models import model as model_of
from tests.passes.simplify.models import run, run_by_onnxruntime, saved

X = np.arange(6, dtype=np.float32)


def model(text: str) -> treadle.Model:
    return model_of(text, 18, 9)


HEAD = "g (float[6] x, int64 n, int64 k) => (float[M] y"
RAGGED = (
    HEAD
    + """, int64 count) {
  none = SequenceEmpty <dtype = 1> ()
  list = Loop (n, "", none) <body = b (int64 i, bool go, seq(float[A]) l)
      => (bool on, seq(float[C]) m) {
    on = Identity (go)
    one = Constant <value_int = 1> () zero = Constant <value_ints = [0]> ()
    three = Constant <value_int = 3> ()
    next = Add (i, one) left = Mod (next, three)
    end = Unsqueeze (left, zero)
    e = Slice (x, zero, end)
    CHANGE
  }>
  count = SequenceLength (list)
  READ
}"""
)
PUSH = "m = SequenceInsert (l, e)"
FRONT = "place = Constant <value_int = 0> () m = SequenceInsert (l, e, place)"
BACKWARDS = """longer = SequenceInsert (l, e) place = Constant <value_int = -1> ()
    m = SequenceInsert (longer, e, place)"""
ERASE = """a = SequenceInsert (l, e) c = SequenceInsert (a, x) place = Constant <value_int = 0> ()
    m = SequenceErase (c, place)"""
SWAP = "a = SequenceInsert (l, x) c = SequenceInsert (a, e) d = SequenceErase (c) m = Identity (d)"
AT = "y = SequenceAt (list, k)"
JOIN = "y = ConcatFromSequence <axis = 0> (list)"


@pytest.mark.parametrize(
    ("change", "read"), [(PUSH, AT), (FRONT, AT), (BACKWARDS, JOIN), (ERASE, AT), (SWAP, JOIN)]
)
def test_lists_of_elements_of_many_lengths(change: str, read: str):
    before = model(RAGGED.replace("CHANGE", change).replace("READ", read))
    after = treadle.rewrite(before, "sequence-to-tensor")
    assert not [name for name in every_operator(after) if "Sequence" in name]
    sessions = [treadle.InferenceSession(each, engines=["interp"]) for each in (before, after)]
    for trips, place in product((0, 1, 2, 5), (0, -1, 3, -9)):
        feeds = {"x": X, "n": np.int64(trips), "k": np.int64(place)}
        assert len({outcome(session, feeds) for session in sessions}) == 1
    same(before, after, {"x": X, "n": np.int64(5), "k": np.int64(1)})


def test_lists_in_an_opset_without_them():
    before = model(RAGGED.replace("CHANGE", BACKWARDS).replace("READ", AT))
    after = treadle.convert_version(before, 9)
    assert not [name for name in every_operator(after) if "Sequence" in name]
    same(before, after, {"x": X, "n": np.int64(5), "k": np.int64(-2)})


def outcome(session: treadle.InferenceSession, feeds: dict[str, Any]) -> str:
    """The outputs in a form that compares, or "fails"."""
    try:
        return str([np.asarray(each).tolist() for each in session.run(None, feeds)])
    except treadle.TreadleError:
        return "fails"


def same_or_both_fail(before: treadle.Model, after: treadle.Model, feeds: dict[str, Any]) -> None:
    sessions = [treadle.InferenceSession(each, engines=["interp"]) for each in (before, after)]
    assert len({outcome(session, feeds) for session in sessions}) == 1


SPLIT = """
g (float[T,3] x, LENGTHS lengths, int64 k) => (float[R,C] y, int64 count) {
  list = SplitToSequence <axis = AXIS> (x, lengths)
  y = SequenceAt (list, k)
  count = SequenceLength (list)
}"""


@pytest.mark.parametrize(
    ("axis", "lengths"),
    [(0, 2), (0, 7), (0, 0), (-1, 2), (0, [1, 4]), (0, [0, 5, 0]), (0, [6, -1]), (0, [2, 2])],
)
def test_split_to_sequence(axis: int, lengths: int | list[int]):
    type_ = "int64" if isinstance(lengths, int) else "int64[P]"
    before = model(SPLIT.replace("LENGTHS", type_).replace("AXIS", str(axis)))
    after = treadle.rewrite(before, "sequence-to-tensor")
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    for k in (0, -1, 2):
        feeds = {"x": x, "lengths": np.array(lengths, np.int64), "k": np.int64(k)}
        same_or_both_fail(before, after, feeds)


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize(("axis", "new"), [(0, 0), (-1, 0), (0, 1), (-1, 1)])
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_elements_of_one_shape(kept: int, axis: int, new: int, rows: int):
    text = (
        ""
        + f"""
    g (float[T,3] x) => (float{["", "[A]", "[A,B]", "[A,B,C]"][1 + kept + new]} y, int64 count) {{
      list = SplitToSequence <axis = 0, keepdims = {kept}> (x)
      y = ConcatFromSequence <axis = {axis}, new_axis = {new}> (list)
      count = SequenceLength (list)
    }}"""
    )
    before = model(text)
    after = treadle.rewrite(before, "sequence-to-tensor")
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    same_or_both_fail(before, after, {"x": x})


OPTIONAL = """
g (float[3] x, bool c) => (float[3] y, bool there) {
  o = If (c) <then_branch = t () => (optional(float[3]) a) { a = Optional (x) },
    else_branch = e () => (optional(float[3]) b) { b = Optional <type = float[3]> () }>
  there = OptionalHasElement (o)
  y = READ
}"""


@pytest.mark.parametrize("there", [True, False])
def test_optionals(there: bool):
    guarded = """If (there) <then_branch = t2 () => (float[3] p) { p = OptionalGetElement (o) },
      else_branch = e2 () => (float[3] q) { q = Neg (x) }>"""
    for read in (guarded, "OptionalGetElement (o)"):
        before = model(OPTIONAL.replace("READ", read))
        after = treadle.rewrite(before, "sequence-to-tensor")
        assert not [name for name in every_operator(after) if "Optional" in name]
        same_or_both_fail(before, after, {"x": np.ones(3, np.float32), "c": np.array(there)})


def test_outputs_are_obstacles_unless_stacked():
    text = RAGGED.replace("float[M] y", "seq(float[M]) list").replace("READ", "")
    before = model(text.replace("CHANGE", PUSH))
    with pytest.raises(treadle.Unsupported, match='outputs="stacked"'):
        treadle.convert_version(before, 9)
    after = treadle.convert_version(before, 9, outputs="stacked")
    assert [value.name for value in after.main.results] == ["list", "list@lengths", "count"]
    feeds = {"x": np.arange(6, dtype=np.float32), "n": np.int64(4), "k": np.int64(0)}
    stack, lengths, count = treadle.InferenceSession(after, engines=["interp"]).run(None, feeds)
    assert stack.tolist() == [[0, 0], [0, 1], [0, 0], [0, 0]]
    assert lengths.tolist() == [[1], [2], [0], [1]]
    assert count == 4
    assert treadle.convert_version(before, 17, outputs="stacked").main.results[0].name == "list"


def test_elements_of_unlike_ranks_are_an_obstacle():
    text = RAGGED.replace("CHANGE", "z = ReduceSum <keepdims = 0> (e) " + PUSH.replace("e)", "z)"))
    text = text.replace("none = SequenceEmpty <dtype = 1> ()", "none = SequenceConstruct (x)")
    with pytest.raises(treadle.Unsupported) as caught:
        treadle.rewrite(model(text.replace("READ", AT)), "sequence-to-tensor")
    told = {found.path: found.message for found in caught.value.findings}
    assert told == {
        "main/sequenceconstruct_0": "SequenceConstruct gives an element of rank 1 to none, a list"
        " or an optional, whose elements have ranks 0 and 1",
        "main/loop_1.body/sequenceinsert_9": "SequenceInsert gives an element of rank 0 to none, a"
        " list or an optional, whose elements have ranks 0 and 1",
    }


def test_input_lists_are_an_obstacle():
    text = "g (seq(float[A]) l, int64 k) => (float[B] y) "
    with pytest.raises(treadle.Unsupported, match="l is a list or an optional at the border"):
        treadle.rewrite(model(text + "{ y = SequenceAt (l, k) }"), "sequence-to-tensor")


LOOPED = """n = SequenceLength (l) e0 = Constant <value = int64 {0}> () s0 = SequenceAt (l, e0)
  z = ReduceSum <keepdims = 0> (s0) y = Loop (n, "", z) <body = b (int64 i, bool go, float s)
      => (bool on, float o) {
    on = Identity (go) e = SequenceAt (l, i) r = ReduceSum <keepdims = 0> (e) o = Add (s, r) }>"""
READERS = {
    "elements": "seq(float[A]) l, int64 k) => (float[B] y) { y = SequenceAt (l, k) }",
    "elements of one shape": "seq(float[2]) l, int64 k) => (float[2] y) { y = SequenceAt (l, k) }",
    "a loop": f"seq(float[A]) l, int64 k) => (float y) {{ {LOOPED} }}",
    "a longer list": """seq(float[A]) l, int64 k) => (float[B] y) { e = SequenceAt (l, k)
        f = Concat <axis = 0> (e, e) m = SequenceInsert (l, f, k)
        y = ConcatFromSequence <axis = 0> (m) }""",
    "the list itself": "seq(float[A]) l, int64 k) => (seq(float[A]) y) { y = Identity (l) }",
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("k", [0, -1, 2])
def test_input_lists_become_tensors(name: str, k: int):
    before = model(f"g ({READERS[name]}")
    after = treadle.convert_version(before, 10, outputs="stacked")
    assert [value.name for value in after.main.params] == ["l", "l@lengths", "k"]
    widths = [2, 2, 2] if "one shape" in name else [2, 0, 3]
    parts = [np.arange(1, width + 1, dtype=np.float32) for width in widths]
    stack = np.zeros((3, max(widths)), np.float32)
    for row, part in zip(stack, parts, strict=True):
        row[: len(part)] = part
    lengths = np.array(widths, np.int64)[:, None]
    interp = treadle.InferenceSession(before, engines=["interp"])
    (wanted,) = interp.run(None, {"l": parts, "k": np.int64(k)})
    feeds = {"l": stack, "l@lengths": lengths, "k": np.array(k)}
    for found in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        expected = [stack, lengths] if name == "the list itself" else [wanted]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("there", [True, False])
def test_input_optionals_become_tensors(there: bool):
    text = """g (optional(float[3]) x, float[3] w) => (float[3] y) {
      c = OptionalHasElement (x)
      y = If (c) <then_branch = t () => (float[3] p) { p = OptionalGetElement (x) },
        else_branch = e () => (float[3] q) { q = Neg (w) }> }"""
    before = model_of(text, 18)
    after = treadle.convert_version(before, 13, outputs="stacked")
    x, w = np.ones(3, np.float32), np.arange(3, dtype=np.float32)
    feeds = {"x": x, "x@present": np.array(there), "w": w}
    for (found,) in (run(after, feeds), run_by_onnxruntime(saved(after), feeds)):
        np.testing.assert_array_equal(found, x if there else -w)
