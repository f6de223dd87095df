"""Random numbers that depend on a name only, not on earlier draws."""

from zlib import crc32

import numpy as np


def seeded(name: object) -> np.random.Generator:
    """The generator of a name, such as a test's id, a table's row or what hypothesis drew.

    Tests take theirs from the fixture `rng`; this is for tables that are made at import, which
    name each of their arrays, and for tests with `given`, which no fixture may serve.
    """
    return np.random.default_rng(crc32(str(name).encode()))
