"""Operators on strings in loops and branches: the default engines agree with interp.

Every operator makes the text `c` [2] of a state `a` [2] and of what is sliced, `x` [2].
"""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from treadle.delegate import Onnxruntime
from treadle.errors import InvalidModel, RunError
from treadle.infer import infer
from treadle.plan import plan

HEAD = '<ir_version: 10, opset_import: ["" : 20, "ai.onnx.ml" : 4]>\n'
TWO = "n = Constant <value_ints = [2]> ()"
BOTH = "t = Concat <axis = 0> (a, x)"
FIRST = "z = Constant <value_ints = [0]> ()"
ROW = f"{FIRST} t = Unsqueeze (x, z)"
SWAPPED = "i = Constant <value_ints = [1, 0]> ()"
OPERATORS = {
    "Identity": "c = Identity (x)",
    "StringConcat": "c = StringConcat (a, x)",
    "StringConcat of one": 'k = Constant <value = string {"-"}> () c = StringConcat (k, a)',
    "Where": "m = Constant <value = bool[2] {1, 0}> () c = Where (m, a, x)",
    "Concat": f"{BOTH} i = Constant <value_ints = [0, 3]> () c = Gather (t, i)",
    "Gather of rows": f"{ROW} i = Constant <value_int = 0> () c = Gather (t, i)",
    "GatherElements": f"{SWAPPED} c = GatherElements (a, i)",
    "GatherND": "i = Constant <value = int64[2,1] {1, 0}> () c = GatherND (a, i)",
    "ScatterElements": f"{SWAPPED} c = ScatterElements (a, i, x)",
    "ScatterND": "i = Constant <value = int64[2,1] {1, 0}> () c = ScatterND (a, i, x)",
    "Expand": f"{TWO} {FIRST} t = Gather (x, z) c = Expand (t, n)",
    "Reshape": f"{TWO} c = Reshape (x, n)",
    "Squeeze": f"{ROW} c = Squeeze (t, z)",
    "Transpose": f"{TWO} {ROW} u = Transpose (t) c = Reshape (u, n)",
    "Flatten": f"{TWO} t = Flatten <axis = 0> (x) c = Reshape (t, n)",
    "Tile": f"{TWO} {FIRST} t = Gather (x, z) c = Tile (t, n)",
    "Pad": f"""{FIRST} t = Gather (a, z) p = Constant <value_ints = [0, 1]> ()
        w = Constant <value = string {{"p"}}> () c = Pad (t, p, w)""",
    "Compress": f"{BOTH} m = Constant <value = bool[4] {{1, 0, 0, 1}}> () "
    "c = Compress <axis = 0> (t, m)",
    "Slice": f"{BOTH} b = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> () "
    "c = Slice (t, b, e)",
    "Split": f"{BOTH} u, c = Split <axis = 0, num_outputs = 2> (t)",
    "Cast": f"{TWO} t = Size (x) u = Cast <to = 8> (t) c = Expand (u, n)",
    "Cast of float64": f"{TWO} t = Constant <value = double {{0.1234567890123}}> () "
    "u = Cast <to = 8> (t) c = Expand (u, n)",
    "CastLike": f"{TWO} t = Shape (x) u = CastLike (t, x) c = Expand (u, n)",
    "StringNormalizer": 't = StringConcat (a, x) c = StringNormalizer <case_change_action = "UPPER"> (t)',  # noqa: E501
    "StringSplit": """u, v = StringSplit <delimiter = "b"> (a) i = Constant <value_int = 0> ()
        c = Gather <axis = 1> (u, i)""",
    "RegexFullMatch": 'm = RegexFullMatch <pattern = "a.*"> (x) c = Where (m, a, x)',
    "Equal": "m = Equal (a, x) c = Where (m, x, a)",
    "Unique": f"{BOTH} u = Unique (t) i = Constant <value_ints = [0, -1]> () c = Gather (u, i)",
    "Unique rows": f"{ROW} u = Unique <axis = 1> (t) i = Constant <value_ints = [0, -1]> () "
    "v = Gather <axis = 1> (u, i) c = Squeeze (v, z)",
    "ReverseSequence": f"{TWO} {ROW} l = Constant <value_ints = [2]> () "
    "u = ReverseSequence <batch_axis = 0, time_axis = 1> (t, l) c = Squeeze (u, z)",
    "Trilu": f"{ROW} u = Trilu (t) c = Squeeze (u, z)",
    "OneHot": f"""{TWO} i = Constant <value_ints = [1]> () d = Constant <value_int = 2> ()
        t = OneHot (i, d, x) c = Reshape (t, n)""",
    "LabelEncoder": 'c = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], '
    'values_strings = ["b", "c"], default_string = "d"> (x)',
    "ArrayFeatureExtractor": f"{SWAPPED} {TWO} t = ai.onnx.ml.ArrayFeatureExtractor (x, i) "
    "c = Reshape (t, n)",
    "CenterCropPad": f"{TWO} {BOTH} c = CenterCropPad (t, n)",
    "Constant": 'c = Constant <value_strings = ["k", "l"]> ()',
    "Optional": "t = Optional (x) c = OptionalGetElement (t)",
    "Sequences": """t = SequenceConstruct (a) i = Constant <value_int = 0> ()
        u = SequenceInsert (t, x) v = ConcatFromSequence <axis = 0> (u)
        b = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> ()
        c = Slice (v, b, e)""",
    "SequenceErase": """t = SequenceEmpty <dtype = 8> () u = SequenceInsert (t, a)
        v = SequenceInsert (u, x) k = SequenceLength (v) o = Constant <value_int = 2> ()
        i = Sub (k, o) s = SequenceErase (v, i) c = SequenceAt (s, i)""",
    "CategoryMapper": """i = ai.onnx.ml.CategoryMapper <cats_int64s = [0, 1],
        cats_strings = ["a", "b"], default_int64 = 1> (x) c = Gather (a, i)""",
    "OneHotEncoder": """t = ai.onnx.ml.OneHotEncoder <cats_strings = ["a", "b"]> (x)
        i = Constant <value_int = 1> () u = Gather <axis = 1> (t, i) m = Cast <to = 9> (u)
        c = Where (m, a, x)""",
    "TfIdfVectorizer": """t = TfIdfVectorizer <mode = "TF", min_gram_length = 1,
        max_gram_length = 1, max_skip_count = 0, ngram_counts = [0], ngram_indexes = [0, 1],
        pool_strings = ["a", "b"]> (x) m = Cast <to = 9> (t) c = Where (m, a, x)""",
    "DepthToSpace": f"""{TWO} {BOTH} q = Constant <value_ints = [1, 4, 1, 1]> ()
        u = Reshape (t, q) v = DepthToSpace <blocksize = 2> (u)
        w2 = SpaceToDepth <blocksize = 1> (v)
        e = Constant <value_ints = [4]> () k = Reshape (w2, e)
        i = Constant <value_ints = [0, 3]> () c = Gather (k, i)""",
    "OptionalHasElement": "t = Optional (x) m = OptionalHasElement (t) c = Where (m, x, a)",
    "SplitToSequence": f"""{TWO} i = Constant <value_int = 0> ()
        t = SplitToSequence <axis = 0, keepdims = 0> (x) u = SequenceAt (t, i) c = Expand (u, n)""",
}
PICKED = """p1 = Constant <value_int = 1> () p2 = Add (p0, p1) p3 = Constant <value_ints = [0]> ()
    p4 = Unsqueeze (p0, p3) p5 = Unsqueeze (p2, p3) p6 = Slice (w, p4, p5) x = Squeeze (p6, p3)"""
