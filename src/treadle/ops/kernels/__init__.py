"""Evaluation of leaf operators with numpy: one file per family of operators."""

from __future__ import annotations

import importlib
from functools import cache

from treadle.ops.kernels.registry import TABLE, Kernel
from treadle.ops.kernels.windows import Window, window

__all__ = ["Kernel", "Window", "kernel", "kernels", "window"]

_FAMILIES = (
    "arithmetic", "logic", "unary", "activation", "cast", "layout", "padding", "gather", "reduce",
    "construct", "sequence", "matrix", "random", "normalize", "pool", "quantize", "convolve",
    "recurrent", "resize", "strings", "categories", "own", "trusted",
)  # fmt: skip


def kernel(domain: str, op: str, version: int) -> Kernel | None:
    """What evaluates this version of an operator; None where nothing here does."""
    return kernels().get(("" if domain == "ai.onnx" else domain, op, version))


@cache
def kernels() -> dict[tuple[str, str, int], Kernel]:
    """Every kernel by (domain, operator, version); the families are imported on first use."""
    for family in _FAMILIES:
        importlib.import_module(f"treadle.ops.kernels.{family}")
    return TABLE
