"""The models of the suite: model, feeds, number of iterations, expected outputs.

    @benchmark("logistic map", kind="scalar", n=100_000, small=20)
    def logistic(n: int) -> Instance: ...

A function of the same name in `benchmarks/c` or `benchmarks/xla` is its twin in C or JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Instance:
    """A model at one size. `sizes` are what C is told of shapes, before the feed."""

    model: str
    feed: Mapping[str, np.ndarray]
    iterations: int
    reference: Callable[..., Arrays]
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Benchmark:
    """A model of the suite, its size there, and the size tests run.

    `tolerance` is relative and absolute, where that of the dtype is not meant; `outliers` is the
    share of elements that may differ altogether, where a threshold makes rounding visible.
    """

    name: str
    title: str
    kind: str
    make: Callable[[int], Instance]
    n: int
    small: int
    twin: str
    tolerance: tuple[float, float] | None = None
    outliers: float = 0.0


REGISTERED: dict[str, Benchmark] = {}


def benchmark(
    title: str,
    *,
    kind: str,
    n: int,
    small: int,
    name: str = "",
    tolerance: tuple[float, float] | None = None,
    outliers: float = 0.0,
) -> Callable[[Callable[[int], Instance]], Callable[[int], Instance]]:
    """Put the function that makes a model into the suite; `name` if it is not the function's."""

    def register(make: Callable[[int], Instance]) -> Callable[[int], Instance]:
        twin = make.__name__
        key = name or twin
        assert key not in REGISTERED, f"two benchmarks are called {key}"
        REGISTERED[key] = Benchmark(key, title, kind, make, n, small, twin, tolerance, outliers)
        return make

    return register


def random(seed: int) -> np.random.Generator:
    """The numbers of a model, the same in every run."""
    return np.random.default_rng(seed)


def uniform(generator: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    """Float32 numbers from -scale to scale."""
    return generator.uniform(-scale, scale, shape).astype(np.float32)


def scalars(**numbers: float) -> dict[str, np.ndarray]:
    """Float32 tensors of rank 0."""
    return {name: np.array(value, np.float32) for name, value in numbers.items()}


def count(n: int) -> np.ndarray:
    """A trip count."""
    return np.array(n, np.int64)
