"""Extremes and their positions: which are searched in vectors, and that they are right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.jit.native import check, outcomes
from treadle import InferenceSession, SessionOptions
from treadle.jit.kernel.target import Target
from treadle.jit.kernel.traversal import all_nodes
from treadle.jit.schedule.schedule import schedule_kernel
from treadle.jit.schedule.schedule_text import show_schedule
from treadle.jit.schedule.steps.indexed_extremes import indexed_extreme

TARGET = Target("x86_64-unknown-linux-gnu", "", "", 64, 32, has_fma=True)
ALONG_RESULT = "vectors along the result, positions beside values"
ALONG_ROW = "vectors along the reduced axis, positions beside values"

HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'
MODEL = """g (float[T,{shape}] xs, float[{shape}] a)
  => (int64[T,{kept}] places, float[T,{kept}] best) {{
    along = Constant <value = int64[1] {{{axis}}}> ()
    places, best = Scan <num_scan_inputs = 1, body = b (float[{shape}] x)
      => (int64[{kept}] place, float[{kept}] most) {{
        y = {operator} (x, a)
        place = Arg{word} <axis = {axis}, keepdims = {keep}, select_last_index = {last}> (y)
        most = Reduce{word} <keepdims = {keep}> (y, along)
      }}> (xs)
  }}"""


def text(
    shape: str, axis: int, *, word: str = "Max", last: int = 0, keep: int = 0, operator: str = "Add"
) -> str:
    extents = shape.split(",")
    extents[axis] = "1"
    kept = ",".join(extents) if keep else extents[1 - axis]
    return MODEL.format(
        shape=shape, kept=kept, axis=axis, word=word, last=last, keep=keep, operator=operator
    )


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Few different numbers, zeros of both signs, and rows of NaN and of infinities."""
    made = rng.integers(-2, 3, shape).astype(np.float32)
    made[rng.random(shape) < 0.1] = -0.0
    made[1][rng.random(shape[1:]) < 0.05] = np.nan
    made[2], made[3] = np.inf, -np.inf
    made[3][rng.random(shape[1:]) < 0.05] = np.nan
    return made


@pytest.mark.parametrize("shape", [(17, 64), (3, 64), (40, 33), (100, 8), (64, 100), (20, 300)])
@pytest.mark.parametrize("word", ["Max", "Min"])
def test_extremes(word: str, shape: tuple[int, int], rng: np.random.Generator) -> None:
    rows, columns = shape
    feeds = {"xs": numbers(rng, 4, *shape), "a": np.zeros(shape, np.float32)}
    for axis, last, keep in itertools.product((0, 1), (0, 1), (0, 1)):
        for extents in (f"{rows},{columns}", f"N,{columns}", f"{rows},N"):
            check(text(extents, axis, word=word, last=last, keep=keep), feeds)


@pytest.mark.parametrize("columns", [1, 7, 63, 64, 65, 130])
def test_rows_of_unknown_length(columns: int, rng: np.random.Generator) -> None:
    feeds = {"xs": numbers(rng, 4, 5, columns), "a": np.zeros((5, columns), np.float32)}
    for word, last in itertools.product(("Max", "Min"), (0, 1)):
        check(text("5,N", 1, word=word, last=last), feeds)


BEST = """g (float[T,{shape}] xs, float[{shape}] a)
  => (int64[T,{kept}] places, float[T,{kept}] top, float[T,{kept}] extreme) {{
    along = Constant <value = int64[1] {{{axis}}}> ()
    one = Constant <value = int64[1] {{1}}> ()
    places, top, extreme = Scan <num_scan_inputs = 1, body = b (float[{shape}] x)
      => (int64[{kept}] place, float[{kept}] best, float[{kept}] most) {{
        y = Add (x, a)
        best, place = TopK <axis = {axis}, largest = {largest}> (y, one)
        most = Reduce{word} (y, along)
      }}> (xs)
  }}"""


@pytest.mark.parametrize("shape", [(17, 64), (40, 33), (20, 300), (3, 70), (70, 3)])
@pytest.mark.parametrize("largest", [0, 1])
def test_the_best_of_all(largest: int, shape: tuple[int, int], rng: np.random.Generator) -> None:
    """NaN is the largest for TopK, and for ReduceMin the least."""
    feeds = {"xs": numbers(rng, 4, *shape), "a": np.zeros(shape, np.float32)}
    feeds["xs"][0, :2], feeds["xs"][0, 2:, 1] = np.nan, np.inf
    for axis in (0, 1):
        kept = ",".join("1" if k == axis else str(each) for k, each in enumerate(shape))
        word, extents = ("Min", "Max")[largest], f"{shape[0]},{shape[1]}"
        check(BEST.format(shape=extents, kept=kept, axis=axis, largest=largest, word=word), feeds)


