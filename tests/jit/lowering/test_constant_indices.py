"""Gather of constant indices in a loop: views where they run in even steps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

import treadle

TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (int64 n, float[{shape}] x0) => (float[{shape}] x, float[{stacked}] all) {{
  x, all = Loop (n, "", x0) <body = b (int64 i, bool c, float[{shape}] x)
    => (bool co, float[{shape}] xo, float[{element}] y) {{
    co = Identity (c)
    at = Constant <value_ints = [{indices}]> ()
    y = Gather <axis = {axis}> (x, at)
    xo = Neg (x)
  }}>
}}"""
RUNS = {
    "a roll": [9, *range(9)],
    "a roll of negative indices": [*range(-4, 0), *range(6)],
    "reversed": [*range(9, -1, -1)],
    "every third": [0, 3, 6, 9],
    "one item often": [4] * 20,
    "pairs": [0, 5, 1, 6, 2, 7, 3, 8],
    "eight runs": [0, 1, 0, 1, 0, 1, 0, 1],
    "many runs": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3],
}


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize(("shape", "axis"), [((10,), 0), ((3, 10, 20), 1), ((2, 30, 10), -1)])
def test_items_of_a_carried_array(
    kind: str, shape: tuple[int, ...], axis: int, rng: np.random.Generator
) -> None:
    x, indices = rng.standard_normal(shape, np.float32), RUNS[kind]
    found = native(shape, axis, indices, x)
    wanted = np.stack([np.take(x * (-1) ** k, indices, axis) for k in range(3)])
    np.testing.assert_array_equal(found, wanted)


def test_an_index_out_of_range_is_an_error(rng: np.random.Generator) -> None:
    x = rng.standard_normal(10, np.float32)
    with pytest.raises(treadle.TreadleError, match="10"):
        native((10,), 0, [8, 9, 10], x)


def native(shape: tuple[int, ...], axis: int, indices: list[int], x: np.ndarray) -> np.ndarray:
    """What three iterations stack, by native code."""
    element = list(shape)
    element[axis] = len(indices)
    text = TEXT.format(
        shape=_listed(shape), element=_listed(element), stacked=_listed(["T", *element]),
        indices=_listed(indices), axis=axis,
    )  # fmt: skip
    session = treadle.InferenceSession(text, engines=("jit", "interp"))
    return session.run(["all"], {"n": np.array(3), "x0": x})[0]


def _listed(extents: Iterable[object]) -> str:
    return ", ".join(map(str, extents))
