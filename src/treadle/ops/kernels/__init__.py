"""Evaluation of leaf operators with numpy: one file per family of operators."""

from __future__ import annotations

import importlib
import threading
from functools import cache

from treadle.ops.kernels.registry import TABLE, Kernel
from treadle.ops.kernels.windows import Window, window

__all__ = ["Kernel", "Window", "kernel", "kernels", "window"]

_FAMILIES = (
    "arithmetic", "logic", "unary", "activation", "cast", "layout", "padding", "gather", "reduce",
    "construct", "sequence", "matrix", "random", "normalize", "pool", "quantize", "convolve",
    "recurrent", "resize", "strings", "categories", "own", "trusted",
)  # fmt: skip


_lock = threading.RLock()
_imported: list[str] = []


def kernel(domain: str, op: str, version: int) -> Kernel | None:
    """What evaluates this version of an operator; None where nothing here does.

    Families are imported one after the other until one has it; all of them take milliseconds.
    """
    key = ("" if domain == "ai.onnx" else domain, op, version)
    with _lock:
        while key not in TABLE and len(_imported) < len(_FAMILIES):
            family = _FAMILIES[len(_imported)]
            importlib.import_module(f"treadle.ops.kernels.{family}")
            _imported.append(family)
        return TABLE.get(key)


@cache
def kernels() -> dict[tuple[str, str, int], Kernel]:
    """Every kernel by (domain, operator, version)."""
    with _lock:
        for family in _FAMILIES:
            importlib.import_module(f"treadle.ops.kernels.{family}")
    return TABLE