def shown(model: str, feeds: dict[str, np.ndarray]) -> str:
    """The schedule of the reductions of a model's only kernel."""
    session = InferenceSession(HEAD + model, engines=("jit", "interp"))
    session.run(None, feeds)
    (made,) = outcomes(session)
    assert any(indexed_extreme(node) for node in all_nodes(made.kernel.main))
    lines = show_schedule(schedule_kernel(made.kernel, TARGET)).splitlines()
    (line,) = (each.strip() for each in lines if each.strip().startswith("reduction: "))
    return line


@pytest.mark.parametrize(
    ("shape", "axis", "words"),
    [
        ((17, 64), 0, f"{ALONG_RESULT}, 64 elements at once, in 2 parts"),
        ((17, 40), 0, f"{ALONG_RESULT}, 48 elements at once, in 2 parts"),
        ((17, 20), 0, f"{ALONG_RESULT}, 32 elements at once, in 4 parts"),
        ((17, 300), 0, f"{ALONG_RESULT}, 64 elements at once, in 2 parts"),
        ((5, 300), 1, f"{ALONG_ROW}, 64 elements at once"),
        ((5, 17), 1, f"{ALONG_ROW}, 16 elements at once"),
        ((17, 7), 0, "vectors along the reduced axis"),
        ((40, 4), 0, "vectors along the reduced axis"),
    ],
)
def test_which_are_searched_in_vectors(
    shape: tuple[int, int], axis: int, words: str, rng: np.random.Generator
) -> None:
    feeds = {"xs": numbers(rng, 4, *shape), "a": np.zeros(shape, np.float32)}
    model = text(f"{shape[0]},{shape[1]}", axis)
    kept = shape[1 - axis]
    assert shown(model, feeds) == f"reduction: max: int64[{kept}], {words}"


def test_threads_share_many_extremes(rng: np.random.Generator) -> None:
    feeds = {"xs": numbers(rng, 4, 90, 700), "a": np.zeros((90, 700), np.float32)}
    found = []
    for threads in (1, 2, 3):
        options = SessionOptions(intra_op_num_threads=threads)
        session = InferenceSession(HEAD + text("90,700", 0), options, engines=("jit", "interp"))
        found.append(session.run(None, feeds))
        (made,) = outcomes(session)
        assert bool(dict(made.code.counts).get("shared")) == (threads > 1)
    for each in found[1:]:
        assert [one.tobytes() for one in each] == [one.tobytes() for one in found[0]]


def test_elements_without_a_form_for_vectors_are_searched_one_by_one(
    rng: np.random.Generator,
) -> None:
    feeds = {"xs": abs(numbers(rng, 4, 17, 64)), "a": np.ones((17, 64), np.float32)}
    assert "positions" not in shown(text("17,64", 0, operator="Pow"), feeds)
    check(text("17,64", 0, operator="Pow"), feeds)


def test_columns_of_a_matrix_are_searched_side_by_side(rng: np.random.Generator) -> None:
    """Neighbours along the axis are no neighbours in memory; those of the result are."""
    model = text("64,17", 1).replace("y = Add (x, a)", "y = Transpose <perm = [1, 0]> (x)")
    model = model.replace("float[T,64,17]", "float[T,17,64]").replace(
        "float[64,17] x", "float[17,64] x"
    )
    feeds = {"xs": numbers(rng, 4, 17, 64), "a": np.zeros((64, 17), np.float32)}
    assert ALONG_RESULT in shown(model, feeds)
    check(model, feeds)


BOTH = """g (float[T,{shape}] xs) => (int64[T,R] least, int64[T,S] most, int64[T,U] last) {{
    least, most, last = Scan <num_scan_inputs = 1, body = b (float[{shape}] x)
      => (int64[{kept}] i, int64[{kept}] j, int64[{kept}] k) {{
        i = ArgMin <axis = {axis}, keepdims = 0> (x)
        j = ArgMax <axis = {axis}, keepdims = 0> (x)
        k = ArgMax <axis = {axis}, keepdims = 0, select_last_index = 1> (x)
      }}> (xs)
  }}"""


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(5, 300), (3, 17), (70, 40), (300, 8)])
def test_several_of_the_same_elements(
    axis: int, shape: tuple[int, int], rng: np.random.Generator
) -> None:
    kept, extents = shape[1 - axis], ",".join(map(str, shape))
    text = BOTH.format(shape=extents, kept=kept, axis=axis).replace("T,R", f"T,{kept}")
    text = text.replace("T,S", f"T,{kept}").replace("T,U", f"T,{kept}")
    check(text, {"xs": numbers(rng, 4, *shape)}, {"xs": rng.normal(size=(4, *shape)).astype("f")})
