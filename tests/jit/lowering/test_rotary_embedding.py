"""RotaryEmbedding in native code, against its numpy kernel."""

from __future__ import annotations

import numpy as np
import pytest

from tests.jit.leaves import is_native, leaf, natively
from tests.jit.native import check_uncalled
from tests.values import assert_same
from treadle import ops
from treadle.ir import DType
from treadle.jit.kernel.declined import Declined

BATCH, LENGTH, HEADS, WIDTH, ROWS = 2, 5, 3, 8, 16
POSITIONS = np.array([[0, 3, 15, 2, 7], [-1, 0, -16, 4, 4]])
LAYOUTS = {3: ((BATCH, LENGTH, HEADS * WIDTH), {"num_heads": HEADS}),
           4: ((BATCH, HEADS, LENGTH, WIDTH), {})}  # fmt: skip


def tables(rng: np.random.Generator, half: int, *, by_position: bool) -> list[np.ndarray]:
    """Cosines and sines: a row for each position, or for each element of the sequences."""
    shape = (ROWS, half) if by_position else (BATCH, LENGTH, half)
    angles = rng.uniform(-3, 3, shape)
    return [np.cos(angles), np.sin(angles)]


@pytest.mark.parametrize("by_position", [True, False])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("size", [0, 6])
@pytest.mark.parametrize("rank", LAYOUTS)
def test_native_code_agrees_with_numpy(rank, size, interleaved, by_position, rng):
    shape, attributes = LAYOUTS[rank]
    rotated = tables(rng, (size or WIDTH) // 2, by_position=by_position)
    floats = [rng.uniform(-1, 1, shape), *rotated]
    step = leaf("RotaryEmbedding", 23, 3 + by_position, 1, interleaved=interleaved,
                rotary_embedding_dim=size, **attributes)  # fmt: skip
    narrow = (np.dtype(np.float16), DType.BFLOAT16.numpy)
    for dtype in (
        np.dtype(np.float32),
        *(narrow if bool(size) == bool(interleaved) == by_position else ()),
    ):
        inputs = [each.astype(dtype) for each in floats] + [POSITIONS] * by_position
        found, native = natively(step, inputs)
        assert native
        assert_same(found, ops.bind_kernel(step)(inputs), ["y"])


MISFITS = {
    "a table of another width": ((2, 3, 5, 8), (16, 3), (2, 5), {}),
    "a table of another rank": ((2, 3, 5, 8), (2, 16, 4), (2, 5), {}),
    "positions of other batches": ((2, 3, 5, 8), (16, 4), (1, 5), {}),
    "an odd number of elements": ((2, 3, 5, 7), (16, 3), (2, 5), {}),
    "more elements than a head has": ((2, 3, 5, 8), (16, 5), (2, 5), {"rotary_embedding_dim": 10}),
    "no number of heads": ((2, 5, 24), (16, 4), (2, 5), {}),
    "heads of unequal widths": ((2, 5, 24), (16, 2), (2, 5), {"num_heads": 5}),
    "a matrix": ((5, 8), (16, 4), (1, 5), {}),
}


@pytest.mark.parametrize("name", MISFITS)
def test_invalid_operands_have_no_native_code(name, rng):
    shape, table, positions, attributes = MISFITS[name]
    shapes = (shape, table, table)
    inputs = [rng.uniform(-1, 1, each).astype(np.float32) for each in shapes]
    inputs.append(np.zeros(positions, np.int64))
    try:
        assert not is_native(leaf("RotaryEmbedding", 23, 4, 1, **attributes), inputs)
    except Declined:
        return


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
def test_a_loop_rotates_by_its_iteration_number(trips, rng):
    text = """g (int64 n, float[1,H,1,8] x, float[P,4] c, float[P,4] s) => (float[A,B,C,D] last) {
      last = Loop (n, , x) <body = f (int64 i, bool go, float[1,H,1,8] y)
        => (bool on, float[1,H,1,8] z) {
        on = Identity (go)
        shape = Constant <value = int64[2] {1, 1}> ()
        at = Reshape (i, shape)
        z = RotaryEmbedding <rotary_embedding_dim = 8> (y, c, s, at)
      }>
    }"""
    head = '<ir_version: 11, opset_import: ["" : 23]>\n'
    feeds = [
        {
            "n": np.array(trips),
            "x": rng.uniform(-1, 1, (1, heads, 1, 8)).astype(np.float32),
            "c": rng.uniform(-1, 1, (rows, 4)).astype(np.float32),
            "s": rng.uniform(-1, 1, (rows, 4)).astype(np.float32),
        }
        for heads, rows in ((2, 9), (3, 5), (4, 7), (1, 6))
    ]
    check_uncalled(text, *feeds, head=head)
