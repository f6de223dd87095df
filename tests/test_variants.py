"""The kinds of runs in words."""

import pytest

from treadle.variants import PLAIN, Variant

WORDS = {
    "ordinary runs": PLAIN,
    "runs with a listener": Variant(watched=True),
    "runs with bounded bytes, with a listener": Variant(watched=True, weighed=True),
    "runs that feed a, b": Variant(overridden=frozenset("ba")),
    "runs with bounded iterations and bytes, that feed a": Variant(
        bounded=True, weighed=True, overridden=frozenset("a")
    ),
}


@pytest.mark.parametrize("words", WORDS)
def test_words(words: str) -> None:
    assert WORDS[words].words == words
