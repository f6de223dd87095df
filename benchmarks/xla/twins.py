"""Functions of feeds, by the names of models, jitted with fixed trip counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from benchmarks.registry import Arrays

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

TWINS: dict[str, Callable[..., Any]] = {}


def twin(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put a function beside the model of its name; a parameter `n` is a static trip count."""
    TWINS[function.__name__] = function
    return function


def prepare(name: str, feed: Mapping[str, np.ndarray]) -> Callable[[], Arrays] | None:
    """A jitted call on arrays already JAX's, or None where there is no such function."""
    function = TWINS.get(name)
    if function is None:
        return None
    fixed = {"n": int(feed["n"])} if "n" in feed else {}
    arrays = {key: jax.numpy.asarray(value) for key, value in feed.items() if key != "n"}
    compiled = jax.jit(lambda given: function(**given, **fixed))

    def call() -> Arrays:
        return [np.asarray(value) for value in jax.block_until_ready(compiled(arrays))]

    return call
