"""Which operators may give something else each time, and where their chance comes from."""

from __future__ import annotations

import numpy as np

RANDOM = frozenset(
    {
        "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike",
    }
)  # fmt: skip
"""Operators of the standard whose results depend on chance; schemas do not say so of all."""

_shared: list[np.random.RandomState] = []


def set_seed(seed: int) -> None:
    """Have what has no seed of its own give the same from here on."""
    _shared[:] = [np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed % 2**64)))]


def generator(seed: float | None) -> np.random.RandomState:
    """The numbers an operator draws: new ones by its own seed, else what comes next."""
    if seed is None and _shared:
        return _shared[0]
    return np.random.RandomState(None if seed is None else int(seed))
