"""Indices of gathers: negative ones, ones out of range, none; checked one by one or all before."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import treadle
from tests.jit.kernel_text import kernel_of, run_kernel
from tests.jit.native import HEAD, check
from treadle.errors import RunError
from treadle.jit.runtime.compilation import generate_code

COUNTS = [0, 1, 5, 63, 64, 100]
MODELS = {
    "take": "y1 = Gather (y, at)",
    "take of columns": """
        two = Unsqueeze (y, zero)
        part = Gather <axis = 1> (two, at)
        y1 = Squeeze (part, zero)""",
    "take in two rows": """
        two = Concat <axis = 1> (column, column)
        rows = Transpose (two)
        part = Gather <axis = 1> (rows, at)
        y1 = ReduceMax <keepdims = 0> (part, zero)""",
    "take of columns of two": """
        two = Concat <axis = 1> (column, column)
        twice = Unsqueeze (two, zero)
        once = Mul (twice, factors)
        part = Gather <axis = 1> (once, at)
        most = ReduceMax <keepdims = 0> (part, ends)
        y1 = Identity (most)""",
    "gather": """
        pairs = Unsqueeze (at, one)
        y1 = GatherND (y, pairs)""",
    "gather of elements": "y1 = GatherElements (y, at)",
}


def text(body: str, count: int | str) -> str:
    return f"""g (int64 n, float[{count}] x, int64[{count}] at) => (float[{count}] z) {{
      zero = Constant <value = int64[1] {{0}}> ()
      one = Constant <value = int64[1] {{1}}> ()
      ends = Constant <value = int64[2] {{0, 2}}> ()
      factors = Constant <value = float[3, 1, 1] {{1, 1, 1}}> ()
      z = Loop (n, , x) <body = f (int64 i, bool go, float[{count}] y) =>
        (bool on, float[{count}] y1) {{
        on = Identity (go)
        column = Unsqueeze (y, one)
        {body}
      }}>
    }}"""


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", MODELS)
def test_indices_count_from_either_end(name: str, count: int, rng: np.random.Generator) -> None:
    x = rng.random(count, np.float32)
    at = rng.integers(-count, count, count) if count else np.zeros(0, np.int64)
    at[:2] = [-count, count - 1][: len(at[:2])] if count else at[:2]
    check(text(MODELS[name], "K"), *({"n": np.array(n), "x": x, "at": at} for n in (0, 1, 3)))


@pytest.mark.parametrize("count", [5, 100])
@pytest.mark.parametrize("name", MODELS)
def test_an_index_out_of_range_ends_the_run(
    name: str, count: int, rng: np.random.Generator
) -> None:
    session = treadle.InferenceSession(HEAD + text(MODELS[name], "K"), engines=("jit", "interp"))
    feed = {"n": np.array(2), "x": rng.random(count, np.float32), "at": rng.permutation(count)}
    session.run(None, feed)
    wrongs = (count, -count - 1, 2**62, -(2**63))
    for place, wrong in product((0, count // 2, count - 1), wrongs):
        at = feed["at"].copy()
        at[place] = wrong
        with pytest.raises(RunError, match="index"):
            session.run(None, feed | {"at": at})


KNOWN = """kernel
  %x: float32[40] = input 0
  %at: int64[64] = constant NUMBERS
  %y: float32[64] = take along 0 of %x, %at
  return %y"""


@pytest.mark.parametrize(("most", "is_checked"), [(39, False), (40, True)])
def test_known_indices_are_not_checked(most: int, is_checked: bool) -> None:
    text = KNOWN.replace("NUMBERS", " ".join(map(str, [*range(-39, 24), most])))
    assert ("icmp uge" in generate_code(kernel_of(text), ()).text) == is_checked
    if not is_checked:
        x = np.arange(40, dtype=np.float32)
        np.testing.assert_array_equal(run_kernel(text, x)[0], x[[*range(-39, 24), most]])
