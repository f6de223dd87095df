"""Random numbers that depend on a name only, not on earlier draws."""

from collections.abc import Mapping
from zlib import crc32

import numpy as np


def seeded(name: object) -> np.random.Generator:
    """The generator of a name, such as a test's id, a table's row or what hypothesis drew.

    Tests take theirs from the fixture `rng`; this is for tables that are made at import, which
    name each of their arrays, and for tests with `given`, which no fixture may serve.
    """
    return np.random.default_rng(crc32(str(name).encode()))


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """An array of float32 between -1 and 1."""
    return rng.uniform(-1, 1, shape).astype(np.float32)


def drawn(
    rng: np.random.Generator, shapes: Mapping[str, tuple[int, ...]], trips: int
) -> dict[str, np.ndarray]:
    """The inputs of a loop: `n`, its trip count, and arrays of these shapes."""
    return {"n": np.array(trips), **{name: floats(rng, *shape) for name, shape in shapes.items()}}
