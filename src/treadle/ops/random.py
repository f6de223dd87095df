"""Which operators may give something else each time."""

from __future__ import annotations

RANDOM = frozenset(
    {
        "Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike",
        "RandomUniform", "RandomUniformLike",
    }
)  # fmt: skip
"""Operators of the standard whose results depend on chance; schemas do not say so of all."""
