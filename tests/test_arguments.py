"""The words errors of arguments are made of."""

import pytest

from treadle.arguments import a_or_an


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
