"""Bytes of results that operands size, before they are made: as many as the kernel then makes."""

import numpy as np
import pytest

from treadle import ops

CASES = {
    "Range": ([np.float32(1), np.float32(9), np.float32(0.5)], 16 * 4),
    "Pad": ([np.zeros((2, 3), np.float32), np.array([1, 0, 0, 2])], 3 * 5 * 4),
    "OneHot": ([np.array([0, 1, 2]), np.int64(7), np.float32([0, 1])], 3 * 7 * 4),
    "MelWeightMatrix": (
        [np.int64(8), np.int64(16), np.int64(8192), np.float32(0), np.float32(4096)],
        9 * 8 * 4,
    ),
    "Tile": ([np.zeros((2, 3), np.float32), np.array([2, 5])], 60 * 4),
}


@pytest.mark.parametrize("op", CASES)
def test_counted(op: str) -> None:
    operands, wanted = CASES[op]
    count = ops.result_bytes(op)
    assert count is not None
    assert count(operands) == wanted


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("Range", [np.int64(0), np.int64(2**62), np.int64(1)]),
        ("Pad", [np.zeros((2, 3), np.float32), np.array([0, 0, 2**40, 2**40])]),
        ("OneHot", [np.array([0]), np.int64(2**60), np.float32([0, 1])]),
        (
            "MelWeightMatrix",
            [np.int64(2**30), np.int64(2**30), np.int64(8192), np.float32(0), np.float32(4096)],
        ),
    ],
)
def test_what_no_machine_holds_is_an_error_of_interp(op: str, operands: list) -> None:
    import treadle

    with pytest.raises(treadle.RunError, match="its result would have"):
        treadle.operator(op, opset=18)(*operands)
