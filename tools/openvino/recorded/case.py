"""A recorded case: a layer, and values to feed it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from openvino import opset1

CASES: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {}
RANDOM = np.random.default_rng(7)


def f(*shape: int) -> np.ndarray:
    """Floats around 0."""
    return RANDOM.normal(size=shape).astype(np.float32)


def pos(*shape: int) -> np.ndarray:
    """Floats between 0 and 1."""
    return RANDOM.uniform(0.1, 0.9, size=shape).astype(np.float32)


def i(*items: Any, dtype: Any = np.int64) -> np.ndarray:
    """Whole numbers."""
    return np.array(items, dtype)


def b(*items: Any) -> np.ndarray:
    """Truths."""
    return np.array(items, bool)


def const(array: Any, dtype: Any = np.int64) -> Any:
    """A Const layer."""
    return opset1.constant(np.array(array, dtype))


def case(name: str, make: Callable[..., Any], *inputs: np.ndarray) -> None:
    """Enter a case; `make` gives a layer of its inputs."""
    assert name not in CASES, name
    CASES[name] = (make, list(inputs))
