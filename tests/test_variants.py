"""The kinds of runs in words."""

import numpy as np
import pytest

import treadle
from treadle.variants import PLAIN, RunMode

WORDS = {
    "ordinary runs": PLAIN,
    "runs with a listener": RunMode(watched=True),
    "runs with bounded bytes, with a listener": RunMode(watched=True, weighed=True),
    "runs that feed a, b": RunMode(overridden=frozenset("ba")),
    "runs with bounded iterations and bytes, that feed a": RunMode(
        bounded=True, weighed=True, overridden=frozenset("a")
    ),
}


@pytest.mark.parametrize("words", WORDS)
def test_run_modes_in_words(words: str) -> None:
    assert WORDS[words].words == words


def test_programs_are_bounded() -> None:
    names = [f"w{k}" for k in range(40)]
    defaults = ", ".join(f"float {name} = {{1}}" for name in names)
    body = " ".join(f"s{k + 1} = Add (s{k}, {name})" for k, name in enumerate(names))
    head = '<ir_version: 10, opset_import: ["" : 20]>'
    text = f"{head}\ng (float s0, {defaults}) => (float s40) {{ {body} }}"
    session = treadle.InferenceSession(text, engines=("interp",))
    for name in names:
        feeds = {"s0": np.float32(0), name: np.float32(3)}
        assert session.run(None, feeds) == [42]
    assert len(session._programs.made) <= 33
