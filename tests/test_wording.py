"""The wording of argument errors."""

import pytest

from treadle.messages import a_or_an, brief, in_our_notation, join_words


@pytest.mark.parametrize(
    "words",
    [
        "an int", "a list", "an array", "a uint8[3]", "an int64", "an If", "an LSTM", "a GRU",
        "an RNN", "a Unique", "an Unsqueeze", "a UTF", "an onnx_ir.Model", "a float", "an 8",
        "an InferenceSession", "an ONNX model", "a SessionOptions", "a NodeProto",
    ],
)  # fmt: skip
def test_the_article_a_word_wants(words):
    assert a_or_an(words.partition(" ")[2]) == words


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("shapes (2,3) (4,) ()", "shapes [2,3] [4] []"),
        ("Got: {2, 3} Expected: {0}", "Got: [2,3] Expected: [0]"),
        ("into shape (1,newaxis,-1)", "into shape [1,?,?]"),
        ("the split [2, 2] of", "the split [2,2] of"),
        ("called f() with (one) argument", "called f() with (one) argument"),
    ],
)
def test_shapes_of_other_libraries(theirs, ours):
    assert in_our_notation(theirs) == ours


def test_a_long_text_keeps_its_ends():
    text = "begin " + "word " * 1000 + "end"

    short = brief(text, 100)

    assert len(short) <= 105
    assert short.startswith("begin word")
    assert short.endswith("word end")
    assert " ... " in short


def test_of_many_words_the_first_are_said():
    assert join_words("abc") == "a, b, c"
    assert join_words("abcdefghij") == "a, b, c, d, e, f, g, h ... and 2 more"