FORMS = {
    "scan": """g (string[2] f, string[T,2] w) =>
            (string[2] last, string[T,2] all, string[T,2] own) {
        last, all, own = Scan <num_scan_inputs = 1, body = b (string[2] a, string[2] x)
            => (string[2] c, string[2] made, string[2] held)
            { %s made = Identity (c) held = StringConcat (f, x) }> (f, w) }""",
    "loop": """g (string[2] f, string[T,2] w, int64 trip) =>
            (string[2] last, string[2] before, string[T,2] all, string[L] joined) {
        l0 = SequenceConstruct (f)
        last, before, list, all = Loop <body = b (int64 p0, bool g0, string[2] a, string[2] a0, l1)
            => (bool g1, string[2] c, string[2] old, l2, string[2] made)
            { g1 = Identity (g0) PICKED %s old = Identity (a) l2 = SequenceInsert (l1, c)
              made = StringConcat (f, c) }> (trip, "", f, f, l0)
        joined = ConcatFromSequence <axis = 0> (list) }""".replace("PICKED", PICKED),
    "if": """g (string[2] a, string[T,2] w, int64 trip) => (string[2] found, string[2] same) {
        p0 = Constant <value_int = 0> () is_some = Greater (trip, p0)
        found, same = If (is_some) <
            then_branch = yes () => (string[2] c, string[2] own) { PICKED %s own = Identity (a) },
            else_branch = no () => (string[2] e, string[2] e) { e = StringConcat (a, a) }> }"""
    .replace("PICKED", PICKED),
}  # fmt: skip
WORDS = np.array(
    [["a", "b"], ["c", "a"], ["b", ""], ["aa", "c"], ["text beyond the small ones", "f"]], object
)
START = np.array(["a", "bq"], object)


