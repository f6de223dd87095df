"""Numpy kernels of leaf operators: one file per family of operators."""

from __future__ import annotations

import importlib
import os
import threading
from functools import cache

from treadle.ops.kernels.registry import TABLE, Kernel
from treadle.ops.kernels.windows import Window, window

__all__ = ["Kernel", "Window", "kernel", "kernels", "window"]

_FAMILIES = (
    "cast", "construct", "layout", "gather", "arithmetic", "reduce", "unary", "logic", "padding",
    "activation", "sequence", "matrix", "random", "normalize", "pool", "quantize", "convolve",
    "recurrent", "resize", "strings", "ml", "machines", "trees", "treadle_domain", "trusted",
)  # fmt: skip
"""First those that compute shapes, which loading a model folds."""


_imported: list[str] = []
_locks = [threading.RLock()]


def kernel(domain: str, op: str, version: int) -> Kernel | None:
    """The kernel for this version of an operator; None if there is none.

    Families are imported one after the other until one has it; all of them take milliseconds.
    """
    key = ("" if domain == "ai.onnx" else domain, op, version)
    if key in TABLE:
        return TABLE[key]
    with _locks[-1]:
        while key not in TABLE and len(_imported) < len(_FAMILIES):
            _import(_FAMILIES[len(_imported)])
        return TABLE.get(key)


@cache
def kernels() -> dict[tuple[str, str, int], Kernel]:
    """Every kernel by (domain, operator, version)."""
    with _locks[-1]:
        for family in _FAMILIES[len(_imported) :]:
            _import(family)
    return TABLE


def _import(family: str) -> None:
    importlib.import_module(f"treadle.ops.kernels.{family}")
    _imported.append(family)


def _begin_anew() -> None:
    """Replace the lock in a forked process, where another thread may have held it."""
    _locks[:] = [threading.RLock()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
