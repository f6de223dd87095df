"""Selectors: the values that a pattern picks, and the errors of one that picks none."""

import pytest

import treadle
from treadle.errors import InputError, InputTypeError
from treadle.tracing import Selector, selectables

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
g (float[n] x, int64 t) => (float[n] y, float[t, n] rows) {
    y, rows = Loop <body = step (int64 i, bool go, float[n] h) => (bool on, float[n] h2, float[n] r)
    {
        half = Constant <value_float = 0.5> ()
        on = Identity (go)
        h1 = Mul (h, half)
        h2 = Add (h1, x)
        r = Relu (h2)
    }> (t, , x)
}
"""


def picked(*patterns):
    selector, model = Selector.of(patterns), treadle.load(MODEL)
    selector.expect_match(model)
    return [item.full_name for item in selectables(model) if selector.picks(item)]


BODY = "main/loop_0.body"


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("h1", [f"{BODY}/h1"]),
        (f"{BODY}/h[12]", [f"{BODY}/h1", f"{BODY}/h2"]),
        (f"{BODY}/add_3", [f"{BODY}/h2"]),
        ("main/loop_0", ["main/y", "main/rows", "main/loop_0"]),
        ("op:relu", [f"{BODY}/r"]),
        ("role:carried", [f"{BODY}/h"]),
        ("role:stacked", [f"{BODY}/r"]),
        ("role:condition", [f"{BODY}/go", f"{BODY}/on"]),
    ],
)
def test_a_pattern_selects_values(pattern, wanted):
    assert picked(pattern) == wanted


def test_several_patterns_select_the_union():
    assert picked("h1", "op:Relu") == [f"{BODY}/h1", f"{BODY}/r"]


def test_extra_values_are_selected_by_path():
    selector = Selector.of("main/loop_0@trips")
    selector.expect_match(treadle.load(MODEL))
    assert selector.picks_extra("main/loop_0", "trips")
    assert not selector.picks_extra("main/loop_0", "ended")
    assert not Selector.of("*").picks_extra("main/loop_0", "trips")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("h3", 'did you mean "h'),
        ("op:Rel", 'did you mean "op:Relu"'),
        ("role:sliced", "no loop of the model has a value that is sliced"),
        ("main/loop_0@taken", "nothing matches"),
    ],
)
def test_a_pattern_that_matches_nothing(pattern, words):
    with pytest.raises(InputError, match=words):
        picked(pattern)


def test_invalid_patterns():
    with pytest.raises(InputError, match="there is no role"):
        Selector.of("role:invariant")
    with pytest.raises(InputError, match="empty"):
        Selector.of([])
    with pytest.raises(InputTypeError, match="values is an int"):
        Selector.of(3)  # type: ignore[arg-type]
