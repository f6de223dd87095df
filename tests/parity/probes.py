"""Calls that onnxruntime and treadle answer alike, each a function of the package.

A probe says which public names it stands for. What it gives is compared, or what it raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.parity.models import model

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
W = np.array([[2, 1], [4, 3], [6, 5]], np.float32)

Probe = Callable[[Any], Any]
PROBES: dict[str, Probe] = {}
COVERED: dict[str, set[str]] = {}


def probe(*names: str) -> Callable[[Probe], Probe]:
    """Register a function as the probe of public names: "InferenceSession.run"."""

    def add(function: Probe) -> Probe:
        PROBES[function.__name__] = function
        for name in names:
            COVERED.setdefault(name, set()).add(function.__name__)
        return function

    return add


def several(cases: dict[str, Probe], *names: str) -> None:
    """Register functions by name."""
    for name, function in cases.items():
        PROBES[name] = function
        for public in names:
            COVERED.setdefault(public, set()).add(name)


def session(ort: Any, name: str = "mul", *args: Any, **kwargs: Any) -> Any:
    """A session of a model."""
    return ort.InferenceSession(model(name), *args, **kwargs)


def ortvalue(ort: Any, array: np.ndarray) -> Any:
    """An OrtValue over an array."""
    return ort.OrtValue.ortvalue_from_numpy(array)
