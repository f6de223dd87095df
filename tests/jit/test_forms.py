"""Forms of operators that the standard's own cases leave out, against their numpy kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.jit.leaves import leaf, natively
from tests.values import assert_same
from treadle import ops

RANDOM = np.random.default_rng(41)
BYTES = RANDOM.integers(0, 256, (2, 3, 4)).astype(np.uint8)
OTHERS = RANDOM.integers(0, 256, (4, 5)).astype(np.uint8)


def zeros(count: int) -> np.ndarray:
    return RANDOM.integers(1, 9, count).astype(np.uint8)


A = RANDOM.uniform(1, 2, (2, 3, 4)).astype(np.float32)
ROW = RANDOM.uniform(1, 2, 3).astype(np.float32)
WHOLE = np.array([0, 1, -1, 2, -3, 7, 2, 3], np.int32)
ABOVE = np.array([0, 1, 5, 31, 3, 2, 33, 0], np.int64)
HALVES = np.array([2, 3, 1, 0.5, 2, 0, 1, 1], np.float32)
X = RANDOM.uniform(-1, 1, (5, 2, 3)).astype(np.float32)
LENGTHS = np.array([3, 5], np.int32)


def cell(gates: int, bias: int) -> tuple[np.ndarray, ...]:
    """Weights of both directions of a recurrence of two numbers."""
    shapes = (2, gates * 2, 3), (2, gates * 2, 2), (2, bias * 2)
    return tuple(RANDOM.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)


def widths(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


BOTH = {"hidden_size": 2, "direction": "bidirectional"}
FORMS = {
    **{
        f"{op}, sequences of several lengths": (
            op, 22, (X, *cell(gates, bias), LENGTHS), {**BOTH, "results": results},
        )
        for op, gates, bias, results in (("RNN", 1, 2, 2), ("GRU", 3, 6, 2), ("LSTM", 4, 8, 3))
    },
    **{
        f"Pad that goes on, {mode}": (
            "Pad", 19, (A, widths(0, 2, 3, 1, 1, 2)), {"mode": mode, "fixed": (1,)},
        )
        for mode in ("reflect", "edge", "wrap")
    },
    "Pad that cuts and goes on": (
        "Pad", 19, (A, widths(0, -1, 3, -1, 1, 2)), {"mode": "reflect", "fixed": (1,)},
    ),
    "Pow of whole numbers": ("Pow", 15, (WHOLE, ABOVE), {}),
    "Pow of bytes": ("Pow", 15, (WHOLE.astype(np.uint8), ABOVE.astype(np.uint8)), {}),
    "Pow, a whole number by a float": ("Pow", 15, (ABOVE, HALVES), {}),
    "Pow, a float by a whole number": ("Pow", 15, (A[0, 0], WHOLE[2:6]), {}),
    "Sub-6, an axis from the end": ("Sub", 6, (A, ROW), {"broadcast": 1, "axis": -2}),
    "Div-6, the last axes": ("Div", 6, (A, A[0]), {"broadcast": 1}),
    "Sub-6, one number": ("Sub", 6, (A, ROW[0]), {"broadcast": 1, "axis": 1}),
    "MatMulInteger, zero points by row": ("MatMulInteger", 10, (BYTES[0], OTHERS, zeros(3)), {}),
    "MatMulInteger, by row of a batch": ("MatMulInteger", 10, (BYTES, OTHERS, zeros(3)), {}),
    "MatMulInteger, by row and column": (
        "MatMulInteger", 10, (BYTES[0], OTHERS, zeros(3), zeros(5)), {},
    ),
    "MatMulInteger, none and by column": (
        "MatMulInteger", 10, (BYTES[0], OTHERS, None, zeros(5)), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_native_code_gives_what_numpy_gives(name):
    op, version, inputs, attributes = FORMS[name]
    attributes = dict(attributes)
    results, fixed = attributes.pop("results", 1), attributes.pop("fixed", ())
    made = leaf(op, version, len(inputs), results, **attributes)
    given = (v if each is not None else None for v, each in zip(made.operands, inputs, strict=True))
    step = replace(made, operands=tuple(given))
    wanted = ops.prepare(step)(inputs)
    found, is_native = natively(step, inputs, fixed)
    assert is_native
    assert_same(found, wanted, [name] * results)
