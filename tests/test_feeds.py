"""Repeated feeds: known types are accepted quickly, invalid feeds are errors."""

from __future__ import annotations

import numpy as np
import pytest

from treadle.errors import InputError
from treadle.feeds import InputBinder
from treadle.ir import Sequence, Symbol, tensor

INPUTS = {"x": tensor("float32", 2, Symbol("N")), "s": Sequence(tensor("int64")), "u": None}


def fed(x):
    return {"u": 3.5, "x": x, "s": [np.int64(1)]}


def test_values_come_in_the_order_of_the_inputs():
    bind = InputBinder.of(INPUTS)
    for columns in (3, 3, 4, 3):
        x = np.zeros((2, columns), np.float32)
        found, items, other = bind(fed(x))
        assert found is x
        assert items == [1]
        assert other == 3.5


@pytest.mark.parametrize("x", [
    np.zeros((2, 3)), np.zeros((3, 2), np.float32), np.zeros(6, np.float32), [[1, 2]], None
])  # fmt: skip
def test_an_invalid_feed_after_a_valid_one_is_an_error(x):
    bind = InputBinder.of({"x": INPUTS["x"]})
    for _ in range(2):
        bind({"x": np.zeros((2, 3), np.float32)})
        with pytest.raises(InputError, match="x"):
            bind({"x": x})


def test_feeds_that_need_conversion_are_converted_in_every_run():
    bind = InputBinder.of({"x": INPUTS["x"]})
    for given in ([[1.5], [2.5]], np.array([[1.5], [2.5]], ">f4"), np.array([[1.5], [2.5]], "f4")):
        (found,) = bind({"x": given})
        assert found.dtype == np.float32
        assert found.dtype.isnative
        assert found.tolist() == [[1.5], [2.5]]


def test_names_are_checked_every_time():
    bind = InputBinder.of({"x": INPUTS["x"]})
    x = np.zeros((2, 3), np.float32)
    bind({"x": x})
    with pytest.raises(InputError, match='no input "y"'):
        bind({"x": x, "y": x})
    with pytest.raises(InputError, match='"x" is missing'):
        bind({})
