"""Scan-8: a loop over the batch around a Scan over time."""

import numpy as np
import pytest

from tests.interp.blocks import f32, i64, same
from tests.passes.models import load, run
from treadle.errors import RunError
from treadle.ir import Call, show_model, walk
from treadle.passes import expand_scan8


def sums(*, lens=False, attributes="", element="", declared="b, t"):
    length, first = ("int64[k] L, ", "L") if lens else ("", '""')
    state = f"float[b{element}]"
    return expanded(f"""g ({length}{state} s0, float[{declared}{element}] x)
        => ({state} s, float[{declared}{element}] y) {{
        s, y = Scan <num_scan_inputs = 1 {attributes},
            body = d (s_in, item) => (s_out, each) {{
                s_out = Add (s_in, item) each = Identity (s_out) }}> ({first}, s0, x)
        }}""")


def expanded(text):
    model = expand_scan8(load(text, 8, ir=3))
    assert not any(isinstance(visit.step, Call) for visit in walk(model))
    return model


X = f32(range(1, 7), shape=(2, 3))
START = f32(0, 10)


def wanted(lens, reverse=False, start=START, x=X):
    """The standard's pseudo-code, a row at a time, zeros after the last item."""
    ends, rows = [], np.zeros_like(x)
    for b, length in enumerate(lens):
        items = x[b, :length][:: -1 if reverse else 1]
        state = start[b]
        for t, item in enumerate(items):
            state = state + item
            rows[b, t] = state
        ends.append(state)
    return [np.array(ends, x.dtype).reshape(start.shape), rows]


@pytest.mark.parametrize("reverse", [False, True])
def test_without_lengths(reverse):
    model = sums(attributes=f", directions = [{int(reverse)}]")
    same(run(model, START, X), wanted([3, 3], reverse))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lens", [(0, 0), (0, 3), (1, 2), (2, 3), (3, 0), (3, 3)])
def test_lengths_reverse_and_padding(reverse, lens):
    model = sums(lens=True, attributes=f", directions = [{int(reverse)}]")
    same(run(model, i64(lens), START, X), wanted(lens, reverse))


@pytest.mark.parametrize("lens", [(0, 3), (2, 1)])
def test_elements_that_are_vectors(lens):
    x = f32(range(12), shape=(2, 3, 2))
    start = f32(range(4), shape=(2, 2))
    model = sums(lens=True, element=", n")
    same(run(model, i64(lens), start, x), wanted(lens, start=start, x=x))


def test_a_batch_of_none_and_sequences_of_no_item():
    none = np.zeros((0,), np.float32)
    same(run(sums(), none, np.zeros((0, 3), np.float32)), [none, np.zeros((0, 3), np.float32)])
    same(run(sums(), f32(5, 6), np.zeros((2, 0), np.float32)),
         [f32(5, 6), np.zeros((2, 0), np.float32)])  # fmt: skip
    same(run(sums(lens=True), i64(0, 0), f32(5, 6), np.zeros((2, 0), np.float32)),
         [f32(5, 6), np.zeros((2, 0), np.float32)])  # fmt: skip


@pytest.mark.parametrize(
    ("lens", "words"),
    [
        (i64(4, 3), "iteration 0: sequence_lens has the entry 4, wanted 0 to 3"),
        (i64(3, -1), "iteration 1: sequence_lens has the entry -1, wanted 0 to 3"),
        (i64([3]), '"L" has 1 items along axis 0, "s0" has 2 items'),
        (i64(3, 3, 3), '"L" has 3 items along axis 0, "s0" has 2 items'),
        (np.array([3, 3], np.int32), "sequence_lens is int32 of rank 1, wanted int64 of rank 1"),
        (i64([[3, 3], [3, 3]]), "sequence_lens is int64 of rank 2, wanted int64 of rank 1"),
    ],
)
def test_lengths_that_do_not_fit(lens, words):
    with pytest.raises(RunError) as caught:
        run(sums(lens=True), lens, START, X)
    assert words in str(caught.value)


def test_batches_that_differ():
    with pytest.raises(RunError, match='"s0" has 3 items along axis 0, "x" has 2 items'):
        run(sums(), f32(1, 2, 3), X)


@pytest.mark.parametrize("lens", [False, True])
def test_sequences_of_different_lengths(lens):
    length, first = ("int64[k] L, ", "L") if lens else ("", '""')
    model = expanded(f"""g ({length}float[b, t] x, float[b, u] z) => (float[b, t] y) {{
        y = Scan <num_scan_inputs = 2, directions = [0, 1], body = d (p, q) => (r) {{
            r = Add (p, q) }}> ({first}, x, z) }}""")
    given = [i64(3, 1)] if lens else []
    z = X[:, ::-1].copy()
    found = run(model, *given, X, z)[0]
    same(found[0], X[0] + X[0])
    with pytest.raises(RunError, match=r"different lengths: \[3, 4\]|items along axis 0"):
        run(model, *given, X, f32(range(8), shape=(2, 4)))


def test_captures_strings_and_a_body_that_reduces():
    model = expanded("""g (string[b] s0, string[b, t] x, string k)
        => (string[b] s, string[b, t] y) {
        s, y = Scan <num_scan_inputs = 1, body = d (s_in, item) => (s_out, each) {
            s_out = Identity (item) each = Identity (k) }> ("", s0, x) }""")
    x = np.array([["a", "b"], ["c", "d"]], object)
    found = run(model, np.array(["", ""], object), x, np.array("k", object))
    same(found, [np.array(["b", "d"], object), np.array([["k", "k"], ["k", "k"]], object)])
    rows = f32(range(12), shape=(2, 3, 2))
    model = expanded("""g (float[b, 1] s0, float[b, t, n] x) => (float[b, 1] s) {
        s = Scan <num_scan_inputs = 1, body = d (p, row) => (q) {
            sum = ReduceSum <axes = [0], keepdims = 1> (row) q = Add (p, sum) }> ("", s0, x) }""")
    same(run(model, f32(0, 0, shape=(2, 1)), rows), [rows.sum((1, 2)).reshape(2, 1)])


def test_strings_with_lengths_are_padded_with_empty_ones():
    model = expanded("""g (int64[k] L, string[b] s0, string[b, t] x)
        => (string[b] s, string[b, t] y) {
        s, y = Scan <num_scan_inputs = 1, body = d (s_in, item) => (s_out, each) {
            s_out = Identity (item) each = Identity (item) }> (L, s0, x) }""")
    x = np.array([["a", "b"], ["c", "d"]], object)
    found = run(model, i64(1, 2), np.array(["", ""], object), x)
    same(found, [np.array(["a", "d"], object), np.array([["a", ""], ["c", "d"]], object)])


def test_the_body_keeps_its_names_and_its_paths():
    model = sums(lens=True)
    paths = {visit.path: visit.step.results[0].name for visit in walk(model)}
    assert paths["main/scan_0.body/add_0"] == "s_out"
    assert "main/scan_0.rows" in paths
    assert "carried s_in" in show_model(model)
    assert "sliced item" in show_model(model)


def test_a_model_without_scan_8_is_returned_unchanged():
    model = load("""g (float s0, float[t] x) => (float s) {
        s = Scan <num_scan_inputs = 1, body = d (p, q) => (r) { r = Add (p, q) }> (s0, x) }""")
    assert expand_scan8(model) is model
