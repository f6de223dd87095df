"""A list that a loop only appends to is written as a stacked output; other lists are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.formats.openvino.write.written import run, text, write
from treadle.errors import Unsupported

APPENDED = text(
    "float[n, 2] x",
    "float[n, 2] y",
    """
    start = SequenceEmpty()
    dims = Shape(x)
    zero = Constant <value_int = 0> ()
    trips = Gather(dims, zero)
    zeros = Constant <value = float[2] {0.0, 0.0}> ()
    sum, list = Loop <body = body (int64 i, bool go, float[2] acc, seq(float[2]) s)
        => (bool go, float[2] new, seq(float[2]) next)
        { row = Gather(x, i) new = Add(acc, row) next = SequenceInsert(s, newPLACE) }>
        (trips, "", zeros, start)
    y = ConcatFromSequence <axis = 0, new_axis = 1> (list)""",
)


def test_a_list_that_only_grows_is_written_as_a_stacked_output(tmp_path: Path) -> None:
    model = APPENDED.replace("PLACE", "")
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    (found,) = run(write(model, tmp_path), {"x": x})
    np.testing.assert_array_equal(found, np.cumsum(x, axis=0))


def test_lists_that_do_not_become_stacks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="main/loop_5: Loop-21: list is seq"):
        write(APPENDED.replace("PLACE", ", zero"), tmp_path)