def answer(session, feeds):
    try:
        return [np.asarray(value).tolist() for value in session.run(None, feeds)]
    except RunError:
        return "an error"


def fed(form, trip):
    return {
        "scan": {"f": START, "w": WORDS[:trip]},
        "loop": {"f": START, "w": WORDS, "trip": np.array(trip)},
        "if": {"a": START, "w": WORDS, "trip": np.array(trip)},
    }[form]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_operators_on_text(operator, form):
    text = HEAD + FORMS[form] % OPERATORS[operator]
    session = treadle.InferenceSession(text)
    definition = treadle.InferenceSession(text, engines=("interp",))
    for trip in (0, 1, 2, 5):
        expected = answer(definition, fed(form, trip))
        assert [answer(session, fed(form, trip)) for _ in range(2)] == [expected] * 2


def test_a_scan_that_joins_letters():
    text = """g (string a, string[T] w) => (string z, string[T] all) {
        z, all = Scan <num_scan_inputs = 1, body = b (string s, string x) => (string c, string o)
            { c = StringConcat (s, x) o = Identity (c) }> (a, w) }"""
    session = treadle.InferenceSession(HEAD + text)
    letters = "abcdefghijklmnop"
    last, every = session.run(None, {"a": np.array("", object), "w": np.array([*letters], object)})
    assert str(last) == letters
    assert every.tolist() == [letters[: k + 1] for k in range(len(letters))]


def test_rows_of_text():
    text = "g (string[A,B] x, int64[N] k) => (string[N,B] y) { y = Gather (x, k) }"
    session = treadle.InferenceSession(HEAD + text)
    (found,) = session.run(None, {"x": WORDS, "k": np.array([1, 0])})
    assert found.tolist() == WORDS[[1, 0]].tolist()


@pytest.mark.parametrize(("width", "engine"), [("1", "onnxruntime"), ("2", "interp")])
def test_the_engine_of_a_gather_of_strings(model_of, width, engine):
    text = f"g (string[A,{width}] x, int64[N] k) => (string[N,{width}] y) {{ y = Gather (x, k) }}"
    planned = plan(infer(model_of(text)), [Onnxruntime()])
    assert [region.engine for region in planned.main.regions] == [engine]


def test_all_white_space_splits():
    text = "g (string[2] x) => (string[2,N] y, int64[2] n) { y, n = StringSplit (x) }"
    session = treadle.InferenceSession(HEAD + text)
    parts, counts = session.run(None, {"x": np.array(["", "a\tb c\n"], object)})
    assert (parts.tolist(), counts.tolist()) == ([["", "", ""], ["a", "b", "c"]], [0, 3])


@pytest.mark.parametrize("step", ["RegexFullMatch (u)", "ai.onnx.ml.LabelEncoder (u)"])
def test_an_operand_without_a_type_is_survived(step):
    text = f"""g (int64 x) => (y) {{ d = Constant <value_int = 2> ()
        v = Constant <value_strings = ["a", "b"]> () u = OneHot (x, d, v) y = {step} }}"""
    with pytest.raises(InvalidModel):
        treadle.InferenceSession(HEAD + text)
