"""Loops with both a trip count and slices, as in OpenVINO, end with the slices."""

from __future__ import annotations

import numpy as np
import pytest

import treadle
from tests.jit.native import natives, outcomes, refused_nothing
from tests.values import assert_same
from treadle.errors import RunError
from treadle.ir import BlockBuilder, Carried, Iteration, Model, Sliced, Stacked, tensor
from treadle.jit.runtime.invoke import CompiledKernel

X = np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2].copy()


def running(reverse: bool) -> Model:
    """Running sums of the first M columns of x."""
    body = BlockBuilder("body")
    body.param("i", tensor("int64"))
    s, e = body.param("s", tensor("float32", 2)), body.param("e", tensor("float32", 2))
    t = body.leaf("Add", 14, s, e)
    block = BlockBuilder("main")
    trip, a = block.param("M", tensor("int64")), block.param("a", tensor("float32", 2))
    x = block.param("x", tensor("float32", 2, None))
    roles = (Iteration(), Carried(), Sliced(1, reverse))
    results = block.loop(trip, None, body.build(None, t, t), roles, (a, x), (Stacked(1),))
    return Model(block.build(*results), opsets={"": 21})


@pytest.mark.parametrize("reverse", [False, True])
def test_a_trip_count_up_to_the_number_of_slices(reverse):
    native = treadle.InferenceSession(running(reverse), engines=("jit", "interp"))
    plain = treadle.InferenceSession(running(reverse), engines=("interp",))
    for trips in (1, 2, 3, 0, -1):
        feed = {"M": np.array(trips), "a": np.ones(2, np.float32), "x": X}
        with refused_nothing():
            found = native.run(None, feed)
        assert_same(found, plain.run(None, feed), ["last", "all"])
    assert all(isinstance(made, CompiledKernel) for made in outcomes(native))
    assert natives(native)


@pytest.mark.parametrize("trips", [4, 5, 2**62])
def test_more_trips_than_slices_are_an_error(trips):
    session = treadle.InferenceSession(running(False), engines=("jit", "interp"))
    feed = {"M": np.array(trips), "a": np.ones(2, np.float32), "x": X}
    with pytest.raises(RunError, match=f"the trip count is {trips}, but .* has 3 items"):
        session.run(None, feed)
    assert [made for made in outcomes(session) if isinstance(made, CompiledKernel)]
