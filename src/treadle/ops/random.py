"""Operators with random results, and the generator they draw from."""

from __future__ import annotations

import numpy as np

RANDOM = frozenset(
    {
        "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike",
    }
)  # fmt: skip
"""Operators of the standard with random results; schemas do not mark all of them."""

_shared: list[np.random.RandomState] = []


def set_seed(seed: int) -> None:
    """Seed the generator for operators that have no seed of their own."""
    _shared[:] = [np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed % 2**64)))]


def generator(seed: float | None) -> np.random.RandomState:
    """The generator for an operator: a new one if it has a seed, else the shared one."""
    if seed is None and _shared:
        return _shared[0]
    return np.random.RandomState(None if seed is None else int(seed))
